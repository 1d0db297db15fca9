"""Walls around a session: Kaggle's own paths, no network where internet is off, its own processes.

Two programs can build them, bubblewrap and util-linux's `unshare`; `builder` names the first that
works here. Inside, the host's files are absent save the system's programs, what programs read of
/etc, and the Python that the session runs on, all of them read-only. No capability is left, for
root neither (`entering`). Where neither program works (macOS, a container that allows no
namespaces, Ubuntu 24.04 as it comes), a session runs without walls and `NOT_HELD` says what that
means, or does not run at all: `REQUIRED`.
"""

import contextlib
import functools
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_kaggle.execution import entering

PACKAGES = "packages"  # beside the image: what this machine lacks and Kaggle's image holds
# What programs need of a system. Home folders, /run, /srv, /mnt, most of /opt and the like are left
# out, as is what /etc holds beside `CONFIGURATION`: keys, passwords, settings with tokens.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sys")
ACCELERATED = ("cuda", "nvidia", "rocm")  # the beginnings of folders' names in /opt
CONFIGURATION = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "os-release",
    "localtime",
    "timezone",
    "nsswitch.conf",
    "host.conf",
    "gai.conf",
    "hosts",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "ca-certificates",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "crypto-policies",
    "fonts",
    "mime.types",
    "magic",
    "terminfo",
    "inputrc",
    "locale.conf",
    "OpenCL",
    "vulkan",
    "glvnd",
)
RESOLVER = "resolv.conf"  # where there is internet
# Settings that programs outside of the distribution keep in /usr: npm's has a token.
USR_HIDDEN = ("/usr/etc", "/usr/local/etc")
# Of /proc what anybody can read and a session has no use for. What only root can read is hidden as
# well, and what can be written is read-only.
PROC_HIDDEN = ("keys", "key-users", "latency_stats", "sched_debug", "timer_list")
PROC_OWN = ("self", "thread-self", "net", "mounts")  # links to what a session sees of itself
# Of /sys what root can read, capabilities or not: traces, crashes, serial numbers, the firmware's
# variables, the energy that other programs take.
SYS_HIDDEN = (
    "class/zram-control",  # who reads it makes a device
    "devices/virtual/dmi",
    "devices/virtual/powercap",
    "firmware",
    "fs/bpf",
    "fs/pstore",
    "kernel/config",
    "kernel/debug",
    "kernel/mm/damon",
    "kernel/security",
    "kernel/slab",
    "kernel/tracing",
)
NETWORK = "/proc/sys/net/"
CGROUPS = "/sys/fs/cgroup"  # thousands of files, which all may read
# Of a Python's own folder what it runs from; beside it pip and conda keep settings with passwords.
PYTHON = ("bin", "include", "lib", "lib32", "lib64", "libexec", "share", "ssl", "etc/fonts")
READABLE = stat.S_IRUSR | stat.S_IRGRP
WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
SITE_FOLDERS = ("site-packages", "dist-packages")
GPUS = ("nvidia", "dri", "kfd")  # the beginnings of devices' names
HOME, WORKING = "/root", "/kaggle/working"  # a session's, as on Kaggle
INSIDE = "/run/local_kaggle"  # where bubblewrap's sessions have the program that enters them
USERS = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
GROUPS = "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n"
NOT_HELD = (
    "rehearsal: this machine cannot isolate sessions (neither bubblewrap nor unshare works): paths "
    "below /kaggle are rewritten in the code, and the network and the host's files are accessible"
)
REQUIRED = "LOCAL_KAGGLE_WALLS"  # "required": without walls nothing is run
NOT_ISOLATED = (
    "this machine cannot isolate sessions: on Linux, install bubblewrap, and allow user namespaces "
    "or run as root; a container has to be allowed to make namespaces"
)
REFUSED = f"rehearsal: {REQUIRED}=required, and {NOT_ISOLATED}"
TRIAL_SECONDS = 20.0

Mounts = dict[str, tuple[str, Path]]
"""By the path inside: how it is mounted ("bind" or "ro-bind"), and the file or folder outside."""
Spec = Mapping[str, Any]
Option = tuple[str, ...]
"""What is mounted, as bubblewrap's options say it: how, what of the host, where inside."""


@functools.cache
def builder() -> str:
    """ "bubblewrap", "unshare", or "" where neither can build walls; tried once per process."""
    if sys.platform != "linux":
        return ""
    with tempfile.TemporaryDirectory(prefix="walls-") as folder:
        working = Path(folder, "working")
        working.mkdir()
        for name in ("bubblewrap", "unshare"):
            root = Path(folder, name, "root")
            root.parent.mkdir()
            trial = ["/bin/sh", "-c", "echo > trial"]
            mounts = {WORKING: ("bind", working)}
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                command = enclosed(trial, mounts, root, name, internet=False)
                subprocess.run(command, check=True, capture_output=True, timeout=TRIAL_SECONDS)
                return name
    return ""


