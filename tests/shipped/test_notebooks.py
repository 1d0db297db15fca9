"""The four notebooks, pushed to a local Kaggle as a reader would push them."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from kernelkit.checks import preflight
from kernelkit.plans import plan
from kernelkit.pushes.command import push_kernel

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
NAMES = ("01_explore", "02_train", "03_compare", "04_predict")
QUICK = ("backbone=SmallNet", "weights=none", "head=gradient")

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def rehearse(name, checkout, *parameters, **options):
    stream = io.StringIO()
    notebook = checkout.root / "notebooks" / f"{name}.ipynb"
    try:
        return push_kernel(notebook, parameters, local=True, stream=stream, **options)
    except Exception:
        print(stream.getvalue())
        raise


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_that_ships_has_nothing_that_stops_its_push(name):
    planned = plan.make(NOTEBOOKS / f"{name}.py", (), None, None, None)

    assert planned.metadata.code_file.samefile(NOTEBOOKS / f"{name}.ipynb")
    assert [found.text for found in preflight.run_checks(planned) if found.level == "error"] == []


def test_each_notebook_is_a_kernel_of_its_own():
    kernels = {
        plan.make(NOTEBOOKS / f"{n}.ipynb", (), None, None, None).metadata.slug for n in NAMES
    }

    assert len(kernels) == len(NAMES)


@pytest.mark.long
def test_explore_is_rehearsed(checkout):
    shutil.copy(ROOT / "pyproject.toml", checkout.root)  # whose command finds the catalogue full
    home = rehearse("01_explore", checkout, "seconds=0.2")

    assert json.loads((home / "exploration.json").read_text())["images"]["train"] == 18


@pytest.mark.long
def test_train_is_rehearsed_and_what_it_left_is_compared_and_predicts(checkout):
    trained = rehearse("02_train", checkout, *QUICK, accelerator="cpu")
    compared = rehearse("03_compare", checkout)
    told = rehearse("04_predict", checkout, accelerator="cpu")  # with the internet off

    score = json.loads((trained / "metrics.json").read_text())["macro_f1"]
    found = json.loads((compared / "comparison.json").read_text())
    assert [run["macro_f1"] for run in found["runs"]] == pytest.approx([score])
    assert found["left_out"] == []
    assert (compared / "submission.csv").read_text() == (trained / "submission.csv").read_text()

    rows = list(csv.DictReader((told / "predictions.csv").read_text().splitlines()))
    submitted = list(csv.DictReader((told / "submission.csv").read_text().splitlines()))
    assert [row["photo"] for row in rows] == [row["id"] for row in submitted]
    assert len(rows) == 6
    classes = ["blue", "red", "yellow"]
    assert [row["class 1"] for row in rows] == [classes[int(r["label"])] for r in submitted]
    assert (told / "reliability.png").is_file()
