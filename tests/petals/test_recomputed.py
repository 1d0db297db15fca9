"""Each figure of a run's page, computed again from the predictions that the run kept."""

import csv
import json
import re

import numpy as np
import pytest
from checkouts import ROOT

from kernelkit.pages.one_run.report_page import report_run
from kernelkit.running.run_notebook import run_notebook
from petals.evaluation.intervals import Intervals

PAGE = ROOT / "docs" / "reference" / "run-folder.md"

pytestmark = [
    pytest.mark.long,
    # jupyter_client and nbformat of the desk, which papermill calls in the old way
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
SMALL = {"image_size": 32, "weights": "none", "accelerator": "cpu"}
TUNED = {"backbone": "SmallNet", "fine_tune": "all", "epochs": 3, "learning_rate": 0.001}
RUNS = {
    "a head": ("02_train", {"backbone": "SmallNet"}),
    "fine-tuned from a logistic head": ("02_train", {**TUNED, "head": "logistic"}),
    "fine-tuned from another": ("02_train", {**TUNED, "head": "gradient", "mix": "mixup"}),
    "the first notebook": ("00_first", {"width": 0.25, "head_epochs": 1, "epochs": 1}),
}


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(params=RUNS)
def run(request, dataset, tmp_path):
    """(the name of the notebook, the folder of a run)"""
    name, given = RUNS[request.param]
    notebook = ROOT / "notebooks" / f"{name}.ipynb"
    given = {"data": str(dataset), **SMALL, **given}
    done = run_notebook(notebook, given, output=tmp_path / "out", report=report_run, quiet=True)
    return name, done.folder


def test_a_few_lines_of_numpy_give_the_figures_of_the_page(run, monkeypatch):
    name, folder = run
    (block,) = re.findall(r"```python\n(import numpy.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(folder)
    found = {}
    exec(block, found)

    metrics = json.loads((folder / "metrics.json").read_text())
    for score in ("accuracy", "loss", "macro_f1"):
        assert metrics[score] == pytest.approx(found[score], rel=1e-6), score  # float32
    intervals = Intervals.of(found["labels"], found["probabilities"])
    assert metrics["intervals"] == intervals.as_dict()
    page = (folder / "report.html").read_text()
    assert f"{found['macro_f1']:.4f}" in page
    _check_the_kept_epoch(name, folder, metrics, found)
    if name == "02_train":
        _check_the_tables(folder, found["confusion"])


def _check_the_kept_epoch(name, folder, metrics, found):
    """The last epoch of 00_first, and of 02_train the best one of the last phase."""
    history = rows_of(folder / "history.csv")
    row = history[-1]
    if name == "02_train" and row["phase"] == "fine-tune":
        tuned = [row for row in history if row["phase"] == "fine-tune"]
        best = metrics["best_epoch"]
        if not best:  # the model that they began with, which is no epoch
            assert found["macro_f1"] > max(float(row["val_macro_f1"]) for row in tuned)
            return
        row = tuned[best - 1]
        assert best == max(range(1, 4), key=lambda n: (float(tuned[n - 1]["val_macro_f1"]), n))
    assert float(row["val_loss"]) == pytest.approx(found["loss"], rel=1e-4)
    assert float(row["val_accuracy"]) == pytest.approx(found["accuracy"])
    if "val_macro_f1" in row:
        assert float(row["val_macro_f1"]) == pytest.approx(found["macro_f1"])


def _check_the_tables(folder, confusion):
    rows = {row["class"]: row for row in rows_of(folder / "class_scores.csv")}
    names = ["blue", "red", "yellow"]
    for place, name in enumerate(names):
        f1 = 2 * confusion[place, place] / (confusion[place].sum() + confusion[:, place].sum())
        assert float(rows[name]["F1"]) == pytest.approx(f1, abs=1e-3)
    matrix = [list(row.values())[1:] for row in rows_of(folder / "confusion.csv")]
    assert np.array_equal(np.array(matrix, float), confusion)
