"""What a notebook that means harm tries against its walls, by each program that builds them."""

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from local_kaggle import LocalKaggle
from local_kaggle.catalogue import files_below
from local_kaggle.execution import entering, leftovers, processes, walls
from local_kaggle.execution.running import SessionPlan, run
from local_kaggle.execution.sandbox import MountedSource, mount
from local_kaggle.execution.sessions import rerun_folder
from local_kaggle.limits import ServerLimits

SECRET = "KGAT_a-token-of-the-desk"
PRELUDE = """
import ctypes, errno, fcntl, os, socket, stat, subprocess, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
def tried(what, action):
    try:
        print("BROKEN" if action() else "refused", what)
    except OSError as error:
        print("refused", what, error.strerror)
def done(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True
"""


@pytest.fixture
def desk(tmp_path):
    """A home of the desk, with a token that no session may read."""
    home = tmp_path / "home"
    (home / ".kaggle").mkdir(parents=True)
    (home / ".kaggle/access_token").write_text(SECRET)
    (home / "data.csv").write_text("id\n")
    return home


def attack(box, code, **settings):
    """What an attack says; each of its tries prints a line."""
    done = subprocess.run(
        box.enclosed([f"{box.image}/bin/python", "-c", PRELUDE + code]),
        cwd=box.working,
        env=box.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        **settings,
    )
    assert SECRET not in done.stdout + done.stderr
    assert "BROKEN" not in done.stdout, done.stdout
    return done


def test_no_privilege_is_left(box):
    code = """
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    assert int(status[name], 16) == 0, name
assert status["NoNewPrivs"] == "1"
print(os.getuid(), os.environ["HOME"])
"""
    assert attack(box, code).stdout == "0 /root\n"


def test_a_root_that_is_left_by_chroot_is_not_there(box, desk):
    code = f"""
os.makedirs("/tmp/below", exist_ok=True)
def leave():
    top = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/below")
    os.fchdir(top)
    for _ in range(60):
        os.chdir("..")
    os.chroot(".")
    return True
tried("chroot", leave)
for root in ("/", "/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/../../..", "/oldroot"):
    tried(root, lambda: print(open(root + "{desk}/.kaggle/access_token").read()) or True)
print(sorted(name for name in os.listdir("/proc") if name.isdigit())[-1])
"""
    done = attack(box, code)
    assert int(done.stdout.splitlines()[-1]) < 10  # no process of the host is seen


def test_the_first_process_is_out_of_reach(box):
    """It runs from the host's own mount of a program, and what filters a session filters it too."""
    code = """
seize = 0x4206
tried("ptrace", lambda: done(libc.ptrace(seize, 1, None, None)))
tried("its memory", lambda: open("/proc/1/maps").read() and True)
tried("its variables", lambda: open("/proc/1/environ").read() and True)
tried("its files", lambda: os.open("/proc/1/fd/1", os.O_WRONLY))
tried("its program", lambda: os.readlink("/proc/1/exe") and True)
tried("the program's mode", lambda: os.chmod("/proc/1/exe", 0o755) or True)
tried("its age", lambda: os.utime("/proc/1/exe", (1, 1)) or True)
status = dict(line.split(":\\t", 1) for line in open("/proc/1/status").read().splitlines())
assert int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == 0
assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
"""
    done = attack(box, code)
    assert done.stdout.count("refused") == 7, done.stderr


def test_a_crash_is_handed_to_no_program_of_the_host(box):
    """A limit of one byte alone prevents that, and less than that would not.

    Programs that set their limit to 0 before they run what they do not trust go on.
    """
    calls = entering.ARCHITECTURES[os.uname().machine][5]
    code = f"""
import resource
calls = {calls!r}
def core():
    return resource.getrlimit(resource.RLIMIT_CORE)
for limits in ((0, 1), (0, 0), (1, 1), (-1, -1)):
    resource.setrlimit(resource.RLIMIT_CORE, limits)
    tried(limits, lambda: core() != (1, 1))
new = (ctypes.c_ulong * 2)(0, 0)
libc.syscall(calls["setrlimit"], 4, new)
tried("setrlimit", lambda: core() != (1, 1))
for process in (0, 1, os.getppid(), os.getpid()):
    libc.syscall(calls["prlimit64"], process, 4, new, None)
    tried(process, lambda: core() != (1, 1) or resource.prlimit(1, resource.RLIMIT_CORE) != (1, 1))
subprocess.run(["/bin/sh", "-c", "ulimit -c 0"], check=True)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, most)
print(subprocess.run([sys.executable, "-c", "import os; os.abort()"]).returncode)
"""
    done = attack(box, code)
    assert done.stdout.count("refused") == 9, done.stdout + done.stderr
    assert done.stdout.endswith(f"{-signal.SIGABRT}\n"), done.stdout + done.stderr


