import csv
import json

import numpy as np
import pytest

from petals.comparison import ensembles
from petals.errors import DataError, SettingError
from petals.evaluation.metrics import Scores

DICE = np.random.default_rng(1)
LABELS = np.arange(600) % 6


def model(noise):
    rows = np.eye(6)[LABELS] + noise * DICE.standard_normal((600, 6))
    return np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)


def answers(path):
    with path.open() as file:
        return {row["id"]: int(row["label"]) for row in csv.DictReader(file)}


def test_models_that_err_apart_gain_together_and_the_gain_holds():
    stack = np.stack([model(0.8) for _ in range(4)])
    weights = ensembles.hill_climb(stack, LABELS)
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).sum() > 1
    judged = ensembles.held_out(stack, LABELS, repeats=5)
    assert judged.choice in ("mean", "weighted")
    assert judged.gains("mean").mean() > 0.02


def test_a_useless_model_gets_no_weight():
    assert ensembles.hill_climb(np.stack([model(0.3), model(50.0)]), LABELS)[0] > 0.9


def test_twins_gain_nothing_and_no_gain_is_claimed():
    one = model(0.8)
    judged = ensembles.held_out(np.stack([one, one]), LABELS, repeats=4)
    assert not judged.gains("mean").any()
    assert not judged.gains("weighted").any()
    assert judged.choice == "single"
    assert [row["gain"] for row in judged.rows()] == [0.0, 0.0, 0.0]


def test_an_overfitted_ensemble_shows_no_gain():
    noise = np.stack([DICE.dirichlet(np.ones(6), 600) for _ in range(8)])
    weights = ensembles.hill_climb(noise, LABELS)
    apparent = Scores.of(LABELS, ensembles.mix(noise, weights)).macro_f1 - 1 / 6
    judged = ensembles.held_out(noise, LABELS, repeats=10)
    assert apparent > 0.02
    assert abs(judged.scores["weighted"].mean() - 1 / 6) < 0.02


@pytest.mark.parametrize(("choice", "fitted"), [("mean", [1, 0]), ("weighted", [0.5, 0.5])])
def test_an_ensemble_submits_the_weighted_mean(choice, fitted, write_run, read, tmp_path):
    write_run("a", 0.9)
    write_run("b", 0.6)
    runs = read()
    assert ensembles.submit(runs, choice, np.array(fitted), tmp_path / "s.csv") == "a, b"
    ids, first = runs[0].test_predictions()
    expected = (first + runs[1].test_predictions()[1]).argmax(axis=1)
    assert answers(tmp_path / "s.csv") == dict(zip(ids.tolist(), expected, strict=True))


def test_runs_that_cannot_submit_together_are_named(write_run, read, tmp_path):
    write_run("a", 0.95)
    other = write_run("b", 0.5, test_ids=["x", "y"])
    weights, path = np.array([0.5, 0.5]), tmp_path / "submission.csv"
    with pytest.raises(DataError, match="different test images: a, b"):
        ensembles.submit(read(), "mean", weights, path)
    (other / "test_predictions.npz").unlink()
    with pytest.raises(DataError, match=r"b has no test probabilities .* run it again"):
        ensembles.submit(read(), "mean", weights, path)
    with pytest.raises(SettingError, match="auto, single, mean, weighted"):
        ensembles.submit(read(), "best", weights, path)
    assert not path.exists()


@pytest.mark.parametrize("labels", [np.arange(6), np.array([0, 0, 0, 1]), np.array([0, 1])])
def test_a_tiny_validation_set_is_halved_and_said(labels):
    rows = np.random.default_rng(0).dirichlet(np.ones(6), (2, len(labels)))
    halves = ensembles.held_out(rows, labels, 3)
    assert [len(scores) for scores in halves.scores.values()] == [3, 3, 3]
    (line,) = ensembles.warnings_of(labels)
    assert "one validation photo, which only one half can hold" in line
    assert ensembles.warnings_of(np.array([0, 0, 1, 1])) == []
    with pytest.raises(DataError, match="one validation photo cannot judge"):
        ensembles.held_out(rows[:, :1], labels[:1])


def test_an_ensemble_submits_what_one_of_its_runs_submits(write_run, read, tmp_path):
    write_run("earlier", 0.9)  # by a version that did not say it
    folder = write_run("a")
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics["data"]["submitted"] = ["10", "20", "30"]
    (folder / "metrics.json").write_text(json.dumps(metrics))
    runs = read()
    for choice in ("single", "mean"):
        ensembles.submit(runs, choice, np.ones(2), tmp_path / "s.csv")
        _, *rows = (tmp_path / "s.csv").read_text().split()
        assert {row.split(",")[1] for row in rows} <= {"10", "20", "30"}


def set_data(folder, **values):
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics["data"] |= values
    (folder / "metrics.json").write_text(json.dumps(metrics))


@pytest.mark.parametrize(
    ("of_a", "of_b", "partial"),
    [
        ({}, {"test_complete": False}, True),
        ({"test_complete": True}, {"test_complete": True}, False),
    ],
)
def test_a_submission_that_lacks_test_photos_is_called_partial(
    write_run, read, tmp_path, of_a, of_b, partial
):
    set_data(write_run("a"), **of_a)
    set_data(write_run("b"), **of_b)
    path = tmp_path / "submission.csv"
    for other in (path, tmp_path / "submission.partial.csv"):
        other.write_text("of an earlier comparison")
    said = ensembles.submit(read(), "mean", np.ones(2), path)
    assert ("submission.partial.csv lacks test photos" in said) is partial
    (written,) = tmp_path.glob("submission*.csv")
    assert written.name == ("submission.partial.csv" if partial else "submission.csv")
    assert len(written.read_text().split()) == 10


def test_a_trial_of_an_earlier_version_lacks_test_photos(write_run, read, tmp_path):
    write_run("a", limit=60)
    assert "lacks test photos" in ensembles.submit(
        read(), "single", np.ones(1), tmp_path / "submission.csv"
    )


def test_where_nothing_can_be_submitted_no_earlier_submission_stays(write_run, read, tmp_path):
    (write_run("a") / "test_predictions.npz").unlink()
    path = tmp_path / "submission.csv"
    path.write_text("of an earlier comparison")
    with pytest.raises(DataError, match="no test probabilities"):
        ensembles.submit(read(), "single", np.ones(1), path)
    assert not path.exists()


@pytest.mark.parametrize("lack", ["limit", "no test split"])
def test_the_best_run_is_not_submitted_if_it_lacks_test_photos(write_run, read, lack):
    best = write_run("best", 0.9)
    write_run("whole", 0.6)
    if lack == "limit":
        set_data(best, test_complete=False)
    else:
        (best / "test_predictions.npz").unlink()
    assert [run.name for run in read()] == ["best", "whole"]
    members, lines = ensembles.candidates(read())
    assert [run.name for run in members] == ["whole"]
    assert lines == ["not submitted, for lack of test photos: best"]


def test_where_all_runs_lack_test_photos_none_is_set_aside(write_run, read):
    for name in ("a", "b"):
        set_data(write_run(name), test_complete=False)
    members, lines = ensembles.candidates(read())
    assert len(members) == 2
    assert lines == []
