"""Walls around a session: Kaggle's own paths, no network where internet is off, its own processes.

Two programs can build them, bubblewrap and util-linux's `unshare`; `builder` names the first that
works here. Inside, the host's files are absent save the system's folders and the Python that the
session runs on, all of them read-only. Where neither program works (macOS, a container that allows
no namespaces), a session runs without walls and `NOT_HELD` says what that means.

Run as a program, this module is the second half of the walls by `unshare`: it stands alone, imports
only the standard library, and mounts before it starts the session's command. It also attends a
competition's gateway and the notebook that it asks, in the network that the two share.
"""

import contextlib
import fcntl
import functools
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PACKAGES = "packages"  # beside the image: what this machine lacks and Kaggle's image holds
# What programs need of a system. Home folders, /run, /srv, /mnt and the like are left out.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys")
RESOLVERS = ("/run/systemd/resolve", "/run/resolvconf")  # to which /etc/resolv.conf may link
SITE_FOLDERS = ("site-packages", "dist-packages")
GPUS = ("nvidia", "dri", "kfd")  # the beginnings of devices' names
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
HOME, WORKING = "/root", "/kaggle/working"  # a session's, as on Kaggle
NOT_HELD = (
    "rehearsal: this machine cannot isolate sessions (neither bubblewrap nor unshare works): paths "
    "below /kaggle are rewritten in the code, and the network and the host's files are accessible"
)
ENDED = "the notebook ended before the gateway had its answers: in a rerun, serve() has to block"
TRIAL_SECONDS = 20.0
POLL_SECONDS = 0.05
LAST_WORDS_SECONDS = 1.0  # in which a notebook's log gets the traceback that the gateway ended for


Spec = Mapping[str, Any]  # what `side_by_side` is to run, and where
Mounts = dict[str, tuple[str, Path]]
"""By the path inside: how it is mounted ("bind" or "ro-bind"), and the folder of the host."""


@functools.cache
def builder() -> str:
    """ "bubblewrap", "unshare", or "" where neither can build walls; tried once per process."""
    if sys.platform != "linux":
        return ""
    with tempfile.TemporaryDirectory(prefix="walls-") as folder:
        working = Path(folder, "working")
        working.mkdir()
        for name in ("bubblewrap", "unshare"):
            root = Path(folder, name)
            trial, mounts = ["/bin/sh", "-c", "echo > trial"], {WORKING: ("bind", working)}
            command = enclosed(trial, mounts, root, name, internet=False)
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(command, check=True, capture_output=True, timeout=TRIAL_SECONDS)
                return name
    return ""


def enclosed(
    command: Sequence[str], mounts: Mounts, root: Path, by: str, *, internet: bool
) -> list[str]:
    """The command line that runs `command` in /kaggle/working behind walls built `by` a program.

    `root` is a folder that is not there yet, on which the session's own root is mounted.
    """
    options = _options(mounts, RESOLVERS if internet else ())
    if by == "bubblewrap":
        line = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        line += [] if internet else ["--unshare-net"]
        for how, *words in options:
            line += [f"--{how}", *words]
        return [*line, "--chdir", WORKING, *command]
    spec = {"mounts": options, "command": list(command), "root": str(root), "internet": internet}
    network = [] if internet else ["--net"]
    kinds = ("--mount", "--ipc", "--pid", *network)
    return _unshared(*kinds, program=_this_program(spec, root.with_suffix(".json")))


def side_by_side(spec: Spec, by: str) -> list[str]:
    """The command line that runs a gateway and its notebook in one closed network.

    `spec` has what each is started with, behind walls of its own, and the paths of the gateway's
    `log` and `result`.
    """
    program = _this_program(spec, Path(spec["log"]).with_suffix(".json"))
    if by == "bubblewrap":
        return ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--unshare-net", *program]
    return _unshared("--net", program=program)


def _unshared(*kinds: str, program: Sequence[str]) -> list[str]:
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, *kinds, "--fork", "--kill-child", *program]


def _this_program(spec: Spec, file: Path) -> list[str]:
    """This module as a program; `file` has its spec, since Linux limits a word to 128 KiB."""
    file.write_text(json.dumps(spec))
    return [str(Path(sys.executable).resolve()), "-I", __file__, str(file)]


def site_folders() -> list[Path]:
    """Where this interpreter has its packages."""
    return [path for path in map(Path, sys.path) if path.name in SITE_FOLDERS]


