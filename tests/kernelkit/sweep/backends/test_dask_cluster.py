"""Runs on a real Dask cluster on loopback, one of its workers killed in mid-run."""

import os
import re
import subprocess
import sys
import threading
import time

import pytest

from kernelkit.errors import NetworkError, ParameterError, RunFailedError

pytest.importorskip("distributed", reason="the extra `sweep` is not installed")
SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler's address, its two workers' processes, and its own."""
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

    _, match = start([*SCHEDULER, "--port", "0", "--no-dashboard"], r"Scheduler at:\s+(tcp://\S+)")
    address = match[1]
    workers = [start([*WORKER, "--no-dashboard", address], "Registered to")[0] for _ in range(2)]
    yield address, workers, started[0]
    for process in reversed(started):
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.long
def test_the_run_of_a_worker_that_dies_goes_to_another(sweeps, cluster):
    address, workers, _ = cluster

    def strike():
        time.sleep(2.5)
        workers[0].kill()

    threading.Thread(target=strike, daemon=True).start()
    with pytest.raises(RunFailedError, match="withered"):
        sweeps.run(
            "runs: [{a: 1, does: slow}, {a: 2, does: slow}, {a: 3, does: slow}, {does: fail}]",
            dask=address,
        )

    rows = sweeps.rows()
    assert [row["state"] for row in rows] == ["done", "done", "done", "failed"]
    assert [row["macro_f1"] for row in rows] == ["0.01", "0.02", "0.03", ""]
    assert workers[0].poll() is not None
    assert len(list(sweeps.runs.glob("*/run.ipynb"))) == 4


def test_a_scheduler_that_is_lost_is_reported_and_its_runs_stay_pending(sweeps, cluster):
    address, _, scheduler = cluster
    threading.Timer(6.0, scheduler.kill).start()

    with pytest.raises(NetworkError, match=r"is gone, with 2 runs left: the same command"):
        sweeps.run("runs: [{does: hang}, {does: hang, a: 2}]", dask=address)

    assert "pending" in (sweeps.runs / "results.csv").read_text()


def test_a_scheduler_that_is_not_there_is_reported(sweeps, monkeypatch):
    from kernelkit.sweep.backends import dask_cluster

    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(NetworkError, match="no Dask scheduler at tcp"):
        sweeps.run("grid: {a: [1]}", dask="tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dask": "tcp://127.0.0.1:9", "kaggle": True}, "choose one"),
        ({"kaggle": True, "workers": 2}, "drop --workers"),
        ({"local": True}, "give both"),
    ],
)
def test_options_that_exclude_each_other_are_refused(sweeps, options, message):
    with pytest.raises(ParameterError, match=message):
        sweeps.run("grid: {a: [1]}", **options)