def why_not_isolated() -> str:
    """Why this machine cannot isolate sessions, and what to do; empty if it can."""
    return "" if builder() else NOT_ISOLATED


def are_required() -> bool:
    """Whether the environment asks that nothing runs without walls."""
    return os.environ.get(REQUIRED, "") == "required"


def enclosed(
    command: Sequence[str],
    mounts: Mounts,
    root: Path,
    by: str,
    *,
    internet: bool,
    side_by_side: bool = False,
) -> list[str]:
    """The command line that runs `command` in /kaggle/working behind walls built `by` a program.

    `root` is a path that is not there yet, on which the session's own root is mounted; what else
    the walls need is written beside it. `side_by_side`: whether the network that it shares is the
    closed one of `side_by_side`. Raises OSError where the program is not there.
    """
    spec: dict[str, Any] = {
        "command": list(command),
        "working": WORKING,
        "shares_network": internet,
    }
    of_host = internet and not side_by_side
    options = _system(root.parent, internet=internet, of_host=of_host)
    if by == "bubblewrap":  # whose program to enter with runs inside
        interpreter: Mounts = {str(path): ("ro-bind", path) for path in _interpreter_folders()}
        mounts = interpreter | mounts
    # A folder before those inside it.
    options += [(how, str(origin), place) for place, (how, origin) in sorted(mounts.items())]
    spec_file = root.with_suffix(".json")
    if by == "bubblewrap":
        devices = [f"/dev/{device}" for device in entering.DEVICES]
        devices += [place for how, *_, place in options if how == "dev-bind"]
        spec["devices"] = devices if os.geteuid() == 0 else []
        spec_file.write_text(json.dumps(spec))
        return _bubblewrapped(options, spec_file, internet=internet)
    spec |= {"mounts": options, "root": str(root)}
    kinds = ["--mount", "--ipc", "--pid", "--uts"]
    if not internet:
        kinds.append("--net")
    return _unshared(*kinds, program=_program("entering", spec, spec_file))


def side_by_side(spec: Spec, by: str) -> list[str]:
    """The command line that runs a gateway and its notebook in one closed network.

    `spec` has what each is started with, behind walls of its own (`attending.Spec`).
    """
    program = _program("attending", spec, Path(spec["log"]).with_suffix(".json"))
    if by == "bubblewrap":
        everything = ("--die-with-parent", "--dev-bind", "/", "/", "--unshare-net")
        return [_found("bwrap"), *everything, *program]
    return _unshared("--net", program=program)


def _bubblewrapped(options: Sequence[Option], spec_file: Path, *, internet: bool) -> list[str]:
    line = [_found("bwrap"), "--die-with-parent", "--cap-drop", "ALL"]
    line += ["--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts"]
    if not internet:
        line.append("--unshare-net")
    if os.geteuid() == 0:
        # To give up what bubblewrap leaves root to regain, and to make devices read-only, whose
        # owner root is.
        line += ["--cap-add", "CAP_SETPCAP", "--cap-add", "CAP_SYS_ADMIN"]
    else:
        line += ["--unshare-user", "--uid", "0", "--gid", "0"]
    program = str(Path(__file__).with_name("entering.py"))
    own: list[Option] = [
        ("ro-bind", program, f"{INSIDE}/entering.py"),
        ("ro-bind", str(spec_file), f"{INSIDE}/session.json"),
    ]
    for how, *words in [*own, *options]:
        line += [f"--{how}", *words]
    return [*line, *_python(f"{INSIDE}/entering.py", f"{INSIDE}/session.json")]


def _unshared(*kinds: str, program: Sequence[str]) -> list[str]:
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return [_found("unshare"), *user, *kinds, "--fork", "--kill-child", *program]


def _program(name: str, spec: Spec, file: Path) -> list[str]:
    """A program beside this module; `file` has its spec, since Linux limits a word to 128 KiB."""
    file.write_text(json.dumps(spec))
    return _python(str(Path(__file__).with_name(f"{name}.py")), str(file))


def _python(*words: str) -> list[str]:
    return [str(Path(sys.executable).resolve()), "-I", "-S", *words]


@functools.cache
def _found(program: str) -> str:
    """The whole path of a program: a session has a PATH of its own, where it may not be."""
    path = shutil.which(program)
    if path is None:
        raise FileNotFoundError(f"there is no {program}")
    return str(Path(path).absolute())


def site_folders() -> list[Path]:
    """Where this interpreter has its packages."""
    return [path for path in map(Path, sys.path) if path.name in SITE_FOLDERS]


