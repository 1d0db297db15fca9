import io
import json

import numpy as np
import pytest

from petals.comparison import runs as comparison
from petals.errors import DataError
from petals.evaluation.intervals import Intervals


@pytest.fixture
def glob(tmp_path):
    return str(tmp_path / "runs" / "*")


def test_what_differs_stands_beside_scores_and_times(write_run, glob):
    device = {"kind": "tpu", "name": "v5e TPU", "replicas": 8}
    write_run("wide", 0.9, backbone="VGG16", trainable_params=14_000_000, device=device)
    write_run("wide-again", 0.7, backbone="VGG16", seed=1, trainable_params=14_000_000)
    old = write_run("old", 0.5)
    metrics = json.loads((old / "metrics.json").read_text())
    del metrics["total_params"], metrics["trainable_params"]
    (old / "metrics.json").write_text(json.dumps(metrics | {"later_epoch_seconds": None}))
    runs, _ = comparison.read(glob)
    rows = comparison.ranking(runs).rows
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert "dropout" not in columns
    expected = {
        "backbone": ["VGG16", "VGG16", "SmallNet"],
        "seed": [0, 1, 0],
        "parameters": [5_000_000, 5_000_000, None],
        "trainable": [14_000_000, 14_000_000, None],
        "later epochs, s": [2.0, 2.0, None],
        "device": ["8 × v5e TPU", "1 × a CPU", "1 × a CPU"],
    }
    assert columns.items() >= expected.items()
    assert rows[0]["macro F1"] == runs[0].macro_f1
    intervals = Intervals.of(runs[0].labels, runs[0].probabilities)
    assert rows[0]["95 %"] == intervals.text("macro_f1") != "none"
    assert rows[0]["minutes"] == pytest.approx(10 / 60)


def test_several_globs_and_any_depth(write_run, tmp_path):
    write_run("a")
    write_run("sweep/b")
    (tmp_path / "runs" / "notes").mkdir()
    runs_read, _ = comparison.read(f"{tmp_path}/runs/a, {tmp_path}/runs/sweep/*")
    assert sorted(run.name for run in runs_read) == ["a", "sweep/b"]
    assert len(comparison.read(f"{tmp_path}/runs/**")[0]) == 2
    assert [run.name for run in comparison.read(f"{tmp_path}/runs/a")[0]] == ["a"]


def test_auto_takes_what_is_at_home_and_on_kaggle_what_is_attached(
    write_run, tmp_path, monkeypatch
):
    write_run("a")
    monkeypatch.chdir(tmp_path)
    assert [run.name for run in comparison.read("auto")[0]] == ["a"]

    mounts = tmp_path / "input"
    monkeypatch.setenv("KERNELKIT_INPUT_ROOT", str(mounts))
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    mounts.mkdir()
    with pytest.raises(DataError, match="kernel_sources"):
        comparison.read("auto")
    (tmp_path / "runs" / "a").rename(mounts / "a")
    write_run("b").rename(mounts / "b")
    assert sorted(run.path.name for run in comparison.read("auto")[0]) == ["a", "b"]


def no_numbers():
    file = io.BytesIO()
    rows = np.full((60, 3), np.nan)
    np.savez(file, ids=np.arange(60), labels=np.zeros(60, int), probabilities=rows)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", b'{"macro_f1": '),
        ("metrics.json", b'{"score": 3}'),
        ("metrics.json", b"[]"),
        ("metrics.json", b'{"parameters": [], "device": {}, "data": {}}'),
        ("val_predictions.npz", b"PK\3\4"),
        ("val_predictions.npz", no_numbers()),
        ("val_predictions.npz", None),
    ],
)
def test_damaged_runs_are_left_out_by_name(write_run, glob, name, content):
    write_run("good")
    path = write_run("bad") / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    runs, (skipped,) = comparison.read(glob)
    assert [run.name for run in runs] == ["good"]
    assert skipped.startswith("bad: ")
    assert "Errno" not in skipped


def test_without_any_run_it_says_what_to_do(write_run, glob):
    with pytest.raises(DataError, match="02_train"):
        comparison.read(glob)
    (write_run("bad") / "metrics.json").write_text("{")
    with pytest.raises(DataError, match="bad: "):
        comparison.read(glob)


def test_of_runs_on_as_many_other_photos_the_most_are_taken(write_run, glob):
    write_run("alone", ids=[f"x{i}" for i in range(60)])
    write_run("one", skill=0.9)
    write_run("two", skill=0.7)
    runs, skipped = comparison.read(glob)
    assert sorted(run.name for run in runs) == ["one", "two"]
    assert skipped == [
        "alone: validated on 60 other photos of 3 classes, and one on 60; to compare such runs, "
        "name them in runs=..."
    ]


def test_runs_on_the_same_photos_with_other_labels_are_told_as_that(write_run, glob):
    write_run("one")
    write_run("relabelled", labels=(1, 2, 0) * 20)
    runs, skipped = comparison.read(glob)
    assert len(runs) == 1
    assert skipped == ["relabelled: validated on the photos of one, with other labels or classes"]


def test_runs_on_more_photos_are_taken_however_many_trials_there_are(write_run, glob):
    few = {"labels": (0, 1, 2) * 3, "ids": tuple(f"{i:09x}" for i in range(9))}
    for number in range(3):
        write_run(f"trial{number}", 1.0, limit=9, **few)
    write_run("whole", 0.7)
    (run,), skipped = comparison.read(glob)
    assert run.name == "whole"
    assert len(skipped) == 3
    assert skipped[0] == (
        "trial0: validated on 9 other photos of 3 classes, as limit=9 says, and whole on 60; to "
        "compare such runs, name them in runs=..."
    )
