"""A tiny notebook as two hosts of this machine: who writes where, and what ends the others."""

import contextlib
import sys
import time
from pathlib import Path

import psutil
import pytest

from kernelkit.errors import ParameterError, RunFailedError
from kernelkit.runs.chosen_folder import own_folder
from kernelkit.sweep.workers import several_hosts
from kernelkit.sweep.workers.several_hosts import run_on_hosts

NOTEBOOK = """# %% [markdown]
# # Two of us

# %% tags=["parameters"]
fails = -1  # >= -1: the host that fails
output = ""  # the run's folder

# %%
import json
import os
from pathlib import Path

index, count = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
print("this is host", index, "of", count, flush=True)
if index == fails:
    raise ValueError("not today")
Path(output, "metrics.json").write_text(json.dumps({"macro_f1": index / 10}))
"""


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")

    (tmp_path / "two.py").write_text(NOTEBOOK)
    return tmp_path / "two.py"


@pytest.mark.long
def test_the_same_command_continues_in_the_folder_of_hosts_that_failed(notebook):
    for _ in range(2):
        with pytest.raises(RunFailedError):
            run_on_hosts(2, notebook, {"fails": 0}, report=False)
    assert len([*Path("runs").glob("two-*")]) == 1


@pytest.mark.long
def test_host_0_leaves_the_run_and_the_other_a_folder_below_it(notebook, capfd):
    run = run_on_hosts(2, notebook, name="both", report=False)
    assert run.folder == Path("runs/both")
    assert run.metrics == {"macro_f1": 0.0}
    names = sorted(path.name for path in run.folder.iterdir())
    assert names == [".kernelkit", "host-1", "metrics.json", "run.ipynb"]
    log = (run.folder / "host-1" / "log.txt").read_text()
    assert "this is host 1 of 2" in log
    shown = capfd.readouterr().out
    assert "this is host 0 of 2" in shown
    assert "this is host 1" not in shown


def test_the_others_are_ended_with_one_that_is_killed(tmp_path):
    program = (
        "import os, signal, subprocess, sys, time\n"
        "if os.environ['JAX_PROCESS_ID'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    begun = time.monotonic()
    with pytest.raises(RunFailedError) as failed:
        several_hosts._start(2, [sys.executable, "-c", program], tmp_path)
    assert str(failed.value) == (
        "host 1 ended with exit code -9, so the others were stopped; its output is in "
        f"{tmp_path}/host-1/log.txt. The same command continues from the last checkpoint"
    )
    assert time.monotonic() - begun < 60
    if (tmp_path / "child").is_file():  # it had begun: the notebook's process goes with its host
        with contextlib.suppress(psutil.NoSuchProcess):
            child = psutil.Process(int((tmp_path / "child").read_text()))
            while child.status() != psutil.STATUS_ZOMBIE:
                assert time.monotonic() - begun < 60, "a process outlived its host"
                time.sleep(0.1)


def test_a_wrong_start_is_refused_before_any_host_starts(notebook, monkeypatch):
    with pytest.raises(ParameterError, match="--hosts 1: give two or more"):
        run_on_hosts(1, notebook)
    with pytest.raises(ParameterError, match="no parameter 'fail'"):
        run_on_hosts(2, notebook, ["fail=1"])
    monkeypatch.setenv("JAX_NUM_PROCESSES", "2")
    with pytest.raises(ParameterError, match="already one of several"):
        run_on_hosts(2, notebook)
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "environ, below",
    [
        ({"JAX_PROCESS_ID": "0"}, ""),
        ({"JAX_PROCESS_ID": "3"}, "host-3"),
        ({"TPU_WORKER_ID": "1"}, "host-1"),
        ({"SLURM_PROCID": "x"}, ""),
    ],
)
def test_hosts_that_share_a_disk_do_not_share_a_folder(monkeypatch, environ, below):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert own_folder(Path("runs/x")) == Path("runs/x") / below
