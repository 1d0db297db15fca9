"""The engine over processes that a test makes up: nothing that they do holds a sweep for good."""

import json
from pathlib import Path

import pytest

from kernelkit.sweep import command, records, specification
from kernelkit.sweep.records import Record, SweepFolder
from kernelkit.sweep.workers import launchers
from kernelkit.sweep.workers.engine import ATTEMPTS, Engine, Listed, WorkerLimits


class Child:
    """A process that ends with `code`, None for never; `lost` with the process that started it."""

    pid = -1

    def __init__(self, code=0, lost=False):
        self.code, self.lost = code, lost

    def poll(self):
        return self.code


class Launcher:
    """Starts such children, and keeps what was in each run's folder then."""

    def __init__(self, make=Child):
        self.make, self.folders, self.closed = make, [], False

    def start(self, request):
        self.folders.append({path.name for path in Path(request["folder"]).iterdir()})
        return self.make()

    def close(self):
        self.closed = True


@pytest.fixture
def folder(sweeps):
    return SweepFolder(sweeps.runs)


@pytest.fixture
def run(sweeps):
    return specification.read(sweeps.write("grid: {a: [1]}")).runs[0]


def work(folder, run, launcher, **limits):
    request = lambda run: {"folder": str(folder.run_folder(run))}  # noqa: E731
    engine = Engine(folder, launcher, WorkerLimits(**limits), request, lambda *_: None)
    engine.work(Listed([run]))
    return folder.record(run)


def leave(folder, run, state):
    folder.write(run, Record(state))
    for name in ("checkpoints", "figures"):
        (folder.run_folder(run) / name).mkdir()
    (folder.run_folder(run) / "metrics.json").write_text("{}")


@pytest.mark.parametrize(
    ("state", "kept"),
    [("pending", True), ("running", True), ("failed", False), ("timeout", False), ("done", False)],
)
def test_a_run_that_was_cut_off_finds_its_checkpoints_and_no_result(folder, run, state, kept):
    leave(folder, run, state)
    launcher = Launcher()

    assert work(folder, run, launcher).state == records.DONE

    assert launcher.folders == [{"state.json", "checkpoints"} if kept else {"state.json"}]


@pytest.mark.parametrize("force", [True, False])
def test_force_goes_on_from_nothing(sweeps, folder, run, monkeypatch, force):
    folder.claim("tiny", "tiny.py")
    leave(folder, run, records.PENDING)
    launcher = Launcher()
    monkeypatch.setattr(command, "launcher", lambda *_: launcher)

    sweeps.run("grid: {a: [1]}", force=force)

    assert launcher.folders == [{"state.json"} if force else {"state.json", "checkpoints"}]


def test_a_run_that_never_begins_fails_in_the_end(folder, run):
    launcher = Launcher(lambda: Child(-9, lost=True))

    record = work(folder, run, launcher)

    assert (record.state, len(launcher.folders)) == (records.FAILED, ATTEMPTS)
    assert "was killed (signal 9)" in record.error


def test_a_process_that_cannot_be_killed_does_not_hold_the_sweep(folder, run, monkeypatch):
    monkeypatch.setattr(launchers, "KILL_SECONDS", 0.05)

    record = work(folder, run, Launcher(lambda: Child(None)), seconds=0.05)

    assert record.state == records.TIMEOUT


def test_a_start_that_is_interrupted_leaves_no_run_running(folder, run):
    def interrupt():
        raise KeyboardInterrupt

    launcher = Launcher(interrupt)
    with pytest.raises(KeyboardInterrupt):
        work(folder, run, launcher)

    assert (folder.record(run).state, launcher.closed) == (records.PENDING, True)


@pytest.mark.parametrize("state", ["done", "stopped"])
def test_a_run_that_its_session_stopped_is_not_done_and_none_is_begun_after_it(
    sweeps, folder, state
):
    runs = specification.read(sweeps.write("grid: {a: [1, 2]}")).runs
    stopped = {"stopped": "time limit"} if state == "stopped" else {}

    def start_and_end(request):
        (Path(request["folder"]) / "metrics.json").write_text(json.dumps({"macro_f1": 1} | stopped))
        return Child()

    class Leaving(Launcher):
        start = staticmethod(start_and_end)

    request = lambda run: {"folder": str(folder.run_folder(run))}  # noqa: E731
    Engine(folder, Leaving(), WorkerLimits(), request, lambda *_: None).work(Listed(runs))

    expected = ["done", "done"] if state == "done" else ["stopped", "pending"]
    assert [folder.record(run).state for run in runs] == expected


def test_a_run_that_its_session_stopped_keeps_its_checkpoints_when_it_goes_on(folder, run):
    leave(folder, run, records.STOPPED)
    launcher = Launcher()

    work(folder, run, launcher)

    assert launcher.folders == [{"checkpoints", "state.json"}]
