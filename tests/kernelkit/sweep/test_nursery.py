"""The process that forks runs: what it tells is heard, all of it and at once."""

import contextlib
import io
import json
import os
import signal
import time

import pytest

from kernelkit.sweep import nursery as module
from kernelkit.sweep.nursery import Nursery


class Told:
    """A process whose pipe holds what a test puts there."""

    def __init__(self):
        reading, self.telling = os.pipe()
        self.stdout, self.stdin = os.fdopen(reading, "rb", buffering=0), io.BytesIO()

    def tell(self, *facts):
        os.write(self.telling, b"".join(json.dumps(fact).encode() + b"\n" for fact in facts))

    def poll(self):
        return None


@pytest.fixture
def told():
    told = Told()
    yield told
    told.stdout.close()
    with contextlib.suppress(OSError):
        os.close(told.telling)


@pytest.fixture
def nursery(tmp_path, told):
    nursery = Nursery((), tmp_path / "log.txt")
    nursery._process = told
    return nursery


def begin(nursery, told, pid):
    told.tell({"begun": pid})
    return nursery.start({"folder": "x"})


def test_two_runs_that_end_at_once_are_both_heard(nursery, told):
    first, second = begin(nursery, told, 11), begin(nursery, told, 12)
    assert (first.poll(), second.poll()) == (None, None)

    told.tell({"ended": 11, "code": 0}, {"ended": 12, "code": 6})

    assert (first.poll(), second.poll()) == (0, 6)


def test_an_end_that_comes_with_the_next_beginning_is_heard(nursery, told):
    first = begin(nursery, told, 11)
    told.tell({"ended": 11, "code": 3})
    second = begin(nursery, told, 11)  # the process's number is used again

    assert second.poll() is None
    told.tell({"ended": 11, "code": 0})
    assert first.poll() == 0


def test_half_a_line_waits_for_its_other_half(nursery, told):
    run = begin(nursery, told, 11)
    os.write(told.telling, b'{"ended": 11, "co')
    assert run.poll() is None
    os.write(told.telling, b'de": 4}\n')
    assert run.poll() == 4


def test_its_runs_die_with_it(nursery, told):
    run = begin(nursery, told, 11)
    os.close(told.telling)
    assert run.poll() == -signal.SIGKILL
    assert nursery.start({"folder": "x"}).poll() == -signal.SIGKILL


def test_a_real_one_forks_and_tells(tmp_path):
    nursery = Nursery(("kernelkit.no_such_module",), tmp_path / "log.txt")
    folders = [tmp_path / name for name in "abcd"]
    for folder in folders:
        folder.mkdir()
    request = {"notebook": str(tmp_path / "none.py"), "values": {}, "report": False}
    runs = [nursery.start(request | {"folder": str(folder)}) for folder in folders]
    end = time.monotonic() + 60
    while None in [run.poll() for run in runs] and time.monotonic() < end:
        time.sleep(0.02)
    nursery.close()
    assert [run.poll() for run in runs] == [2] * 4
    assert all("none.py" in (folder / "error.txt").read_text() for folder in folders)


def test_a_module_that_starts_threads_is_not_forked_with_them(tmp_path, monkeypatch):
    (tmp_path / "busy.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    nursery = Nursery(("busy",), tmp_path / "imports.txt")
    request = {"notebook": str(tmp_path / "none.py"), "values": {}, "report": False}

    run = nursery.start(request | {"folder": str(tmp_path)})

    end = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    nursery.close()
    assert run.poll() == 2
    assert "a warm module starts threads" in (tmp_path / "imports.txt").read_text()


def test_one_that_is_stuck_in_an_import_is_ended_and_the_run_given_back(tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(module, "BEGIN_SECONDS", 3.0)
    nursery = Nursery(("endless",), tmp_path / "log.txt")

    run = nursery.start({"folder": str(tmp_path)})

    assert (run.lost, run.poll()) == (True, -signal.SIGKILL)
    nursery.close()