def test_a_machine_without_memory_ends_a_session_before_the_desks_programs(box):
    code = """
place = "/proc/self/oom_score_adj"
print(*(open(f"/proc/{process}/oom_score_adj").read().strip() for process in ("self", "1")))
tried("to be spared", lambda: os.write(os.open(place, os.O_WRONLY), b"-1000"))
"""
    done = attack(box, code)
    assert done.stdout.startswith("1000 1000\nrefused"), done.stderr


def test_devices_keep_their_modes_and_no_open_file_leads_out(box, desk):
    """Root owns the devices, and whoever has a file of the host open is past its walls."""
    code = """
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    mode = stat.S_IMODE(os.stat("/dev/" + name).st_mode)
    tried("mode of " + name, lambda: os.chmod("/dev/" + name, mode) or True)
    tried("age of " + name, lambda: os.utime("/dev/" + name, (1, 1)) or True)
tried("mode of stdin", lambda: os.fchmod(0, stat.S_IMODE(os.fstat(0).st_mode)) or True)
os.close(os.open("/tmp", os.O_RDONLY))
for number in range(3, 100):
    tried(f"file {number}", lambda: os.fstat(number) and True)
assert open("/dev/null", "w").write("x") and open("/dev/zero", "rb").read(1) == bytes(1)
assert len(os.urandom(8)) == len(open("/dev/urandom", "rb").read(8))
"""
    with (desk / ".kaggle/access_token").open() as token:
        os.set_inheritable(token.fileno(), True)
        done = attack(box, code, pass_fds=[token.fileno()])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 110


