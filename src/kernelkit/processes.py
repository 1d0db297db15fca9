"""End a process together with its descendants, and measure their memory.

`python -m kernelkit.processes PARENT COMMAND…` runs a command that ends with the process PARENT.
"""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress

import psutil  # type: ignore[import-untyped]

POLL_SECONDS = 0.5  # between checks whether the parent is still alive


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its descendants, and wait until it has ended; does nothing if it already
    has."""
    if process.poll() is None:
        kill_family(process.pid)
        process.wait()


def kill_family(pid: int) -> None:
    """Kill the descendants of a process, then the process itself; does nothing if there is none.

    A notebook's kernel has a process group of its own, so killing the group is not enough.
    """
    members = _family(pid)
    for member in members:
        with suppress(psutil.Error):
            member.kill()
    psutil.wait_procs([member for member in members if member.pid != pid], timeout=5)


def die_with(parent: int) -> None:
    """End this process and its descendants soon after its parent is gone, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        kill_family(os.getpid())

    threading.Thread(target=watch, daemon=True).start()


def usage(pid: int) -> tuple[int, float]:
    """Memory in bytes and CPU seconds of a process and its descendants; 0 without a process."""
    memory = 0
    seconds = 0.0
    for member in _family(pid):
        with suppress(psutil.Error):
            memory += member.memory_info().rss
            seconds += sum(member.cpu_times()[:2])  # of the user and of the system
    return memory, seconds


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [*parent.children(recursive=True), parent]
    except (psutil.Error, ValueError):  # -1 stands for a process that never started
        return []


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    try:
        code = subprocess.call(sys.argv[2:])
    except OSError as error:
        sys.exit(f"could not be started: {error}")
    if code < 0:  # of a signal, by which this process ends, too
        os.kill(os.getpid(), -code)
    sys.exit(code)
