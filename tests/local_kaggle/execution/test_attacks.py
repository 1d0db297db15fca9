"""What a notebook that means harm tries against its walls, by each program that builds them."""

import os
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

from local_kaggle.catalogue import files_below
from local_kaggle.execution import entering, leftovers, walls
from local_kaggle.execution.running import SessionPlan, run
from local_kaggle.execution.sandbox import MountedSource, mount
from local_kaggle.limits import ServerLimits

SECRET = "KGAT_a-token-of-the-desk"
PRELUDE = """
import ctypes, os, socket, stat, subprocess, sys
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
tried("the first process's memory", lambda: open("/proc/1/mem", "r+b").read(1))
print(sorted(name for name in os.listdir("/proc") if name.isdigit())[-1])
"""
    done = attack(box, code)
    assert int(done.stdout.splitlines()[-1]) < 10  # no process of the host is seen


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
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    socket.socket(family, socket.SOCK_STREAM).close()
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


def test_settings_of_the_host_are_not_among_what_is_seen_of_etc(box):
    code = f"""
image = Path({str(box.image)!r})
for name in ("shadow", "gshadow", "sudoers", "ssh", "ssl/private", "pip.conf", "gitconfig",
             "machine-id", "NetworkManager", "docker", "wireguard", "environment"):
    print("BROKEN" if os.path.exists("/etc/" + name) else "refused", name)
import getpass, pwd, ssl
assert getpass.getuser() == "root" and pwd.getpwuid(0).pw_dir == "/root"
for folder in ("/home", "/srv", "/mnt", "/media", "/var", "/boot", "/root/.kaggle"):
    seen = os.path.exists(folder) and Path(folder) not in image.parents
    print("BROKEN" if seen else "refused", folder)
print("BROKEN" if os.listdir("/run") not in ([], ["local_kaggle"]) else "refused", "/run")
"""
    attack(box, code)


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
        pytest.skip(f"{request.param} does not work on this machine")
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
    assert "a log of 0.0 GB, past its limit" in outcome.why


def test_a_session_ends_before_the_disk_is_full(tmp_path, python, monkeypatch):
    plenty = shutil.disk_usage(tmp_path)
    full = plenty._replace(free=100_000_000)
    monkeypatch.setattr("local_kaggle.execution.running.shutil.disk_usage", lambda _: full)
    outcome, _ = session(tmp_path, python, "import time; time.sleep(60)")
    assert outcome.state == "ERROR"
    assert "only 0.1 GB are free" in outcome.why


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
