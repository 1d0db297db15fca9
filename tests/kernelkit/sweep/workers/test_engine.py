"""The engine over processes that a test makes up: nothing that they do holds a sweep for good."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelkit import processes
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.sweep.workers import engine, launchers
from kernelkit.sweep.workers.engine import ATTEMPTS, Engine
from kernelkit.sweep.workers.run_process import ERROR


class Child:
    """A process that ended with a result or without, or never (`code` is None then).

    `lost`: with the process that started it.
    """

    pid = -1

    def __init__(self, code=0, succeeds=True, lost=False):
        self.code, self.succeeds, self.lost = code, succeeds, lost

    def poll(self):
        return self.code


class Launcher:
    """Starts such children, and keeps what was in each run's folder then."""

    def __init__(self, make=Child):
        self.make, self.folders, self.closed = make, [], False

    def start(self, request):
        folder = Path(request["folder"])
        child = self.make()
        if child.succeeds:
            (folder / ERROR).unlink()
        self.folders.append({path.name for path in folder.iterdir()})
        return child

    def close(self):
        self.closed = True


@pytest.fixture
def folder(sweeps):
    return SweepFolder(sweeps.runs)


@pytest.fixture
def work(sweeps, folder, monkeypatch):
    """Make runs with a made-up launcher; returns their states."""
    sweep = sweeps.read("grid: {a: [1]}")

    def work(launcher, *runs, **limits):
        monkeypatch.setattr(launchers, "launcher", lambda *_: launcher)
        Engine(replace(sweep, **limits), folder, lambda *_: None, report=False).work(runs)
        return [folder.record(run.id).state for run in runs]

    return work


def test_every_process_is_ended_although_nothing_can_be_written(sweeps, folder, monkeypatch):
    children = []

    def start(request):
        children.append(Child(code=None))
        children[-1].pid = len(children)
        return children[-1]

    def kill(pid):
        children[pid - 1].code = -9

    def full(run, record):
        if len(children) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return record

    launcher = Launcher()
    monkeypatch.setattr(launcher, "start", start)
    monkeypatch.setattr(launchers, "launcher", lambda *_: launcher)
    monkeypatch.setattr(processes, "kill_family", kill)
    monkeypatch.setattr(folder, "write", full)
    monkeypatch.setattr(Engine, "_look", lambda _: 1 / 0)
    sweep = sweeps.read("grid: {a: [1, 2]}\nworkers: 2")

    with pytest.raises(OSError, match="No space left"):
        Engine(sweep, folder, lambda *_: None, report=False).work(sweep.runs)

    assert [child.code for child in children] == [-9, -9]
    assert launcher.closed


def leave(folder, run, state):
    folder.write(run.id, Record(state))
    for name in ("checkpoints", "figures"):
        (folder.run_folder(run.id) / name).mkdir()
    (folder.run_folder(run.id) / "metrics.json").write_text("{}")


KEPT = ("pending", "running", "stopped")


@pytest.mark.parametrize("state", [*KEPT, "failed"])
def test_an_interrupted_run_has_its_checkpoints_and_no_result(folder, run, work, state):
    leave(folder, run, state)
    launcher = Launcher()

    assert work(launcher, run) == [sweep_folder.DONE]

    checkpoints = {"checkpoints"} if state in KEPT else set()
    assert launcher.folders == [{"state.json"} | checkpoints]


def test_force_starts_from_nothing(sweeps, folder, run, monkeypatch):
    folder.claim("tiny")
    leave(folder, run, sweep_folder.PENDING)
    launcher = Launcher()
    monkeypatch.setattr(launchers, "launcher", lambda *_: launcher)

    sweeps.run("grid: {a: [1]}", force=True)

    assert launcher.folders == [{"state.json"}]


def test_a_run_that_never_begins_fails(folder, run, work):
    launcher = Launcher(lambda: Child(succeeds=False))

    assert work(launcher, run) == [sweep_folder.FAILED]

    assert "was killed, or never began; its output is in" in folder.record(run.id).error


@pytest.mark.parametrize("times", [2, 3])
def test_a_run_that_is_lost_with_its_fork_server_is_repeated_twice(folder, run, work, times):
    lost = [Child(succeeds=False, lost=True) for _ in range(times)]
    launcher = Launcher(lambda: lost.pop() if lost else Child(lost=True))

    assert work(launcher, run) == [sweep_folder.DONE if times < ATTEMPTS else sweep_folder.FAILED]

    assert len(launcher.folders) == ATTEMPTS


def test_a_process_that_cannot_be_killed_does_not_hold_the_sweep(run, work, monkeypatch):
    monkeypatch.setattr(launchers, "KILL_SECONDS", 0.05)

    assert work(Launcher(lambda: Child(None)), run, time_limit=0.001) == [sweep_folder.TIMEOUT]


class Slow(Child):
    polls = 0

    def poll(self):
        self.polls += 1
        return 0 if self.polls > 2 else None


def out_of_memory(monkeypatch, machine):
    """Let each run take 5 GB on a machine of this size."""
    monkeypatch.setattr(engine.processes, "usage", lambda _: (5e9, 0.0))
    monkeypatch.setattr(engine, "machine_bytes", lambda: machine)
    monkeypatch.setattr(engine, "SPARE", 0)


@pytest.mark.parametrize(("machine", "end"), [(6e9, sweep_folder.DONE), (5e9, sweep_folder.FAILED)])
def test_a_run_is_repeated_alone_when_memory_runs_out(sweeps, work, monkeypatch, machine, end):
    out_of_memory(monkeypatch, machine)
    runs = sweeps.read("grid: {a: [1, 2]}").runs
    launcher = Launcher(Slow)

    assert work(launcher, *runs, workers=2) == [end, end]

    assert len(launcher.folders) == 3


def test_a_run_that_is_repeated_must_still_have_its_code(sweeps, folder, monkeypatch):
    out_of_memory(monkeypatch, 6e9)
    launcher = Launcher(Slow)
    monkeypatch.setattr(launchers, "launcher", lambda *_: launcher)
    sweep = sweeps.read("grid: {a: [1, 2]}\nworkers: 2")

    made = Engine(sweep, folder, lambda *_: None, report=False)
    made.work(sweep.runs, may_begin=lambda: len(launcher.folders) < 2)

    states = sorted(folder.record(run.id).state for run in sweep.runs)
    assert states == [sweep_folder.DONE, sweep_folder.PENDING]


def test_a_start_that_is_interrupted_leaves_no_run_running(folder, run, work):
    def interrupt():
        raise KeyboardInterrupt

    launcher = Launcher(interrupt)
    with pytest.raises(KeyboardInterrupt):
        work(launcher, run)

    assert (folder.record(run.id).state, launcher.closed) == (sweep_folder.PENDING, True)


@pytest.mark.parametrize(
    ("stopped", "limit", "states"),
    [
        ({}, {}, ["done", "done"]),
        ({"stopped": "time limit"}, {}, ["stopped", "pending"]),
        ({"stopped": "time limit"}, {"time_limit": 5.0}, ["done", "done"]),  # its own limit
    ],
)
def test_no_run_begins_after_one_that_its_session_stopped(sweeps, work, stopped, limit, states):
    runs = sweeps.read("grid: {a: [1, 2]}").runs

    class Leaving(Launcher):
        def start(self, request):
            metrics = json.dumps({"macro_f1": 1} | stopped)
            (Path(request["folder"]) / "metrics.json").write_text(metrics)
            return super().start(request)

    assert work(Leaving(), *(replace(run, overrides=limit) for run in runs)) == states
