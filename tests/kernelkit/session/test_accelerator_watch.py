"""Whether a process of a session uses its accelerator, with device files and a runtime made up."""

import json
import mmap
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelkit.runs import kit_folder
from kernelkit.session import accelerator_watch
from kernelkit.session_records import machine_use

HOLDS = "import sys, time; file = open(sys.argv[1]); print(flush=True); time.sleep(60)"
MAPS = """
import mmap, sys, time
with open(sys.argv[1], "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
print(flush=True)
time.sleep(60)
"""


@pytest.fixture
def dev(tmp_path):
    """A made-up /dev with a file for each kind of accelerator."""
    root = tmp_path / "dev"
    for name in ("accel0", "vfio/0", "nvidia0", "nvidiactl", "null"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"device")
    return root


@pytest.fixture
def started():
    """Starts processes, which say when they are ready, and ends them after the test."""
    processes = []

    def started(*words, **options):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, **options)
        processes.append(process)
        process.stdout.readline()
        return process

    yield started
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def is_used(kind, dev):
    return accelerator_watch.is_used(kind, dev, Path("/proc"))


@pytest.mark.parametrize(
    ("kind", "file"), [("tpu", "accel0"), ("tpu", "vfio/0"), ("gpu", "nvidia0")]
)
def test_a_process_that_holds_the_device_file_uses_it(dev, started, kind, file):
    assert not is_used(kind, dev)
    started(sys.executable, "-c", HOLDS, dev / file)
    assert is_used(kind, dev)
    assert not is_used({"tpu": "gpu", "gpu": "tpu"}[kind], dev)


@pytest.mark.parametrize(("kind", "name"), [("tpu", "libtpu.so"), ("gpu", "libcuda.so.1")])
def test_a_process_that_has_the_runtime_mapped_uses_it(tmp_path, dev, started, kind, name):
    library = tmp_path / name
    library.write_bytes(bytes(mmap.PAGESIZE))
    started(sys.executable, "-c", MAPS, library)
    assert is_used(kind, dev)


def test_another_file_or_library_is_none_of_it(tmp_path, dev, started):
    started(sys.executable, "-c", HOLDS, dev / "null")
    started(sys.executable, "-c", HOLDS, dev / "nvidiactl")  # as who only counts GPUs
    library = tmp_path / "libcudart.so"
    library.write_bytes(bytes(mmap.PAGESIZE))
    started(sys.executable, "-c", MAPS, library)
    assert not is_used("gpu", dev)
    assert not is_used("tpu", dev)


@pytest.mark.parametrize("name", ["nvidia-smi", "tpu-info"])
def test_a_command_that_only_asks_does_not_count(tmp_path, dev, started, name):
    command = tmp_path / name
    command.write_text(f"#!{sys.executable}\n{HOLDS}\n")
    command.chmod(0o755)
    started(command, dev / "nvidia0")
    started(sys.executable, command, dev / "accel0")
    assert not is_used("gpu", dev)
    assert not is_used("tpu", dev)


@pytest.fixture
def watch(tmp_path, dev):
    """Starts a watcher with quick looks, as a session does; its file, and what makes it write."""
    asks = []

    def watch(kind="tpu"):
        source = Path(accelerator_watch.__file__).read_text()
        source = source.replace("PAUSE_SECONDS = 60.0", "PAUSE_SECONDS = 0.05")
        source = source.replace("SILENT_MINUTES = 10.0", "SILENT_MINUTES = 0.01")
        source = source.replace('["/dev", "/proc"]', f"[{str(dev)!r}, '/proc']")
        file = kit_folder.path(tmp_path, "session", "machine.json")
        asks.append(accelerator_watch.begin(kind, str(file), source))
        return file, asks[-1]

    yield watch
    for ask in asks:
        (process,) = ask.args
        process.stdin.close()
        assert process.wait(timeout=30) == 0
        process.stdout.close()


def test_a_session_that_uses_it_says_for_how_long(tmp_path, dev, watch, started, capfd):
    file, write = watch()
    started(sys.executable, "-c", HOLDS, dev / "accel0")
    time.sleep(0.7)
    write()
    told = json.loads(file.read_text())
    assert told["minutes"] >= told["held_minutes"] > 0
    assert (told["kind"], told["devices"], told["busy"]) == ("tpu", 2, None)
    assert capfd.readouterr().err == ""
    assert "a process had the TPU open for" in machine_use.in_words(tmp_path)


def test_without_a_process_the_log_says_so_once(watch, capfd):
    file, write = watch()
    time.sleep(1.5)
    write()
    assert json.loads(file.read_text())["held_minutes"] == 0
    written = capfd.readouterr().err
    assert written.count("minutes, no process has opened the TPU that was asked for") == 1


def test_a_session_that_is_killed_leaves_what_was_seen(tmp_path):
    source = Path(accelerator_watch.__file__).read_text()
    file = tmp_path / "machine.json"
    session = (
        "import os, signal, sys, time\n"
        "from kernelkit.session import accelerator_watch\n"
        f"accelerator_watch.begin('gpu', {str(file)!r}, sys.stdin.read())\n"
        "time.sleep(0.5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", session], input=source, text=True)
    until = time.monotonic() + 30
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert json.loads(file.read_text())["kind"] == "gpu"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"minutes": 135, "held_minutes": 0}, "asked for a TPU, and no process opened it in"),
        ({"minutes": 9, "held_minutes": 0}, ""),  # too short to tell
        ({"minutes": 9, "held_minutes": 2}, "a process had the TPU open for 2 min 0 s of 9 min"),
        ({"minutes": 60, "held_minutes": 60, "busy": 12.4}, "it was busy 12 % of the time"),
        ({"minutes": 1e400, "held_minutes": 0}, ""),
        ({"minutes": "x", "held_minutes": []}, ""),
        ({"kind": "cpu"}, ""),
        ({"kind": ["tpu"]}, ""),
    ],
)
def test_what_was_seen_in_words(tmp_path, told, words):
    place = kit_folder.path(tmp_path, "session", "machine.json")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"kind": "tpu"} | told))
    said = machine_use.in_words(tmp_path)
    assert words in said
    assert bool(words) == bool(said)
