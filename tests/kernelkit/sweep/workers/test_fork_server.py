"""The process that forks runs: no message of it is lost."""

import contextlib
import io
import json
import os
import signal
import time

import pytest

from kernelkit.sweep.workers import launchers
from kernelkit.sweep.workers.launchers import ForkServer


class Server:
    """A process whose pipe holds what a test puts there."""

    def __init__(self):
        reading, self.writing = os.pipe()
        self.stdout, self.stdin = os.fdopen(reading, "rb", buffering=0), io.BytesIO()

    def write(self, *facts):
        os.write(self.writing, b"".join(json.dumps(fact).encode() + b"\n" for fact in facts))

    def poll(self):
        return None

    def kill(self):
        """It is gone already."""

    def communicate(self, timeout):
        """Nothing is left to read."""


@pytest.fixture
def server():
    server = Server()
    yield server
    server.stdout.close()
    with contextlib.suppress(OSError):
        os.close(server.writing)


@pytest.fixture
def fork_server(tmp_path, server):
    fork_server = ForkServer((), tmp_path / "log.txt")
    fork_server._process = server
    return fork_server


def begin(fork_server, server, pid):
    server.write({"begun": pid})
    return fork_server.start({"folder": "x"})


def test_two_runs_that_end_at_once_are_both_heard(fork_server, server):
    first, second = begin(fork_server, server, 11), begin(fork_server, server, 12)
    assert (first.poll(), second.poll()) == (None, None)

    server.write({"ended": 11, "code": 0}, {"ended": 12, "code": 6})

    assert (first.poll(), second.poll()) == (0, 6)


def test_an_end_that_comes_with_the_next_beginning_is_heard(fork_server, server):
    first = begin(fork_server, server, 11)
    server.write({"ended": 11, "code": 3})
    second = begin(fork_server, server, 11)  # the process's number is used again

    assert second.poll() is None
    server.write({"ended": 11, "code": 0})
    assert first.poll() == 0


def test_half_a_line_waits_for_its_other_half(fork_server, server):
    run = begin(fork_server, server, 11)
    os.write(server.writing, b'{"ended": 11, "co')
    assert run.poll() is None
    os.write(server.writing, b'de": 4}\n')
    assert run.poll() == 4


def test_its_runs_die_with_it(fork_server, server):
    run = begin(fork_server, server, 11)
    os.close(server.writing)
    assert run.poll() == -signal.SIGKILL
    assert fork_server.start({"folder": "x"}).poll() == -signal.SIGKILL


def test_a_real_one_forks_and_tells(tmp_path):
    fork_server = ForkServer(("kernelkit.no_such_module",), tmp_path / "log.txt")
    folders = [tmp_path / name for name in "abcd"]
    for folder in folders:
        folder.mkdir()
    request = {"notebook": str(tmp_path / "none.py"), "values": {}, "report": False}
    runs = [fork_server.start(request | {"folder": str(folder)}) for folder in folders]
    end = time.monotonic() + 60
    while None in [run.poll() for run in runs] and time.monotonic() < end:
        time.sleep(0.02)
    fork_server.close()
    assert [run.poll() for run in runs] == [2] * 4
    assert all("none.py" in (folder / "error.txt").read_text() for folder in folders)


def test_a_module_that_starts_threads_is_not_forked_with_them(tmp_path, monkeypatch):
    (tmp_path / "busy.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    fork_server = ForkServer(("busy",), tmp_path / "imports.txt")
    request = {"notebook": str(tmp_path / "none.py"), "values": {}, "report": False}

    run = fork_server.start(request | {"folder": str(tmp_path)})

    end = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    fork_server.close()
    assert run.poll() == 2
    assert "a module in `warm` starts threads" in (tmp_path / "imports.txt").read_text()


def test_one_that_is_stuck_in_an_import_is_ended_and_the_run_given_back(tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(launchers, "BEGIN_SECONDS", 3.0)
    fork_server = ForkServer(("endless",), tmp_path / "log.txt")

    run = fork_server.start({"folder": str(tmp_path)})

    assert (run.lost, run.poll()) == (True, -signal.SIGKILL)
    fork_server.close()
