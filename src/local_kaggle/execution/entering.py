"""The last steps into a session's walls: its own root, and the loss of every privilege.

This file is a program that stands alone, and imports only the standard library. `unshare` starts it
in new namespaces, where it lays out the session's root and makes it the only one by `pivot_root`.
bubblewrap starts it inside walls that stand. In both cases it stays as the first process, which
buries orphans, and gives up all capabilities, for root as well, before the session's command
begins; it ends with an error rather than go on with any.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import socket
import struct
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Spec = Mapping[str, Any]
"""`command`, `working` and `shares_network`; for `unshare` also `mounts` and `root`, for bubblewrap
the `devices` that are still to be made read-only."""

MOST_DISPENSABLE = "1000"  # of -1000 to 1000
PROCESSES = 4096  # of a session, threads included: where the user is not root
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# Of <linux/mount.h>. The flags of a mounted file system have the same values in statvfs, save one.
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
REMOUNT = 32
BIND = 4096
RECURSIVE = 16384
PRIVATE = 1 << 18
NO_ATIME = 1024
NO_DIR_ATIME = 2048
RELATIVE_ATIME = 1 << 21
STATVFS_RELATIVE_ATIME = 4096
KEPT = READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC | NO_ATIME | NO_DIR_ATIME
DETACH = 2

# Of <linux/prctl.h>, <linux/capability.h>, <linux/keyctl.h> and <linux/landlock.h>.
READ_BOUND, DROP_BOUND, SET_SECCOMP, NO_NEW_PRIVILEGES, AMBIENT = 23, 24, 22, 38, 47
SET_DUMPABLE = 4
CLEAR_ALL_AMBIENT, FILTER_MODE = 4, 2
CAPABILITIES_VERSION_3 = 0x20080522
HIGHEST_CAPABILITY = 63
NEW_SESSION_KEYRING = 1
CREATE_RULESET, RESTRICT_SELF = 444, 446
SCOPE_ABSTRACT_SOCKETS = 1

NEW_USER_NAMESPACE = 0x10000000
SINCE_LINUX_5 = {
    "io_uring_setup": 425,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "open_tree_attr": 467,
}
"""Numbers of system calls that all processors share."""
CLONE3 = 435
ARCHITECTURES = {
    "x86_64": (
        0xC000003E,
        {
            "syslog": 103,
            "pivot_root": 155,
            "mount": 165,
            "umount2": 166,
            "init_module": 175,
            "delete_module": 176,
            "kexec_load": 246,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "perf_event_open": 298,
            "fanotify_init": 300,
            "open_by_handle_at": 304,
            "setns": 308,
            "finit_module": 313,
            "kexec_file_load": 320,
            "bpf": 321,
            "userfaultfd": 323,
        },
        {"clone": 56, "unshare": 272},
        {"socket": 41, "socketpair": 53},
        72,
        {"setrlimit": 160, "prlimit64": 302},
    ),
    "aarch64": (
        0xC00000B7,
        {
            "umount2": 39,
            "mount": 40,
            "pivot_root": 41,
            "kexec_load": 104,
            "init_module": 105,
            "delete_module": 106,
            "syslog": 116,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "fanotify_init": 262,
            "open_by_handle_at": 265,
            "setns": 268,
            "finit_module": 273,
            "bpf": 280,
            "userfaultfd": 282,
            "kexec_file_load": 294,
        },
        {"clone": 220, "unshare": 97},
        {"socket": 198, "socketpair": 199},
        25,
        {"setrlimit": 164, "prlimit64": 261},
    ),
}
"""By processor: its number, the system calls that a session has no use for and which have let
programs out of containers, those that make a user namespace, those that make a socket, `fcntl`,
those that set a limit."""
SET_LEASE = 1024  # of fcntl: who opens the file then waits up to 45 seconds, whoever it is
# Unspecified, Unix, IPv4, IPv6, netlink. Others (VSOCK, Bluetooth …) reach out of a network
# namespace, or are a way into the kernel.
SOCKET_FAMILIES = (0, 1, 2, 10, 16)

libc = ctypes.CDLL(None, use_errno=True)


def enter(spec: Spec) -> None:
    """Go behind the walls of `spec` and become the session's command."""
    if "root" in spec:
        _lay_out(spec)
        if not spec["shares_network"]:
            raise_loopback()
        _pivot(Path(spec["root"]))
    for device in spec.get("devices", ()):
        _mount("", device, flags=BIND | REMOUNT | READ_ONLY | _flags_of(device))
    _leave_open_files()
    _end_first_without_memory()
    _stay_as_first_process()
    os.chdir(spec["working"])
    _give_up_privileges(shares_network=spec["shares_network"])
    os.execvp(spec["command"][0], spec["command"])  # noqa: S606