def python_folders(image: Path) -> list[Path]:
    """The folders that the image's Python runs from, outside `SYSTEM`."""
    own = (image, image.with_name(PACKAGES), Path(sys.prefix, "share"), *site_folders())
    folders = [path for folder in own for path in (folder, folder.resolve())]
    return [*_outside_of_system(folders), *_interpreter_folders()]


def _interpreter_folders() -> list[Path]:
    base = Path(sys.base_prefix)
    executable = Path(sys.executable).resolve().parent.parent
    prefixes = (base, base.resolve(), executable)
    return _outside_of_system([prefix / part for prefix in prefixes for part in PYTHON])


def _outside_of_system(folders: Sequence[Path]) -> list[Path]:
    return [
        folder
        for folder in dict.fromkeys(folders)
        if folder.is_dir() and not any(folder.is_relative_to(system) for system in SYSTEM)
    ]


def _system(own: Path, *, internet: bool, of_host: bool) -> list[Option]:
    """The system as a session sees it; its users are written into the folder `own`.

    `of_host`: whether the network that it sees is the host's.
    """
    options: list[Option] = []
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            options.append(("symlink", str(folder.readlink()), str(folder)))
        elif folder.exists():
            options.append(("ro-bind", str(folder), str(folder)))
    if Path("/opt").is_dir():
        options += [
            ("ro-bind", str(folder), str(folder))
            for folder in sorted(Path("/opt").iterdir())
            if folder.name.startswith(ACCELERATED) and folder.is_dir()
        ]
    names = [*CONFIGURATION, RESOLVER] if internet else CONFIGURATION
    for name in names:
        path = Path("/etc", name)
        if path.exists():
            options.append(("ro-bind", str(path.resolve()), str(path)))
    for name, text in (("passwd", USERS), ("group", GROUPS)):
        file = own / name
        file.write_text(text)
        options.append(("ro-bind", str(file), f"/etc/{name}"))
    options += [("proc", "/proc"), *_proc(), ("dev", "/dev")]
    for folder in map(Path, [*USR_HIDDEN, *(f"/sys/{name}" for name in SYS_HIDDEN)]):
        if folder.is_dir() and folder.resolve() == folder:
            options.append(("tmpfs", str(folder)))
    if os.geteuid() == 0:
        for option in _roots_own():
            if of_host or not option[-1].startswith(NETWORK):  # which are another network's
                options.append(option)
    gpus = sorted(str(path) for path in Path("/dev").iterdir() if path.name.startswith(GPUS))
    return options + [("dev-bind", gpu, gpu) for gpu in gpus]


def _proc() -> list[Option]:
    """What lies over a session's /proc, whose files beside those of processes are the host's."""
    options: list[Option] = []
    with os.scandir("/proc") as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in filter(_is_of_the_host, entries):
        mode = entry.stat().st_mode
        if entry.is_dir():
            options.append(("ro-bind", entry.path, entry.path))
        elif entry.name in PROC_HIDDEN or not mode & stat.S_IROTH:
            options.append(("ro-bind", os.devnull, entry.path))
        elif mode & WRITABLE:
            options.append(("ro-bind", entry.path, entry.path))
    return options


def _is_of_the_host(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of /proc says something of the host, and not of a process."""
    own = entry.name.isdecimal() or entry.name in PROC_OWN
    return not own and not entry.is_symlink()


def _roots_own() -> list[Option]:
    """What covers the files of the host's /sys and /proc that only root may read.

    A session of root's would read them without any capability, and some change something when they
    are read. They come and go with drivers, so they are looked for each time. A folder that holds
    nothing else is covered whole.
    """
    options: list[Option] = []
    hidden = {CGROUPS, *(f"/sys/{name}" for name in SYS_HIDDEN)}
    with os.scandir("/proc") as found:
        folders = [entry.path for entry in found if _is_of_the_host(entry) and entry.is_dir()]
    folders.append("/sys")
    while folders:
        folder = folders.pop()
        own = []
        others = 0
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                others += 1
                if entry.path not in hidden:
                    folders.append(entry.path)
            elif _is_roots(entry):
                own.append(entry.path)
            else:
                others += 1
        if own and not others:
            options.append(("tmpfs", folder))
        else:
            options += [("ro-bind", os.devnull, path) for path in sorted(own)]
    return options


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing of one that is gone."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return []


def _is_roots(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file that its owner or group may read, and nobody else."""
    with contextlib.suppress(OSError):
        mode = entry.stat(follow_symlinks=False).st_mode
        return stat.S_ISREG(mode) and not mode & stat.S_IROTH and bool(mode & READABLE)
    return False
