"""Ending the processes of a session, also when the command that started it is killed.

`kill -9` gives the command no moment to end its sessions, which have process groups of their own:
they would go on training, and write into folders of a later session. A second process, which runs
this file alone, waits for the end of a pipe that the command holds open, and that the system
closes however the command ends.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

CGROUPS = Path("/sys/fs/cgroup")
REMOVAL_SECONDS, END_SECONDS = 2.0, 5.0
BLOCK = 512  # bytes, whatever the file system
AGAIN_SECONDS = 0.1  # between looks for processes to kill
VARIABLE = "LOCAL_KAGGLE_SESSION"  # every session has its own, and its processes inherit it


def memory(pid: int) -> float:
    """Bytes of memory that a process and all below it hold, or that one of them held before.

    On Linux a shared page counts once, and the files that a session keeps in memory, such as those
    in its /dev/shm and those of `memfd_create`, count whether or not a process has mapped them. The
    most that any one process ever held counts too, so that what is allocated and freed between two
    looks is not missed.
    """
    total = mapped = highest = 0.0
    disks: dict[str, int] = {}
    seen = {_mount_namespace(os.getpid())}
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for member in (root, *root.children(recursive=True)):
            with suppress(psutil.Error, OSError):
                if not psutil.LINUX:
                    total += member.memory_info().rss
                    continue
                shares = _proportional_shares(member.pid)
                total += shares["Pss"]
                mapped += shares.get("Pss_Shmem", 0)
                highest = max(highest, _highest(member.pid))
                namespace = _mount_namespace(member.pid)
                if namespace not in seen:
                    disks |= _disks_in_memory(member.pid)
                    seen.add(namespace)
                disks |= _files_without_a_disk(member.pid)
    return max(highest, total + max(0, sum(disks.values()) - mapped))


def _highest(pid: int) -> float:
    """The most bytes that a process ever held, as Linux counts them; 0 if it does not say."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
        if line.startswith("VmHWM:"):
            return 1024.0 * int(line.split()[1])
    return 0.0


def _proportional_shares(pid: int) -> dict[str, int]:
    """Bytes of a process's memory by kind; a page that n processes have counts 1/n in each."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    words = [line.split() for line in lines]
    return {name.rstrip(":"): 1024 * int(kilobytes) for name, kilobytes, _ in words}


def _mount_namespace(pid: int) -> str:
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/ns/mnt").readlink())
    return ""  # not Linux, or the first process of a session, which nobody may look into


def _disks_in_memory(pid: int) -> dict[str, int]:
    """The bytes on each disk in memory that a process sees and this one does not, by its number."""
    own = {number for number, _ in _tmpfs(os.getpid())}
    disks = {}
    for number, place in _tmpfs(pid):
        if number in own:
            continue
        found = os.open(f"/proc/{pid}/root{place}", os.O_PATH)
        try:
            # A process that is only entering its walls may have another root by now, below which
            # the same path is on another disk.
            if _number_of(found) == number:
                disk = os.fstatvfs(found)
                disks[number] = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        finally:
            os.close(found)
    return disks


def _files_without_a_disk(pid: int) -> dict[str, int]:
    """The bytes of each file that a process made by `memfd_create` and has open, by its number."""
    files = {}
    with os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with suppress(OSError):  # it was closed meanwhile
                if str(Path(entry.path).readlink()).startswith("/memfd:"):
                    found = entry.stat()
                    files[f"memfd:{found.st_ino}"] = BLOCK * found.st_blocks
    return files


def _number_of(descriptor: int) -> str:
    """The number of the disk that a file is on, as /proc writes it."""
    device = os.fstat(descriptor).st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def _tmpfs(pid: int) -> Iterator[tuple[str, str]]:
    """The number and the place of each disk in memory that a process sees."""
    for line in Path(f"/proc/{pid}/mountinfo").read_text("utf-8", "replace").splitlines():
        mount, _, kind = line.partition(" - ")
        if kind.startswith("tmpfs "):
            words = mount.split()
            yield words[2], words[4]


def end(session: str) -> None:
    """Kill every process of a session and all below it, save this one, and wait for their end.

    A daemon has no parent to be found by, but the environment that it was started in.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == session:
                family = [process, *process.children(recursive=True)]
                for member in family:
                    with suppress(psutil.NoSuchProcess):
                        member.kill()
                psutil.wait_procs(family, timeout=5)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a session's command, the processes inside first, and wait until all are gone.

    A builder of walls ends by itself once the last process behind them has ended. Killed first, it
    would leave processes that still write for a moment. One that is only beginning has no process
    behind its walls yet, so those inside are looked for again until it has ended.
    """
    end = time.monotonic() + END_SECONDS
    while time.monotonic() < end:
        _kill_below(process.pid)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AGAIN_SECONDS)
            return
    process.kill()
    process.wait()


def _kill_below(pid: int) -> None:
    """Kill all processes below this one."""
    with suppress(psutil.NoSuchProcess):
        for member in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                member.kill()


@contextmanager
def ended_with_this_process(session: Path) -> Iterator[None]:
    """End every process of a session at the end of the block or of this process.

    `session` is the value of `VARIABLE` in the environment of all of them.
    """
    guard = subprocess.Popen(
        [sys.executable, "-P", __file__, str(session)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in the terminal is the command's, not the guard's
    )
    try:
        yield
    finally:
        guard.kill()
        guard.communicate()
        end(str(session))


@contextmanager
def counted(name: str, most: int) -> Iterator[list[str]]:
    """The beginning of a command line that runs at most so many processes, by a cgroup `name`.

    It is empty where no cgroup can be made. The system bounds the processes of any other user than
    root itself (`entering`), and root's nowhere, so that root needs a cgroup. It is removed at the
    end of the block, with all processes that are left in it.
    """
    cgroup = _cgroup(name, most)
    if cgroup is None:
        yield []
        return
    list_of_processes = cgroup / "cgroup.procs"
    try:
        enter = 'echo $$ > "$0" && exec "$@"'
        yield ["/bin/sh", "-c", enter, str(list_of_processes)]
    finally:
        deadline = time.monotonic() + REMOVAL_SECONDS
        while cgroup.exists() and time.monotonic() < deadline:
            with suppress(OSError):
                for pid in list_of_processes.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):  # a process is still ending
                cgroup.rmdir()
            time.sleep(0.01)


def _cgroup(name: str, most: int) -> Path | None:
    """A new cgroup with a limit on its processes, of either version; None where that fails."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return None
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            own = CGROUPS / controllers / path.lstrip("/")
            if controllers == "pids":
                return _limited(own / f"local_{name}", most)
            if not controllers:
                # In version 2 only the first cgroup may hold processes and cgroups: go beside.
                parent = own if path == "/" else own.parent
                return _limited(parent / f"local_{name}", most)
    return None


def _limited(cgroup: Path, most: int) -> Path | None:
    cgroup.mkdir()
    try:
        (cgroup / "pids.max").write_text(str(most))
    except OSError:
        cgroup.rmdir()
        return None
    return cgroup


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end(sys.argv[1])