def raise_loopback() -> None:
    """Switch on `lo`, which a new network has switched off; Jupyter's kernels talk through it."""
    get_flags, set_flags, up = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, get_flags, request))[1]
        if not flags & up:  # bubblewrap has switched it on, and leaves no right to do it
            fcntl.ioctl(control, set_flags, struct.pack("16sh14x", b"lo", flags | up))


def _lay_out(spec: Spec) -> None:
    root = Path(spec["root"])
    root.mkdir(exist_ok=True)
    _mount("", "/", flags=RECURSIVE | PRIVATE)  # what is mounted here stays here
    _mount("tmpfs", str(root), "tmpfs", NO_SUID | NO_DEVICES, "mode=755")
    for how, *origin, inside in spec["mounts"]:
        _bring(how, "".join(origin), root / inside.lstrip("/"))


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
        _mount("proc", str(place), "proc", NO_SUID | NO_DEVICES | NO_EXEC)
    elif how == "tmpfs":
        _mount("tmpfs", str(place), "tmpfs", NO_SUID | NO_DEVICES, "mode=755")
    elif how == "dev":
        _make_devices(place)
    else:
        _mount(origin, str(place), flags=BIND | RECURSIVE)
        added = NO_SUID
        if how != "dev-bind":
            added |= NO_DEVICES
        if how != "bind":  # a device can be written to all the same, but not its owner and mode
            added |= READ_ONLY
        for mounted in _mounted_at_and_below(place):
            _mount("", mounted, flags=BIND | REMOUNT | _flags_of(mounted) | added)


def _mounted_at_and_below(place: Path) -> list[str]:
    """The mounts of a place: what is mounted on folders below it came along with it."""
    mounted = [str(place)]
    if place.is_dir():
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").split("\n"):
            words = line.split(" ")
            if len(words) > 4 and _unescaped(words[4]).startswith(f"{place}/"):
                mounted.append(_unescaped(words[4]))
    return mounted


def _unescaped(path: str) -> str:
    for code in ("\\040", "\\011", "\\012", "\\134"):
        path = path.replace(code, chr(int(code[1:], 8)))
    return path


def _flags_of(mounted: str) -> int:
    """The flags that a mount has: a remount must name those that it is to keep."""
    present = os.statvfs(mounted).f_flag
    flags = present & KEPT
    if present & STATVFS_RELATIVE_ATIME:
        flags |= RELATIVE_ATIME
    return flags


def _make_devices(folder: Path) -> None:
    _mount("tmpfs", str(folder), "tmpfs", NO_SUID, "mode=755")
    (folder / "shm").mkdir()
    _mount("tmpfs", str(folder / "shm"), "tmpfs", NO_SUID | NO_DEVICES, "mode=1777")
    for device in DEVICES:
        _bring("dev-bind", f"/dev/{device}", folder / device)
    for name, number in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        (folder / name).symlink_to(f"/proc/self/fd{number}")
    (folder / "pts").mkdir()
    options = "newinstance,ptmxmode=0666,mode=620"
    _mount("devpts", str(folder / "pts"), "devpts", NO_SUID | NO_EXEC, options)
    (folder / "ptmx").symlink_to("pts/ptmx")


def _pivot(root: Path) -> None:
    """Make `root` the root, and leave no way to the one before: `chroot` alone can be undone."""
    os.chdir(root)
    # The old root comes to lie on the new one, at the same place, from where it is taken off.
    _check(libc.pivot_root(b".", b"."), "pivot_root")
    _check(libc.umount2(b".", DETACH), "umount of the old root")
    os.chdir("/")


