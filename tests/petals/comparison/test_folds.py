import json

import numpy as np
import pytest

from petals.comparison import ensembles, runs

LABELS = np.arange(60) % 3
IDS = np.array([f"{i:09x}" for i in range(60)])


@pytest.fixture
def write_folds(write_run):
    """Writes a run for each of `which` of three folds; image i is of fold i % 3."""

    def write(name, which=range(3), **settings):
        for fold in which:
            own = np.arange(60) // 3 % 3 == fold
            write_run(
                f"{name}-{fold}",
                labels=LABELS[own],
                ids=IDS[own].tolist(),
                validation=f"fold:{fold + 1}/3",
                **settings,
            )

    return write


def test_out_of_fold_each_image_counts_once(write_folds, read):
    write_folds("a")
    (run,) = read()
    assert run.name == "a-0 to a-2 (3 folds)"
    assert sorted(run.ids.tolist()) == sorted(IDS)
    assert run.parameter("validation") == "folds"
    assert run.metrics["seconds"] == 30.0
    assert run.metrics["later_epoch_seconds"] == 2.0
    assert len(run.members) == 3
    assert runs.ranking([run]).rows[0]["run"] == run.name


def test_test_predictions_are_averaged_into_the_submission(write_folds, read, tmp_path):
    write_folds("a")
    (run,) = read()
    ids, mean = run.test_predictions()
    paths = (tmp_path / "runs").glob("*/test_predictions.npz")
    expected = np.mean([np.load(path)["probabilities"] for path in paths], axis=0)
    assert mean == pytest.approx(expected, abs=1e-6)
    assert ensembles.submit([run], "single", np.ones(1), tmp_path / "s.csv") == run.name
    rows = (tmp_path / "s.csv").read_text().split()[1:]
    assert rows == [f"{i},{label}" for i, label in zip(ids, expected.argmax(1), strict=True)]


def test_where_a_fold_is_missing_runs_stay_as_they_are(write_folds, read, tmp_path):
    write_folds("a", which=[0])
    write_folds("b", which=[0], backbone="VGG16")
    assert sorted(run.name for run in read()) == ["a-0", "b-0"]  # on the same photos
    write_folds("a", which=[1])
    assert sorted(run.name for run in read()) == ["a-0", "b-0"]
    incomplete, other = runs.read(str(tmp_path / "runs" / "*"))[1]
    assert incomplete == (
        "a-0, a-1: compared as single runs, since no run with the same parameters has fold:3/3"
    )
    assert other.startswith("a-1: validated on ")


def test_of_a_fold_that_ran_twice_the_later_run_counts_and_it_is_said(
    write_folds, write_run, read, tmp_path
):
    write_folds("a")
    own = np.arange(60) // 3 % 3 == 1
    fold = {"labels": LABELS[own], "ids": IDS[own].tolist(), "validation": "fold:2/3"}
    ends = {"a-1": "2026-03-02T00:00:00+00:00", "0": "2026-03-01T00:00:00+00:00"}
    write_run("0", **fold)
    for name, ended in ends.items():
        path = tmp_path / "runs" / name / "metrics.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "ended": ended}))
    (run,) = read()
    assert [member.name for member in run.members] == ["a-0", "a-1", "a-2"]
    (line,) = runs.read(str(tmp_path / "runs" / "*"))[1]
    assert line == "0: fold:2/3 ran again as a-1, which counts"


def test_folds_of_other_photos_are_not_joined(write_folds, read, tmp_path):
    write_folds("a")
    path = tmp_path / "runs" / "a-1" / "metrics.json"
    metrics = json.loads(path.read_text())
    metrics["data"] |= {"train": 50, "val": 20}
    path.write_text(json.dumps(metrics))
    assert [run.name for run in read()] == ["a-0"]  # as many photos as each of the others
    assert runs.read(str(tmp_path / "runs" / "*"))[1][0] == (
        "a-0, a-1, a-2: compared as single runs, since their folds are not of the same photos"
    )


def test_folds_that_share_an_image_are_not_joined(write_run, read):
    for fold in range(2):
        write_run(f"a-{fold}", validation=f"fold:{fold + 1}/2")
    assert len(read()) == 2
