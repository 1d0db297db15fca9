"""The example with an inference server, copied out of this repository and used from there."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import jupytext
import nbformat
import pytest

from kernelkit.pushes.command import push_kernel
from kernelkit.pushes.rerun import rerun
from local_kaggle.execution import walls

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tides(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "copied"
    left = shutil.ignore_patterns("runs", "__pycache__", ".ipynb_checkpoints")
    shutil.copytree(ROOT / "examples/tides", folder, ignore=left)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


def test_a_dry_run_of_it_has_nothing_to_complain_about(tides):
    told = io.StringIO()
    push_kernel(local=True, dry_run=True, as_json=True, stream=told)
    events = [json.loads(line) for line in told.getvalue().splitlines()]
    assert [e["text"] for e in events if e["event"] in ("warning", "error")] == []


def test_both_halves_of_its_notebook_agree(tides):
    script = jupytext.read(tides / "notebooks/predict.py")
    notebook = nbformat.read(tides / "notebooks/predict.ipynb", as_version=4)
    assert [c.source for c in script.cells] == [c.source for c in notebook.cells]


@pytest.mark.long
def test_its_server_is_asked_and_scored_on_the_hidden_days(tides):
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    if not walls.builder():
        pytest.skip("this machine cannot isolate sessions")
    told = io.StringIO()
    result = rerun(stream=told)
    assert 0.04 < float(result.score) < 0.06  # the weather that the levels are drawn with: 0.05
    assert "720 rows (public: 72)" in told.getvalue()