def _leave_open_files() -> None:
    """Keep the two streams that the log is made of; what else is open may belong to the host.

    A file that is open leads to the host's own mount of it, which is not read-only.
    """
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for path in list(Path("/proc/self/fd").iterdir()):
        number = int(path.name)
        if number > 2:
            with contextlib.suppress(OSError):  # that of the list itself
                os.close(number)


def _end_first_without_memory() -> None:
    """Where the machine runs out of memory, let Linux end the session before the desk's programs.

    Files that it keeps in memory would otherwise speak against whichever program is largest.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(MOST_DISPENSABLE)


def _stay_as_first_process() -> None:
    """Return in a child; this process buries orphans, and ends as the child does.

    The session cannot look into it: it may run from the host's own mount of Python, which
    /proc/1/exe would lead to.
    """
    _check(libc.prctl(SET_DUMPABLE, 0, 0, 0, 0), "the first process")
    child = os.fork()
    if child == 0:
        return
    os.chdir("/")
    _give_up_privileges(shares_network=False)
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _give_up_privileges(*, shares_network: bool) -> None:
    _leave_keyrings()
    for capability in range(HIGHEST_CAPABILITY + 1):
        if libc.prctl(READ_BOUND, capability, 0, 0, 0) == 1:
            _check(libc.prctl(DROP_BOUND, capability, 0, 0, 0), "capabilities")
    libc.prctl(AMBIENT, CLEAR_ALL_AMBIENT, 0, 0, 0)
    header = struct.pack("=Ii", CAPABILITIES_VERSION_3, 0)
    _check(libc.capset(header, bytes(24)), "capset")
    _check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    if shares_network:
        _refuse_abstract_sockets()
    # Of one byte: with 0 a crash is still handed to a program of the host, which runs as root. So
    # the session cannot change this limit, not even to less.
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    _refuse_system_calls()
    _, most = resource.getrlimit(resource.RLIMIT_NPROC)
    processes = PROCESSES if most == resource.RLIM_INFINITY else min(PROCESSES, most)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    status = Path("/proc/self/status").read_text()
    for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
        if line not in status:
            raise OSError(errno.EPERM, f"the session would keep a privilege: {line} is not so")


def _leave_keyrings() -> None:
    """Take a new session keyring: the one of the desk's login may hold keys."""
    numbers = ARCHITECTURES.get(platform.machine())
    if numbers:
        libc.syscall(numbers[1]["keyctl"], NEW_SESSION_KEYRING, None)


def _refuse_abstract_sockets() -> None:
    """Close the sockets that belong to a network and not to a folder, such as X11's (Linux 6.12).

    Earlier kernels refuse to make the ruleset, and a session with internet can reach them.
    """
    wanted = struct.pack("=QQQ", 0, 0, SCOPE_ABSTRACT_SOCKETS)
    ruleset = libc.syscall(CREATE_RULESET, wanted, ctypes.c_size_t(len(wanted)), 0)
    if ruleset >= 0:
        _check(libc.syscall(RESTRICT_SELF, ruleset, 0), "landlock")
        os.close(ruleset)