def test_what_proc_says_of_the_host_is_read_only_and_not_roots_own(box):
    code = """
for entry in os.scandir("/proc"):
    if entry.name.isdecimal() or entry.is_symlink():
        continue
    if entry.is_dir():
        for folder, folders, files in os.walk(entry.path):
            for place in (os.path.join(folder, name) for name in files):
                if os.path.exists(place) and os.lstat(place).st_mode & 0o222:
                    tried(place, lambda: os.close(os.open(place, os.O_WRONLY)) or True)
    elif not entry.stat().st_mode & 0o004:
        tried(entry.path, lambda: os.close(os.open(entry.path, os.O_RDONLY)) or True)
    else:
        tried(entry.path, lambda: os.close(os.open(entry.path, os.O_WRONLY)) or True)
lines = ctypes.create_string_buffer(1000)
tried("the kernel's log", lambda: done(libc.klogctl(3, lines, 1000)))
tried("its size", lambda: done(libc.klogctl(10, None, 0)))
"""
    done = attack(box, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") > 30


def test_what_only_root_may_read_of_the_machine_root_cannot_read_either(box):
    """Of those files some do something when they are read: zram-control's makes a device."""
    code = """
readable = stat.S_IRUSR | stat.S_IRGRP
for top in ["/sys", *(f"/proc/{name}" for name in ("sys", "irq", "driver", "fs", "bus", "tty"))]:
    for folder, _, files in os.walk(top):
        for place in (os.path.join(folder, name) for name in files):
            mode = os.lstat(place).st_mode
            if stat.S_ISREG(mode) and mode & readable and not mode & stat.S_IROTH:
                tried(place, lambda: os.close(os.open(place, os.O_RDONLY)) or True)
for place in ("/sys/class/zram-control", "/sys/kernel/slab", "/sys/kernel/config"):
    print("BROKEN" if os.path.isdir(place) and os.listdir(place) else "refused", place)
"""
    box.internet = True  # or /proc/sys/net would be the session's own
    done = attack(box, code)
    assert done.returncode == 0, done.stderr


def test_another_table_of_system_calls_is_closed(box):
    """A program of 64 bits can make the calls of 32, whose numbers are others."""
    if os.uname().machine != "x86_64":
        pytest.skip("only x86-64 has the calls of its predecessor")
    code = """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print("BROKEN" if call() > 0 else "refused", "32 bits")
tried("x32", lambda: done(libc.syscall(0x40000000 + 39)))
tried("io_uring", lambda: done(libc.syscall(425, 8, bytes(120))))
program = os.memfd_create("program")  # whatever a program comes from, it runs as the session
os.write(program, b"#!/bin/sh\\ngrep CapEff /proc/self/status\\n")
shown = subprocess.run([f"/proc/self/fd/{program}"], pass_fds=[program], capture_output=True)
assert int(shown.stdout.split()[1], 16) == 0
"""
    done = attack(box, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 3


def test_nothing_of_the_host_can_be_mounted_or_written(box):
    code = """
import glob
remount_read_write = 32 | 4096
for place in ("/usr", "/etc/hosts", "/sys", "/proc/sys", "/", "/kaggle/input"):
    at = place.encode()
    tried("remount " + place, lambda: done(libc.mount(b"", at, b"", remount_read_write, b"")))
    tried("umount " + place, lambda: done(libc.umount2(at, 2)))
tried("tmpfs", lambda: done(libc.mount(b"x", b"/tmp", b"tmpfs", 0, b"")))
tried("proc", lambda: done(libc.mount(b"x", b"/tmp", b"proc", 0, b"")))
tried("sysfs", lambda: done(libc.mount(b"x", b"/tmp", b"sysfs", 0, b"")))
tried("fsopen", lambda: done(libc.syscall(430, b"tmpfs", 0)))
tried("open_tree", lambda: done(libc.syscall(428, -100, b"/usr", 1)))
tried("mknod", lambda: os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0)) or True)
tried("memory", lambda: os.mknod("/tmp/mem", 0o600 | stat.S_IFCHR, os.makedev(1, 1)) or True)
for place in (
    "/usr/evil", "/usr/lib/evil", "/etc/evil-dir/../ld.so.cache", "/kaggle/input/evil", "/bin/sh",
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger", "/proc/sys/user/max_user_namespaces", "/proc/irq/default_smp_affinity",
    "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/evil",
    "/proc/kcore", sys.executable, os.__file__, *glob.glob("/sys/fs/cgroup/*/cgroup.procs"),
    *glob.glob("/sys/fs/cgroup/*/release_agent"), *glob.glob("/sys/fs/cgroup/cgroup.procs"),
):
    tried("write " + place, lambda: open(place, "r+" if os.path.exists(place) else "w").write("1"))
for place in ("firmware", "fs/bpf", "fs/pstore", "kernel/debug", "kernel/tracing"):
    seen = os.path.isdir("/sys/" + place) and os.listdir("/sys/" + place)
    print("BROKEN" if seen else "refused", place)
for place in ("/dev/mem", "/dev/kmsg", "/dev/port", "/dev/kvm", "/dev/fuse"):
    print("BROKEN" if os.path.exists(place) else "refused", place)
for place in glob.glob("/sys/fs/cgroup/*") + ["/sys/fs/cgroup", "/usr", "/etc/alternatives"]:
    tried("mkdir in " + place, lambda: os.mkdir(place + "/evil") or True)
"""
    assert attack(box, code).stdout.count("refused") > 30


def test_no_way_leads_to_privileges_that_a_namespace_or_a_file_would_give(box):
    calls = entering.ARCHITECTURES[os.uname().machine][1]
    code = (
        f"CALLS = {calls!r}"
        + """
user, mounts = 0x10000000, 0x20000
tried("a user namespace", lambda: done(libc.unshare(user)))
tried("with mounts", lambda: done(libc.unshare(user | mounts)))
tried("mounts", lambda: done(libc.unshare(mounts)))
tried("clone3", lambda: done(libc.syscall(435, bytes(8) + bytes(80), 88)) and os._exit(0))
tried("setns", lambda: done(libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)))
tried("setuid", lambda: done(libc.setresuid(1, 1, 1)))
tried("setgroups", lambda: os.setgroups([0, 1]) or True)
tried("chown", lambda: os.chown("/kaggle/working", 1, 1) or True)
for family in (40, 38, 31, 30, 17):
    tried(f"socket family {family}", lambda: socket.socket(family, socket.SOCK_STREAM) and True)
pair = (ctypes.c_int * 2)()
for family in (40, 30, 21, 17):
    done_with = libc.socketpair(family, socket.SOCK_STREAM, 0, pair)
    known = done_with == 0 or ctypes.get_errno() != errno.EAFNOSUPPORT
    print("BROKEN" if known else "refused", f"a pair of family {family}")
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    socket.socket(family, socket.SOCK_STREAM).close()
[each.close() for each in socket.socketpair()]
own = os.open("/tmp/own", os.O_RDWR | os.O_CREAT)
tried("a lease", lambda: fcntl.fcntl(own, fcntl.F_SETLEASE, fcntl.F_WRLCK) == 0)
fcntl.flock(own, fcntl.LOCK_EX)
tried("reboot", lambda: done(libc.reboot(0x89ABCDEF)))
tried("settime", lambda: done(libc.settimeofday(bytes(16), None)))
tried("hostname", lambda: done(libc.sethostname(b"evil", 4)))
tried("modules", lambda: done(libc.syscall(CALLS["finit_module"], 0, b"", 0)))
tried("bpf", lambda: done(libc.syscall(CALLS["bpf"], 0, bytes(64), 64)))
shell = subprocess.run(["unshare", "--user", "--map-root-user", "id"], capture_output=True)
print("BROKEN" if shell.returncode == 0 else "refused", "unshare")
for program in ("su", "mount", "ping", "passwd", "newuidmap"):
    place = "/usr/bin/" + program
    if os.path.exists(place):
        held = subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True)
        assert int(held.stdout.split()[1], 16) == 0
"""
    )
    assert attack(box, code).stdout.count("refused") >= 10


def test_the_terminal_the_disk_and_other_processes_take_no_orders(box, tmp_path):
    data = tmp_path / "dataset"
    data.mkdir()
    (data / "a.csv").write_text("own")
    data.chmod(0o777)
    (data / "a.csv").chmod(0o666)
    box.sources = [MountedSource("datasets", "me/x", data)]
    calls = entering.ARCHITECTURES[os.uname().machine][1]
    code = (
        f"CALLS = {calls!r}"
        + """
import struct, termios
data = "/kaggle/input/datasets/me/x/a.csv"
working = os.open("/kaggle/working", os.O_RDONLY)
own = os.open("/kaggle/working/own", os.O_RDWR | os.O_CREAT)
for number in (0, 1, 2):  # typed into the desk's shell
    tried(f"TIOCSTI on {number}", lambda: fcntl.ioctl(number, termios.TIOCSTI, b"x") or True)
for place in ("/dev/tty", "/dev/console", "/dev/vcs", "/dev/userfaultfd", "/dev/loop-control"):
    tried(place, lambda: os.open(place, os.O_RDWR))
handle = struct.pack("IIQ", 8, 1, 2)
for name, arguments in {
    "perf_event_open": (bytes(128), 0, -1, -1, 0),
    "open_by_handle_at": (working, handle, 0),
    "fanotify_init": (0, 0),
    "userfaultfd": (0,),
}.items():
    tried(name, lambda: done(libc.syscall(CALLS[name], *arguments)))
for kind in (0x80, 0x02000000, 0x20000000, 0x40000000):  # time, cgroups, processes, network
    tried(f"a namespace {kind:#x}", lambda: done(libc.unshare(kind)))
first = libc.syscall(434, 1, 0)
tried("an open file of the first process", lambda: done(libc.syscall(438, first, 1, 0)))
piece = (ctypes.c_long * 2)(4096, 8)
tried("its memory", lambda: done(libc.process_vm_readv(1, piece, 1, piece, 1, 0)))
tried("its parent", lambda: done(libc.ptrace(16, os.getppid(), None, None)))
tried("another program in its place", lambda: done(libc.prctl(35, 13, own, 0, 0)))
tried("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) or True)
tried("priority", lambda: os.nice(-5) < 0)
tried("accounting", lambda: done(libc.acct(b"/tmp/accounts")))
tried("swap", lambda: done(libc.swapon(b"/kaggle/working/own", 0)))
tried("freeze", lambda: fcntl.ioctl(working, 0xC0045877, bytes(4)) is not None)
tried("trim", lambda: fcntl.ioctl(working, 0xC0185879, bytes(24)) is not None)
tried("shut down", lambda: fcntl.ioctl(working, 0x8004587D, bytes(4)) is not None)
tried("immutable", lambda: fcntl.ioctl(own, 0x40086602, struct.pack("l", 0x10)) is not None)
rights = struct.pack("<5I", 0x2000001, 0xFFFFFFFF, 0, 0, 0)
tried("capability", lambda: os.setxattr(own, "security.capability", rights) or True)
tried("trusted", lambda: os.setxattr(own, "trusted.x", b"1") or True)
tried("truncate", lambda: os.truncate(data, 0) or True)
tried("reopen", lambda: os.open(f"/proc/self/fd/{os.open(data, os.O_RDONLY)}", os.O_RDWR))
tried("attribute", lambda: os.setxattr(data, "user.x", b"1") or True)
tried("link", lambda: os.link(data, "/kaggle/working/a.csv") or True)
tried("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) and True)
event = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
tried("an event of the kernel", lambda: event.sendto(b"add@/x", (0, 1)))
for signal in (9, 15, 19):
    os.kill(1, signal)
"""
    )
    box.internet = True
    done = attack(box, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") > 30
    assert (data / "a.csv").read_text() == "own"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="keyrings are Linux's")
def test_keys_of_the_desk_stay_in_its_keyrings(box):
    calls = entering.ARCHITECTURES[os.uname().machine][1]
    own = f"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.syscall({calls["keyctl"]}, 1, None)
for ring in (-3, -4):
    libc.syscall({calls["add_key"]}, b"user", b"desk:token", b"secret", 6, ring)
import subprocess
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = [libc.syscall({calls["keyctl"]}, 10, ring, b"user", b"desk:token", 0) for ring in (-3, -4)]
found.append(libc.syscall({calls["request_key"]}, b"user", b"desk:token", None, 0))
print("BROKEN" if max(found) >= 0 else "refused")
"""
    words = box.enclosed([f"{box.image}/bin/python", "-c", code])
    done = subprocess.run(
        [sys.executable, "-c", own, *words], env=box.environment(), capture_output=True, text=True
    )
    assert done.stdout == "refused\n", done.stderr


def test_settings_of_the_host_are_not_among_what_is_seen_of_it(box):
    code = f"""
image = Path({str(box.image)!r})
for name in ("shadow", "gshadow", "sudoers", "ssh", "ssl/private", "pip.conf", "gitconfig",
             "machine-id", "NetworkManager", "docker", "wireguard", "environment", "profile",
             "profile.d", "bash.bashrc"):
    print("BROKEN" if os.path.exists("/etc/" + name) else "refused", name)
for folder in ("/usr/etc", "/usr/local/etc", "/sys/devices/virtual/dmi"):
    seen = os.path.isdir(folder) and os.listdir(folder)
    print("BROKEN" if seen else "refused", folder)
import getpass, pwd, ssl
assert getpass.getuser() == "root" and pwd.getpwuid(0).pw_dir == "/root"
for folder in ("/home", "/srv", "/mnt", "/media", "/var", "/boot", "/root/.kaggle"):
    seen = os.path.exists(folder) and Path(folder) not in image.parents
    print("BROKEN" if seen else "refused", folder)
print("BROKEN" if os.listdir("/run") not in ([], ["local_kaggle"]) else "refused", "/run")
"""
    attack(box, code)


def test_of_a_pythons_folder_only_what_it_runs_from_is_seen(tmp_path, monkeypatch):
    for name in ("bin/python3", "lib/python3.12/os.py", "pip.conf", ".condarc", "envs/other/x"):
        path = tmp_path / "base" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "base/conda-meta").mkdir()
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "base"))
    shown = [path for path in walls.python_folders(tmp_path / "image") if tmp_path in path.parents]
    assert shown == [tmp_path / "base/bin", tmp_path / "base/lib"]


def test_secrets_among_the_desks_variables_stay_there(box, monkeypatch):
    for name in ("KAGGLE_KEY", "KAGGLE_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("KAGGLE_SECRET_wanted", "meant for the session")
    code = """
for name in os.listdir("/proc"):
    if name.isdecimal():
        tried(name, lambda: print(open(f"/proc/{name}/environ").read()) and False)
print("meant for" in os.environ["LOCAL_KAGGLE_SECRETS"])
"""
    assert attack(box, code).stdout.endswith("True\n")


def test_sockets_of_the_desk_are_out_of_reach(box, tmp_path, monkeypatch):
    name = f"\0desk-{os.getpid()}"
    with_path = tmp_path / "s"
    abstract = entering.libc.syscall(entering.CREATE_RULESET, None, 0, 1) >= 6
    with (
        socket.socket(socket.AF_UNIX) as one,
        socket.socket(socket.AF_UNIX) as other,
    ):
        one.bind(name)
        one.listen()
        monkeypatch.chdir(tmp_path)  # a socket's path has at most 107 bytes
        other.bind("s")
        other.listen()
        code = f"""
def connect(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
    return True
if {abstract or not box.internet}:
    tried("abstract", lambda: connect({name!r}))
tried("path", lambda: connect("/proc/1/root{with_path}"))
own = socket.socket(socket.AF_UNIX); own.bind("\\0own"); own.listen(); assert connect("\\0own")
"""
        attack(box, code)
        box.internet = True
        if abstract:
            attack(box, code)


def test_a_linked_input_shows_its_file_and_nothing_beside_it(box, tmp_path, desk):
    data = tmp_path / "dataset"
    data.mkdir()
    (data / "own.csv").write_text("own")
    (data / "data.csv").symlink_to(desk / "data.csv")
    (data / "circle").symlink_to(data / "circle")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/a.csv").write_text("more")
    (data / "more").symlink_to(tmp_path / "more")
    box.sources = [MountedSource("datasets", "me/x", data)]
    code = f"""
place = "/kaggle/input/datasets/me/x"
assert open(place + "/own.csv").read() == "own"
assert open(place + "/data.csv").read() == "id\\n"
assert open(place + "/more/a.csv").read() == "more"
assert os.listdir({str(desk)!r}) == ["data.csv"]
tried("write", lambda: open({str(desk / "data.csv")!r}, "w"))
tried("write beside", lambda: open({str(tmp_path / "more/b.csv")!r}, "w"))
tried("token", lambda: print(open({str(desk / ".kaggle/access_token")!r}).read()))
"""
    done = attack(box, code)
    assert done.returncode == 0, done.stderr
    assert (desk / "data.csv").read_text() == "id\n"


def test_an_input_of_a_linked_file_binds_the_file(tmp_path, desk):
    data = tmp_path / "dataset"
    data.mkdir()
    (data / "data.csv").symlink_to(desk / "data.csv")
    bound = mount([MountedSource("datasets", "me/x", data)], tmp_path / "input", walled=True)
    assert bound[str(desk / "data.csv")] == desk / "data.csv"
    assert str(desk) not in bound


LEAVES = """
import os, socket, stat, subprocess
os.makedirs("good"); open("good/out.csv", "w").write("1")
os.symlink("good/out.csv", "inside"); os.symlink("/root/.kaggle/access_token", "outside")
os.symlink("../../../../home/.kaggle/access_token", "relative"); os.symlink(".", "itself")
os.symlink("loop", "loop")
for target in ("/etc/passwd", "/usr/bin/env", "/kaggle/input"):
    try:
        os.link(target, "hard-" + os.path.basename(target))
    except OSError:
        pass
open("runs-as-owner", "w").write("#!/bin/sh\\n"); os.chmod("runs-as-owner", 0o6755)
os.mkfifo("pipe"); socket.socket(socket.AF_UNIX).bind("socket")
open(b"\\xff\\xfe", "w")
os.makedirs("locked/inner"); open("locked/inner/x", "w"); os.chmod("locked", 0)
for _ in range(1400):
    os.mkdir("d"); os.chdir("d")
os.chdir("/kaggle/temp")
for _ in range(60):
    os.mkdir("n" * 200); os.chdir("n" * 200)
"""


def session(tmp_path, python, text, name="attacks", **limits):
    """How a session of this text ended, and its folder."""
    request = SimpleNamespace(
        text=text,
        language="python",
        kernel_type="script",
        enable_internet=False,
        session_timeout_seconds=60,
    )
    plan = SessionPlan(tmp_path / name, request, (), "cpu", "cpu", ServerLimits(**limits))
    return run(plan, lambda: python, SimpleNamespace(is_set=lambda: False)), plan.folder


@pytest.fixture(params=["bubblewrap", "unshare"])
def built(request, monkeypatch):
    """Sessions behind walls by this program."""
    if not walls.builder() or (request.param == "bubblewrap" and not shutil.which("bwrap")):
        pytest.skip(f"{request.param} builds no walls here: apt-get install bubblewrap, as root")
    monkeypatch.setattr(walls, "builder", lambda: request.param)


@pytest.mark.usefixtures("built")
def test_outputs_reach_nothing_beside_them_and_can_be_removed(tmp_path, python, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    try:
        outcome, folder = session(tmp_path, python, LEAVES)
        assert outcome.state == "COMPLETE", (folder / "log.jsonl").read_text()
        working = folder / "working"
        left = {path.name for path in working.iterdir()} - {"\udcff\udcfe"}
        assert not any("\udcff" in name for name, _ in files_below(working))
        assert left == {"good", "inside", "runs-as-owner", "locked", "d"}
        mode = working.joinpath("runs-as-owner").stat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID)
        assert working.joinpath("locked/inner/x").is_file()
        assert list(scratch.iterdir()) == []
    finally:
        leftovers.remove(tmp_path / "attacks")  # pytest itself cannot remove what is so deep
    assert not folder.exists()


@pytest.mark.usefixtures("built")
def test_no_session_reads_the_list_of_fonts_that_another_one_wrote(tmp_path, python, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    kept = python.parents[2] / "matplotlib"
    text = """
import os
fonts = os.environ["MPLCONFIGDIR"]
print(os.listdir(fonts))
for number, content in enumerate(("[" * 100_000, "{", '{"ttflist": []}', "\\ud800")):
    with open(f"{fonts}/fontlist-{number}.json", "w", errors="surrogatepass") as file:
        file.write(content)
os.symlink("/etc/passwd", f"{fonts}/fontlist-link.json")
os.mkfifo(f"{fonts}/fontlist-pipe.json")
"""
    for name in ("first", "second"):
        outcome, folder = session(tmp_path, python, text, name)
        assert (outcome.state, outcome.why) == ("COMPLETE", "")
        assert list(scratch.iterdir()) == []
        assert not [path for path in kept.glob("*") if not re.search(r"-v[\d.]+\.json$", path.name)]
    pytest.importorskip("matplotlib")
    assert len(list(kept.glob("*"))) == 1
    assert "fontlist-v" in (folder / "log.jsonl").read_text()


def test_outputs_are_harmless_after_a_failure_of_the_rehearsal_too(tmp_path, python, monkeypatch):
    def fail(*_):
        (tmp_path / "attacks/working/link").symlink_to("/etc/passwd")
        raise OSError("the rehearsal's own failure")

    monkeypatch.setattr("local_kaggle.execution.running._attend", fail)
    outcome, folder = session(tmp_path, python, "")
    assert "own failure" in outcome.why
    assert list((folder / "working").iterdir()) == []


def test_outputs_of_a_server_that_was_killed_are_made_harmless(tmp_path):
    first = LocalKaggle(tmp_path / "kaggle")
    with first:
        plan = SimpleNamespace(kind="cpu", seconds=60)
        first.sessions._start = lambda *_: None  # as if it were killed while this runs
        first.sessions.submit(1, plan, "tester")
        places = [first.sessions.folder(1), rerun_folder(first.root, 2)]
        for place in [*places, places[1] / "gateway"]:
            (place / "working").mkdir(parents=True)
            (place / "working/token").symlink_to("/etc/passwd")
            (place / "working/own").write_text("")
    with LocalKaggle(tmp_path / "kaggle"):
        for place in [*places, places[1] / "gateway"]:
            assert [path.name for path in (place / "working").iterdir()] == ["own"]


@pytest.mark.usefixtures("built")
def test_nothing_outlives_a_session(tmp_path, python):
    # Without its session's variable, in a group of its own, and with nobody to wait for it.
    text = """
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, ["outlives", "-c", "import time; time.sleep(97)"], {})
    os._exit(0)
time.sleep(0.5)
"""
    outcome, _ = session(tmp_path, python, text)
    assert outcome.state == "COMPLETE"
    assert not _running("time.sleep(97)")


def _running(words):
    lines = [process.info["cmdline"] or () for process in psutil.process_iter(["cmdline"])]
    return [line for line in lines if words in line]


@pytest.mark.usefixtures("built")
@pytest.mark.skipif(
    os.geteuid() == 0 and not os.access("/sys/fs/cgroup/pids", os.W_OK),
    reason="root's processes are bounded by a cgroup, and none can be made here",
)
def test_the_number_of_processes_is_bounded(tmp_path, python, monkeypatch):
    source = Path(entering.__file__)
    small = source.read_text().replace(f"PROCESSES = {entering.PROCESSES}", "PROCESSES = 40")
    (tmp_path / "entering.py").write_text(small)
    monkeypatch.setattr(entering, "PROCESSES", 40)
    monkeypatch.setattr(walls, "__file__", str(tmp_path / "walls.py"))
    text = """
import os, signal
children = []
try:
    for _ in range(200):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as error:
    print("after", len(children), error.strerror)
for child in children:
    os.kill(child, signal.SIGKILL)
"""
    outcome, folder = session(tmp_path, python, text)
    log = (folder / "log.jsonl").read_text()
    assert outcome.state == "COMPLETE", log
    assert "Resource temporarily unavailable" in log


def test_a_line_without_end_and_a_log_without_end_are_bounded(tmp_path, python):
    endless = "import sys\nwhile True: sys.stdout.write('x' * 100_000)"
    outcome, _ = session(tmp_path, python, endless, log_bytes=5e6)
    assert outcome.limit == "disk"
    assert "GB of log, past its limit of 0.005 GB" in outcome.why


def test_a_file_of_terabytes_that_a_session_leaves_at_its_end_is_no_output(tmp_path, python):
    """It takes no room here, but whoever downloads it would have none left."""
    outcome, folder = session(tmp_path, python, "open('sparse', 'wb').truncate(10**12)")
    assert (outcome.state, outcome.limit) == ("ERROR", "disk")
    assert "1000.0 GB of output, past its limit of 20 GB" in outcome.why
    assert list((folder / "working").iterdir()) == []


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("made", ["open('/dev/shm/x', 'wb')", "open(os.memfd_create('x'), 'wb')"])
def test_files_in_memory_count_as_memory(tmp_path, python, made):
    text = f"import os, time\nfile = {made}\nfile.write(bytes(400_000_000))\ntime.sleep(60)"
    outcome, _ = session(tmp_path, python, text, memory_bytes={"cpu": 300e6})
    assert outcome.limit == "memory"


@pytest.mark.usefixtures("built")
def test_files_in_memory_count_once_where_a_process_has_mapped_them(tmp_path, python):
    text = """
import mmap, time
file = open("/dev/shm/x", "w+b")
file.truncate(200_000_000)
mapped = mmap.mmap(file.fileno(), 0)
mapped.write(bytes(200_000_000))
time.sleep(3)
"""
    outcome, _ = session(tmp_path, python, text, memory_bytes={"cpu": 380e6})
    assert outcome.state == "COMPLETE", outcome.why
    assert 200e6 < outcome.memory < 300e6


def test_a_session_ends_before_the_disk_is_full(tmp_path, python, monkeypatch):
    plenty = shutil.disk_usage(tmp_path)
    full = plenty._replace(free=100_000_000)
    monkeypatch.setattr("local_kaggle.execution.running.shutil.disk_usage", lambda _: full)
    # It is stopped while its walls are built: what begins behind them then has to be found.
    monkeypatch.setattr(processes, "END_SECONDS", 6000.0)
    outcome, _ = session(tmp_path, python, "import time; time.sleep(6000)")
    assert outcome.state == "ERROR"
    assert "only 0.1 GB are free" in outcome.why


def test_a_session_ends_before_no_file_can_be_made(tmp_path, python, monkeypatch):
    words = "f_bsize f_frsize f_blocks f_bfree f_bavail f_files f_ffree f_favail f_flag f_namemax"
    disk = dict.fromkeys(words.split(), 1_000_000) | {"f_favail": 12}
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(**disk))
    outcome, _ = session(tmp_path, python, "import time; time.sleep(60)")
    assert outcome.state == "ERROR"
    assert "only 12 more files can be made" in outcome.why


def test_where_walls_are_required_nothing_runs_without_them(tmp_path, python, monkeypatch):
    monkeypatch.setattr(walls, "builder", lambda: "")
    monkeypatch.setenv(walls.REQUIRED, "required")
    outcome, folder = session(tmp_path, python, "open('ran', 'w')")
    assert (outcome.state, outcome.why) == ("ERROR", walls.REFUSED)
    assert not (folder / "working/ran").exists()


@pytest.mark.usefixtures("built")
def test_a_session_that_is_killed_from_outside_leaves_no_process(tmp_path, python):
    words = "time.sleep(89)"
    code = f"""
import sys, threading
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from local_kaggle.execution import walls
walls.builder = lambda: {walls.builder()!r}
from local_kaggle.execution.running import SessionPlan, run
from local_kaggle.limits import ServerLimits
text = "import subprocess, sys; command = [sys.executable, '-c', 'import time; {words}']; " \\
    "subprocess.Popen(command, env={{}}, start_new_session=True).wait()"
request = SimpleNamespace(text=text, language="python", kernel_type="script",
    enable_internet=False, session_timeout_seconds=60)
plan = SessionPlan(Path({str(tmp_path / "killed")!r}), request, (), "cpu", "cpu", ServerLimits())
run(plan, lambda: Path({str(python)!r}), threading.Event())
"""
    server = subprocess.Popen([sys.executable, "-c", code])
    _wait_until(lambda: _running(f"import time; {words}"))
    server.send_signal(signal.SIGKILL)
    server.wait()
    _wait_until(lambda: not _running(f"import time; {words}"))


def _wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