def python_folders(image: Path) -> list[Path]:
    """The folders that the image's Python runs from, outside `SYSTEM`."""
    folders = [
        *(image, image.with_name(PACKAGES)),
        *(Path(sys.base_prefix), Path(sys.prefix, "share")),
        Path(sys.executable).resolve().parent.parent,
        *site_folders(),
    ]
    return [
        path
        for folder in folders
        for path in (folder, folder.resolve())
        if path.is_dir() and not any(path.is_relative_to(system) for system in SYSTEM)
    ]


def _options(mounts: Mounts, resolvers: Sequence[str]) -> list[tuple[str, ...]]:
    """What is mounted, in order, as options of bubblewrap: how, what of the host, where inside."""
    options: list[tuple[str, ...]] = []
    for folder in map(Path, (*SYSTEM, *resolvers)):
        if folder.is_symlink():
            options.append(("symlink", str(folder.readlink()), str(folder)))
        elif folder.exists():
            options.append(("ro-bind", str(folder), str(folder)))
    options += [("proc", "/proc"), ("dev", "/dev")]
    gpus = sorted(str(path) for path in Path("/dev").iterdir() if path.name.startswith(GPUS))
    options += [("dev-bind", gpu, gpu) for gpu in gpus]
    # A folder before those inside it.
    return options + [(how, str(folder), place) for place, (how, folder) in sorted(mounts.items())]


def _enter(spec: Spec) -> None:
    """Mount a root of its own and replace this process by the session's command."""
    root = Path(spec["root"])
    root.mkdir()
    _mount("--make-rprivate", "/")
    _mount("-t", "tmpfs", "tmpfs", str(root))
    for how, *origin, inside in spec["mounts"]:
        _bring(how, "".join(origin), root / inside.lstrip("/"))
    if not spec["internet"]:
        _raise_loopback()
    os.chroot(root)
    os.chdir(WORKING)
    os.execvp(spec["command"][0], spec["command"])  # noqa: S606


def _bring(how: str, origin: str, place: Path) -> None:
    """Do as bubblewrap's option `how` does."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if how == "symlink":
        place.symlink_to(origin)
        return
    if not origin or Path(origin).is_dir():
        place.mkdir(exist_ok=True)
    elif not place.exists():
        place.touch()
    if how == "proc":
        _mount("-t", "proc", "proc", str(place))
    elif how == "dev":
        _make_devices(place)
    else:
        _mount("--rbind", origin, str(place))
        if how == "ro-bind":
            _mount("-o", "remount,ro,bind", str(place))


def _make_devices(folder: Path) -> None:
    (folder / "shm").mkdir()
    _mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(folder / "shm"))
    for device in DEVICES:
        _bring("dev-bind", f"/dev/{device}", folder / device)
    for name, number in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        (folder / name).symlink_to(f"/proc/self/fd{number}")
    (folder / "pts").mkdir()
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", str(folder / "pts"))
    (folder / "ptmx").symlink_to("pts/ptmx")


def _raise_loopback() -> None:
    """Switch on `lo`, which a new network has switched off; Jupyter's kernels talk through it."""
    get_flags, set_flags, up = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, get_flags, request))[1]
        if not flags & up:  # bubblewrap has switched it on, and leaves no right to do it
            fcntl.ioctl(control, set_flags, struct.pack("16sh14x", b"lo", flags | up))


def _mount(*arguments: str) -> None:
    subprocess.run([shutil.which("mount") or "mount", *arguments], check=True)


def _attend(spec: Spec) -> int:
    """Run both until the first of them ends; the exit code is the notebook's if that was it.

    On Kaggle the gateway would ask a notebook that has ended for another quarter of an hour.
    """
    _raise_loopback()
    with Path(spec["log"]).open("wb") as log:
        gateway = subprocess.Popen(
            **spec["gateway"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        notebook = subprocess.Popen(**spec["notebook"])
        while gateway.poll() is None and notebook.poll() is None:
            time.sleep(POLL_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            notebook.wait(LAST_WORDS_SECONDS)
        first, other = (notebook, gateway) if gateway.poll() is None else (gateway, notebook)
        other.kill()
        other.wait()
    result = Path(spec["result"])
    if first is notebook and not result.exists():
        verdict = {"Succeeded": False, "ErrorName": "SERVER_NEVER_STARTED", "ErrorDetails": ENDED}
        result.write_text(json.dumps(verdict))
    return first.returncode if first is notebook else 0


if __name__ == "__main__":
    instructions = json.loads(Path(sys.argv[1]).read_text())
    if "gateway" in instructions:
        sys.exit(_attend(instructions))
    _enter(instructions)
