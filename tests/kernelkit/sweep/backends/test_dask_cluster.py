"""Runs on a real Dask cluster on loopback, one of its workers killed in mid-run."""

import os
import re
import subprocess
import sys
import threading
from dataclasses import replace

import nbformat
import pytest

from kernelkit.errors import NetworkError, ParameterError, RunFailedError
from kernelkit.notebook import document
from kernelkit.sweep.backends import dask_cluster
from kernelkit.sweep.sweep_folder import SweepFolder

Client = pytest.importorskip("distributed", reason="the extra `sweep` is not installed").Client
LOCAL = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", *LOCAL]
ALONE = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", *ALONE]


@pytest.fixture
def start(tmp_path):
    """Starts a process; returns it, and what matched in the line that it waited for."""
    started = []

    def start(command, until):
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )
        started.append(process)
        for line in process.stderr:
            if match := re.search(until, line):
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return process, match
        raise AssertionError(f"{command} ended without saying {until}")

    yield start
    for process in reversed(started):
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture
def scheduler(start):
    """A scheduler's address and process."""
    process, match = start(SCHEDULER, r"Scheduler at:\s+(tcp://\S+)")
    return match[1], process


@pytest.mark.long
def test_the_run_of_a_worker_that_dies_goes_to_another(sweeps, start, scheduler):
    address, _ = scheduler
    worker, _ = [start([*WORKER, address], "Registered to")[0] for _ in range(2)]
    threading.Timer(2.5, worker.kill).start()
    with pytest.raises(RunFailedError, match="withered"):
        sweeps.run(
            "runs: [{a: 1, does: slow}, {a: 2, does: slow}, {a: 3, does: slow}, {does: fail}]",
            dask=address,
        )

    assert sweeps.states() == ["done", "done", "done", "failed"]
    assert [row["macro_f1"] for row in sweeps.rows()] == ["0.01", "0.02", "0.03", ""]
    assert worker.poll() is not None
    assert len(list(sweeps.runs.glob("*/run.ipynb"))) == 4


def test_a_worker_sends_no_state_that_counts_before_the_files_are_there(sweeps):
    sweep = replace(sweeps.read("grid: {a: [1]}"), workers=1)
    text = nbformat.writes(document.read(sweep.notebook))
    _, data = dask_cluster.run_on_worker(sweep, text, sweep.runs[0], False)
    assert b"metrics.json" in data
    assert b"state.json" not in data


def test_a_scheduler_that_is_lost_is_reported_and_its_runs_stay_pending(
    sweeps, scheduler, monkeypatch
):
    address, process = scheduler
    submit = Client.submit

    def submit_and_kill(*arguments, **options):
        threading.Timer(0.3, process.kill).start()
        return submit(*arguments, **options)

    monkeypatch.setattr(Client, "submit", submit_and_kill)
    with pytest.raises(NetworkError, match=r"is gone, with 2 runs left: the same command"):
        sweeps.run("grid: {a: [1, 2]}", dask=address)

    assert "no workers at" in sweeps.message
    assert sweeps.states() == ["pending", "pending"]


def test_a_scheduler_that_is_not_there_is_reported(sweeps, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(NetworkError, match="no Dask scheduler at tcp"):
        sweeps.run("grid: {a: [1]}", dask="tcp://127.0.0.1:9")


def test_a_sweep_with_no_run_left_needs_no_scheduler(sweeps):
    SweepFolder(sweeps.runs).claim("tiny")
    sweeps.finish("grid: {a: [1]}")

    sweeps.run("grid: {a: [1]}", dask="tcp://127.0.0.1:9")

    assert "1 of 1 runs done" in sweeps.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dask": "tcp://127.0.0.1:9", "kaggle": True}, "choose one"),
        ({"kaggle": True, "workers": 2}, "drop --workers"),
        ({"dask": "tcp://127.0.0.1:9", "workers": 2}, "as Dask's workers have threads: drop"),
        ({"timeout": 0.0}, "--timeout is for a session: add --kaggle"),
        ({"time_limit": float("nan")}, "time_limit=nan is negative or not a number"),
        ({"local": True}, "--local is for a session: add --kaggle"),
        ({"accelerator": "gpu"}, "--accelerator is for a session: add --kaggle"),
    ],
)
def test_options_that_exclude_each_other_or_are_no_number_are_refused(sweeps, options, message):
    with pytest.raises(ParameterError, match=message):
        sweeps.run("grid: {a: [1]}", **options)
