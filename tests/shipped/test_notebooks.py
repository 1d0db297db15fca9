"""The notebooks, pushed to a local Kaggle as a reader would push them."""

import csv
import io
import json
import shutil

import numpy as np
import pytest
from checkouts import ROOT
from sklearn.metrics import f1_score

from kernelkit.errors import AcceleratorMismatchError
from kernelkit.push.checks import preflight
from kernelkit.push.planned.plan import plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import push_kernel
from kernelkit.running.run_notebook import run_notebook

NOTEBOOKS = ROOT / "notebooks"
NAMES = ("00_first", "01_explore", "02_train", "03_compare", "04_predict", "05_custom_loop")
QUICK = ("backbone=SmallNet", "weights=none", "head=gradient")

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


def rehearse(name, checkout, *parameters, **options):
    stream = io.StringIO()
    notebook = checkout / "notebooks" / f"{name}.ipynb"
    try:
        return push_kernel(notebook, parameters, local=True, stream=stream, **options)
    except Exception:
        print(stream.getvalue())
        raise


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_notebooks_that_ship_have_nothing_that_stops_their_pushes_each_as_its_own_kernel():
    kernels = set()
    for name in NAMES:
        planned = plan_push(PushRequest.of(NOTEBOOKS / f"{name}.py"))
        assert planned.metadata.code_file.samefile(NOTEBOOKS / f"{name}.ipynb")
        found = preflight.run_checks(planned)
        assert [finding.text for finding in found if finding.level == "error"] == []
        kernels.add(planned.metadata.slug)
    assert len(kernels) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_push_carries_the_drawn_flowers(name):
    planned = plan_push(PushRequest.of(NOTEBOOKS / f"{name}.py"))
    places = [place for place, _ in planned.bundle.texts]
    assert "petals/data/source.py" in "\n".join(places)
    assert [place for place in places if "drawn_flowers" in place or ".tfrec" in place] == []


@pytest.mark.parametrize("name", ["00_first", "05_custom_loop"])
def test_notebooks_in_plain_keras_carry_no_model_no_training_and_nothing_that_writes_records(name):
    planned = plan_push(PushRequest.of(NOTEBOOKS / f"{name}.py"))
    places = [place for place, _ in planned.bundle.texts]
    others = ("models/", "training/", "augment/", "prepare/", "data/writing", "data/dataset")
    assert [
        place for place in places if place.startswith(tuple(f"petals/{o}" for o in others))
    ] == []


@pytest.mark.parametrize("name", ["00_first", "02_train"])
def test_a_push_of_the_drawn_flowers_is_refused(name):
    planned = plan_push(PushRequest.of(NOTEBOOKS / f"{name}.py", ("data=embedded",)))
    errors = [f.text for f in preflight.run_checks(planned) if f.level == "error"]
    assert any("data=embedded" in text and "works only locally" in text for text in errors)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "backend", "replicas"), [("cpu", "tensorflow", 1), ("tpu", "jax", 8)]
)
def test_the_first_notebook_runs_on_tensorflow_and_on_eight_devices_of_jax(
    checkout, kind, backend, replicas
):
    quick = ("weights=none", "width=0.25", "head_epochs=1", "epochs=1", "batch_size=1")
    run = rehearse("00_first", checkout, *quick, accelerator=kind)

    metrics = json.loads((run / "metrics.json").read_text())
    device = {name: metrics["device"][name] for name in ("kind", "backend", "replicas")}
    assert device == {"kind": kind, "backend": backend, "replicas": replicas}
    assert metrics["device"]["rehearsal"] == (kind == "tpu")
    assert metrics["parameters"]["accelerator"] == kind
    kept = np.load(run / "val_predictions.npz")
    answers = kept["probabilities"].argmax(axis=1)
    assert metrics["macro_f1"] == pytest.approx(f1_score(kept["labels"], answers, average="macro"))
    assert kept["ids"].tolist() == [f"{number:09x}" for number in range(18, 27)]  # 9 in two batches
    rows = rows_of(run / "submission.csv")
    assert [row["id"] for row in rows] == [f"{number:09x}" for number in range(27, 33)]
    history = rows_of(run / "history.csv")
    assert len(history) == metrics["epochs"] == 2
    # without the photos that fill up the last batch
    assert float(history[-1]["val_accuracy"]) == pytest.approx(metrics["accuracy"])
    assert float(history[-1]["val_loss"]) == pytest.approx(metrics["loss"], rel=1e-3)
    assert "macro F1" in (run / "report.html").read_text()


@pytest.mark.long
def test_the_first_notebook_stops_where_there_is_no_tpu(checkout, tmp_path):
    notebook = checkout / "notebooks" / "00_first.ipynb"
    with pytest.raises(AcceleratorMismatchError, match="no tpu: JAX sees"):
        run_notebook(notebook, {"accelerator": "tpu"}, output=tmp_path / "out", quiet=True)


@pytest.mark.long
def test_explore_is_rehearsed(checkout):
    shutil.copy(ROOT / "pyproject.toml", checkout)  # whose command finds the catalogue full
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

    rows = rows_of(told / "predictions.csv")
    submitted = rows_of(told / "submission.csv")
    assert [row["photo"] for row in rows] == [row["id"] for row in submitted]
    assert len(rows) == 6
    classes = ["blue", "red", "yellow"]
    assert [row["class 1"] for row in rows] == [classes[int(r["label"])] for r in submitted]
    assert (told / "reliability.png").is_file()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["cpu", "tpu"])
def test_the_custom_loop_gives_the_losses_of_fit_on_tensorflow_and_on_jax(checkout, kind):
    run = rehearse("05_custom_loop", checkout, "batch_size=1", accelerator=kind)

    rows = rows_of(run / "loop.csv")
    assert len(rows) == 3
    for row in rows:
        assert float(row["loss"]) == pytest.approx(float(row["fit_loss"]), rel=1e-3)
