"""The notebooks that explore and compare, executed as a reader would."""

import base64
import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from checkouts import ROOT
from records import jpeg

from kernelkit.errors import DataError, ParameterError
from kernelkit.pages.one_run.report_page import report_run
from kernelkit.running.run_notebook import run_notebook
from petals.data import layout, records, writing
from petals.run_folder import RESULTS
from petals.settings import from_scratch

NOTEBOOKS = ROOT / "notebooks"

pytestmark = [
    pytest.mark.long,
    # jupyter_client and nbformat of the desk, which papermill calls in the old way
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


def execute(name, tmp_path, report=False, **given):
    return run_notebook(
        NOTEBOOKS / f"{name}.ipynb",
        given,
        output=tmp_path / "out",
        report=report_run if report else None,
        quiet=True,
    )


def train(dataset, tmp_path, report=False, **given):
    small = {"data": str(dataset), "image_size": 32, "backbone": "SmallNet", "weights": "none"}
    return execute("02_train", tmp_path, report, **(small | given))


def read(run, name):
    return json.loads((run.folder / name).read_text())


def outputs_of(folder):
    notebook = nbformat.read(folder / "run.ipynb", as_version=4)
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def printed(run):
    outputs = outputs_of(run.folder)
    return "".join(o.get("text", "") for o in outputs if o.output_type == "stream")


def pictures(run):
    outputs = outputs_of(run.folder)
    return sum("<figcaption>" in o.get("data", {}).get("text/html", "") for o in outputs)


def lost_figures(run):
    """Names of the figures in a run's folder that are not in its report."""
    page = run.report.read_text()
    figures = sorted([*run.folder.glob("*.png"), *run.folder.glob("*.jpg")])
    assert figures
    inside = {name: base64.b64encode(name.read_bytes()).decode() in page for name in figures}
    return [name.stem for name, there in inside.items() if not there]


def test_every_figure_of_a_training_is_in_its_report(dataset, tmp_path):
    tuning = {"fine_tune": "all", "epochs": 1, "batch_size": 8}
    run = train(dataset, tmp_path, report=True, head="gradient", **tuning)
    assert lost_figures(run) == []
    names = {"gallery", "classes", "curves", "class_scores", "confusion", "predictions"}
    names |= {"reliability", "head_schedule", "augmentation", "schedule"}
    assert {path.stem for path in run.folder.iterdir() if path.suffix in (".png", ".jpg")} == names
    left = {path.name for path in run.folder.iterdir() if path.is_file()}
    assert left - {"run.ipynb", "report.html"} <= set(RESULTS)
    parts = ["Score by class", "Confusion matrix"]
    parts += ["Most confident mistakes"] if read(run, "mistakes.json") else []
    for part in parts:
        assert f"<h2>{part}</h2>" in run.report.read_text()


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """No weights here, and no network that they could come from."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))


def test_offline_a_training_that_chose_nothing_takes_the_small_network_and_says_so(
    dataset, tmp_path, offline
):
    given = {"data": str(dataset), "image_size": 33, "accelerator": "cpu"}
    run = execute("02_train", tmp_path, report=True, **given)
    metrics = read(run, "metrics.json")
    ran = from_scratch({**metrics["parameters"], "views": 0})
    assert metrics["parameters"] == ran  # what ran, and not what was left open
    assert metrics["parameters"]["image_size"] == 33
    said = "The weights of EfficientNetB0 could not be downloaded to this machine, so SmallNet"
    assert any(warning.startswith(said) for warning in metrics["warnings"])
    assert said in run.report.read_text()


def test_offline_a_chosen_backbone_without_weights_stops_the_training(dataset, tmp_path, offline):
    with pytest.raises(DataError, match="weights of MobileNet could not be downloaded"):
        execute("02_train", tmp_path, data=str(dataset), image_size=32, backbone="MobileNet")


def test_offline_the_first_notebook_takes_a_small_network_and_says_so(dataset, tmp_path, offline):
    given = {"data": str(dataset), "image_size": 32, "accelerator": "cpu"}
    run = execute("00_first", tmp_path, **given)
    metrics = read(run, "metrics.json")
    ran = {"weights": "none", "head_epochs": 0, "epochs": 12, "learning_rate": 0.003}
    assert metrics["parameters"].items() >= ran.items()
    assert metrics["epochs"] == 12
    assert any("a small network learns from scratch" in each for each in metrics["warnings"])


def test_layers_that_are_not_there_are_refused_before_the_head_is_trained(dataset, tmp_path):
    with pytest.raises(ParameterError, match="no layer's name begins with 'petal'"):
        train(dataset, tmp_path, fine_tune="block:petal")
    assert not (tmp_path / "out" / "history.csv").exists()


def test_photos_without_val_and_test_are_trained_on_in_folds_and_submit_nothing(copied, tmp_path):
    for split in ("val", "test"):
        shutil.rmtree(copied / "tfrecords-jpeg-32x32" / split)
    run = train(copied, tmp_path, validation="fold:1/5")
    assert "no submission: the data has no test photos" in printed(run)
    assert not (run.folder / "submission.csv").exists()
    assert read(run, "metrics.json")["data"]["test"] == 0


def test_a_wrong_place_of_data_deletes_nothing_of_an_earlier_run(copied, tmp_path):
    run = train(copied, tmp_path)
    before = {path.name for path in run.folder.iterdir() if path.is_file()}
    with pytest.raises(DataError, match="no data at"):
        train(tmp_path / "nowhere", tmp_path)
    aside = run.folder / ".kernelkit" / "earlier" / "1"
    kept = {path.name for path in [*run.folder.iterdir(), *aside.iterdir()]}
    assert before <= kept


def test_the_first_notebook_trains_without_test_photos_and_warns(copied, tmp_path):
    shutil.rmtree(copied / "tfrecords-jpeg-32x32/test")
    (copied / "classes.json").write_text('["blue", "red", "yellow", "black"]')
    given = {"data": str(copied), "image_size": 32, "weights": "none", "width": 0.25}
    run = execute("00_first", tmp_path, head_epochs=0, epochs=0, accelerator="cpu", **given)
    assert "no submission: there are no test photos" in printed(run)
    of_train, of_val, of_scores = read(run, "metrics.json")["warnings"]
    assert "no training photo" in of_train
    assert "no val" in of_val
    assert "the model gives every photo the same class" in of_scores
    assert "warning: 1 of 4 classes have no training photo" in printed(run)


def test_explore_tells_what_is_in_the_data_and_finds_twins(copied, splits, tmp_path):
    leaked = replace(next(splits[0].examples()), id="leaked")
    place = Path(writing.folder(copied, 32, "val"), writing.shard_name(9, 32, 1))
    writing.write_shard(place, [leaked])

    given = {"data": str(copied), "image_size": 32, "seconds": 0.1}
    run = execute("01_explore", tmp_path, report=True, **given)
    assert lost_figures(run) == []
    assert pictures(run) >= 2
    kept = read(run, "exploration.json")
    assert kept["images"] == {"train": 50, "val": 22, "test": 13}
    assert kept["balance"]["smallest"] == 16
    assert kept["problems"] == []
    assert kept["images_per_second"] > 0
    twins = [(row["splits"], row["same bytes"]) for row in kept["duplicates"]]
    assert twins == [("train and val", 1)]
    assert "3 classes; train, val, test\n" in printed(run)


def first(dataset, tmp_path, report=False, **given):
    small = {"data": str(dataset), "image_size": 32, "weights": "none", "width": 0.25}
    return execute("00_first", tmp_path, report, accelerator="cpu", **(small | given))


def test_the_first_notebook_shows_photos_curves_and_mistakes(dataset, tmp_path):
    run = first(dataset, tmp_path, report=True, head_epochs=1, epochs=1)
    figures = {path.stem for path in run.folder.iterdir() if path.suffix in (".png", ".jpg")}
    assert figures == {"gallery", "augmentation", "curves", "mistakes"}
    assert lost_figures(run) == []
    assert pictures(run) == 4
    errors = [out["text"] for out in outputs_of(run.folder) if out.get("name") == "stderr"]
    assert errors == []  # no red box
    text = printed(run)
    assert [n for n in (1, 2, 3) if f"epoch {n}: accuracy" in text] == [1, 2]
    with (run.folder / "history.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2
    assert read(run, "metrics.json")["parameters"]["quick"] == "yes"  # at home


def test_the_first_notebook_resizes_photos_of_other_sizes(dataset, tmp_path):
    run = first(dataset, tmp_path, image_size=40, head_epochs=0, epochs=1)
    assert read(run, "metrics.json")["data"]["image_size"] == 40
    assert layout.sizes(dataset) == [32]


def test_the_first_notebook_trains_for_no_epochs(dataset, tmp_path):
    run = first(dataset, tmp_path, head_epochs=0, epochs=0)
    metrics = read(run, "metrics.json")
    assert metrics["epochs"] == 0
    assert 0.3 < metrics["chance"]["accuracy"] < 1


def test_compare_many_runs_with_pictures(write_run, dataset, splits, tmp_path):
    labels, ids = splits[1].labels_and_ids()
    own = {"labels": labels, "ids": ids, "data": str(dataset)}
    write_run("a", 0.9, **own)
    write_run("b", 0.6, dropout=0.5, **own)
    write_run("c", 0.7, seed=1, device={"kind": "tpu", "name": "TPU v5e", "replicas": 8}, **own)
    (write_run("broken", **own) / "metrics.json").write_text("{")

    run = execute("03_compare", tmp_path, report=True, runs=str(tmp_path / "runs" / "*"), repeats=3)
    assert lost_figures(run) == []
    kept = read(run, "comparison.json")
    assert sorted(row["name"] for row in kept["runs"]) == ["a", "b", "c"]
    assert kept["left_out"][0].startswith("broken: ")
    assert [row["submission"] for row in kept["held_out"]] == ["single", "mean", "weighted"]
    assert sum(row["weight"] for row in kept["weights"]) == pytest.approx(1)
    with (run.folder / "submission.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 9
    assert pictures(run) >= 2
    assert "left out: broken" in printed(run)


def test_compare_one_run_says_what_it_cannot_show(write_run, tmp_path):
    folder = write_run("alone")
    run = execute("03_compare", tmp_path, runs=str(folder))
    message = printed(run)
    for line in ("1 run on 60", "nothing to compare it with", "no pictures: no data at 'nowhere'"):
        assert line in message
    assert read(run, "comparison.json")["held_out"] is None
    assert (run.folder / "submission.csv").read_text() == (folder / "submission.csv").read_text()


def test_a_fold_trains_with_more_data_but_what_is_in_the_test_split(dataset, tmp_path):
    more, (test,) = tmp_path / "more", writing.shard_paths(dataset, 32, "test")
    leaked = [records.Example(e.image, f"x{e.id}", 0) for e in records.read(test)][:2]
    new = [records.Example(jpeg(901 + 3 * n, 32), f"new{n}", 1) for n in range(8)]
    folder = Path(writing.folder(more, 32, "train"))
    writing.write_shard(folder / writing.shard_name(0, 32, 10), [*leaked, *new])
    (more / "classes.json").write_text('["blue", "Red", "yellow"]')
    given = {"data": f"{dataset},{more}", "validation": "fold:2/2"}
    run = train(dataset, tmp_path, head="gradient", **given)
    metrics = read(run, "metrics.json")
    assert metrics["data"]["train"] + metrics["data"]["val"] == 50 + 21 + 8
    assert metrics["added"][0]["twins"]["test"] == 2
    assert (run.folder / "twins.csv").read_text().count(",test,") == 2


def test_a_last_run_trains_on_everything_and_claims_no_score(dataset, tmp_path):
    run = train(dataset, tmp_path, head="gradient", validation="none")
    metrics = read(run, "metrics.json")
    assert metrics["data"]["train"] == 71
    assert metrics["macro_f1"] is None
    assert not (run.folder / "val_predictions.npz").exists()
    assert (run.folder / "submission.csv").is_file()
    assert "was trained on its validation photos" in printed(run)
    assert "none: trained on the validation photos" in (run.folder / "model_card.md").read_text()
