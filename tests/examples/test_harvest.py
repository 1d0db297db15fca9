"""The example with tables."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernelkit.errors import RefusedError
from kernelkit.push.push_kernel import push_kernel
from kernelkit.sweep.run_sweep import sweep
from kernelkit.sweep.sweep_options import SweepOptions


@pytest.fixture
def harvest(copied):
    return copied("harvest")


def test_what_its_push_would_send(harvest):
    stream = io.StringIO()
    push_kernel(local=True, dry_run=True, as_json=True, stream=stream)
    events = {event["event"]: event for event in map(json.loads, stream.getvalue().splitlines())}
    assert not {"warning", "error"} & set(events)
    request = events["dry run"]["request"]
    assert request["competition_data_sources"] == ["harvest-forecast"]
    assert not request["enable_tpu"]
    assert not request["enable_internet"]
    assert "with harvest," in events["bundle"]["text"]


def test_its_own_tests_pass(harvest):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=harvest, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_it_is_rehearsed_scored_and_swept(harvest):
    told = io.StringIO()
    folder = push_kernel(local=True, submit="first try", stream=told)
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["mae"] < metrics["mae_of_the_mean"] / 2
    assert (folder / "submission.csv").read_text().startswith("plot,tonnes\n")
    score = float(told.getvalue().split("score ")[1].split()[0])
    assert 0.2 < score < 0.4  # the noise that the tables are drawn with leaves 0.32
    options = SweepOptions(report=False, stream=io.StringIO())
    swept = sweep(harvest / "notebooks/sweeps/first.yaml", (), options)
    results = json.loads((swept / "results.json").read_text())
    assert "degree" in json.dumps(results)
    assert swept == Path("runs/first")


@pytest.mark.long
def test_a_submission_under_another_header_is_refused(harvest):
    data = harvest / "src/harvest/data.py"
    data.write_text(
        data.read_text()
        .replace('"plot", "tonnes"', '"id", "label"', 1)
        .replace("row[KEY]", 'row["plot"]')
        .replace("row[TARGET]", 'row["tonnes"]')
        .replace("TARGET in row", '"tonnes" in row')
    )
    with pytest.raises(RefusedError, match="must have the columns plot and tonnes, not id, label"):
        push_kernel(local=True, submit="as elsewhere", stream=io.StringIO())