def _refuse_system_calls() -> None:
    """Refuse what a session has no use for; on an unknown processor nothing is refused."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        return
    number, refused, namespaces, sockets, fcntl_call, limits = ARCHITECTURES[machine]
    steps = _refused_wholly([*refused.values(), *SINCE_LINUX_5.values()])
    steps += _refused_with_bits(namespaces.values(), NEW_USER_NAMESPACE)
    steps += _allowed_families(sockets.values())
    steps += _refused_with_command(fcntl_call, SET_LEASE)
    steps += _kept_limit(limits, resource.RLIMIT_CORE)
    program = _filter(number, steps)
    code = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _check(libc.prctl(SET_SECCOMP, FILTER_MODE, described, 0, 0), "the filter of system calls")


# Steps of a program of the kernel's packet filter over `struct seccomp_data`: what to do, how many
# steps to skip if it holds and if not, and with which number.
Step = tuple[int, int, int, int]
LOAD, EQUAL, AT_LEAST, HAS_BITS, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
AT_NUMBER = 0
AT_ARCHITECTURE = 4
AT_FIRST_ARGUMENT = 16
AT_SECOND_ARGUMENT = 24
AT_THIRD_ARGUMENT = 32
UPPER_HALF = 4  # of an argument of 64 bits, on processors that begin with the lower one
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NOT_PERMITTED, UNKNOWN = REFUSE | errno.EPERM, REFUSE | errno.ENOSYS
PRETENDED = REFUSE  # with no error: nothing is done, and the answer is 0
X32 = 0x40000000  # another table of numbers, on x86-64


def _filter(architecture: int, steps: Iterable[Step]) -> bytes:
    """The program that begins with the number of a system call in its register, and then does
    `steps`; a call that these do not answer is allowed."""
    program = [
        (LOAD, 0, 0, AT_ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (ANSWER, 0, 0, UNKNOWN),
        (LOAD, 0, 0, AT_NUMBER),
        (AT_LEAST, 0, 1, X32),
        (ANSWER, 0, 0, UNKNOWN),
        # Its flags lie in memory, where a filter cannot look; the C library then takes `clone`.
        (EQUAL, 0, 1, CLONE3),
        (ANSWER, 0, 0, UNKNOWN),
        *steps,
        (ANSWER, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in program)


def _refused_wholly(calls: Iterable[int]) -> list[Step]:
    steps: list[Step] = []
    for call in calls:
        steps += [(EQUAL, 0, 1, call), (ANSWER, 0, 0, NOT_PERMITTED)]
    return steps


def _refused_with_bits(calls: Iterable[int], bits: int) -> list[Step]:
    """Refuse calls whose first argument has any of these bits."""
    steps: list[Step] = []
    for call in calls:
        steps += [
            (EQUAL, 0, 4, call),
            (LOAD, 0, 0, AT_FIRST_ARGUMENT),
            (HAS_BITS, 0, 1, bits),
            (ANSWER, 0, 0, NOT_PERMITTED),
            (ANSWER, 0, 0, ALLOW),
        ]
    return steps


def _allowed_families(calls: Iterable[int]) -> list[Step]:
    """Refuse sockets of all but `SOCKET_FAMILIES`."""
    count = len(SOCKET_FAMILIES)
    families = [(EQUAL, count - n, 0, family) for n, family in enumerate(SOCKET_FAMILIES)]
    steps: list[Step] = []
    for call in calls:
        steps += [
            (EQUAL, 0, count + 3, call),
            (LOAD, 0, 0, AT_FIRST_ARGUMENT),
            *families,
            (ANSWER, 0, 0, REFUSE | errno.EAFNOSUPPORT),
            (ANSWER, 0, 0, ALLOW),
        ]
    return steps


def _refused_with_command(call: int, command: int) -> list[Step]:
    """Refuse a call whose second argument is this command."""
    return [
        (EQUAL, 0, 4, call),
        (LOAD, 0, 0, AT_SECOND_ARGUMENT),
        (EQUAL, 0, 1, command),
        (ANSWER, 0, 0, NOT_PERMITTED),
        (ANSWER, 0, 0, ALLOW),
    ]


def _kept_limit(calls: Mapping[str, int], limit: int) -> list[Step]:
    """Leave a limit as it is and answer that it was set, as many programs do and few look at.

    It can still be read, which `prlimit64` does without a new one.
    """
    return [
        (EQUAL, 0, 4, calls["setrlimit"]),
        (LOAD, 0, 0, AT_FIRST_ARGUMENT),
        (EQUAL, 0, 1, limit),
        (ANSWER, 0, 0, PRETENDED),
        (ANSWER, 0, 0, ALLOW),
        (EQUAL, 0, 8, calls["prlimit64"]),
        (LOAD, 0, 0, AT_SECOND_ARGUMENT),
        (EQUAL, 0, 5, limit),
        (LOAD, 0, 0, AT_THIRD_ARGUMENT),
        (EQUAL, 0, 2, 0),
        (LOAD, 0, 0, AT_THIRD_ARGUMENT + UPPER_HALF),
        (EQUAL, 1, 0, 0),
        (ANSWER, 0, 0, PRETENDED),
        (ANSWER, 0, 0, ALLOW),
    ]


def _mount(origin: str, place: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = [os.fsencode(word) or None for word in (origin, place, kind, options)]
    failed = libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _check(failed, f"mount on {place}")


def _check(failed: int, what: str) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        enter(json.loads(Path(sys.argv[1]).read_text()))
