import csv

import numpy as np
import pytest
from sklearn.metrics import f1_score

from petals.comparison import ensembles
from petals.comparison import runs as comparison
from petals.errors import DataError, SettingError
from petals.plots import compare

DICE = np.random.default_rng(1)
LABELS = np.arange(600) % 6


def model(noise):
    rows = np.eye(6)[LABELS] + noise * DICE.standard_normal((600, 6))
    return np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)


@pytest.fixture
def read(tmp_path):
    return lambda: comparison.read(str(tmp_path / "runs" / "*"))[0]


def answers(path):
    with path.open() as file:
        return {row["id"]: int(row["label"]) for row in csv.DictReader(file)}


def test_macro_f1_is_that_of_scikit_learn():
    for classes in (2, 5, 30):
        truth, message = DICE.integers(0, classes, (2, 40))
        expected = f1_score(truth, message, average="macro", zero_division=0)
        assert ensembles.macro_f1(truth, message, classes) == pytest.approx(expected)


def test_models_that_err_apart_gain_together_and_the_gain_holds():
    stack = np.stack([model(0.8) for _ in range(4)])
    weights = ensembles.hill_climb(stack, LABELS)
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).sum() > 1
    judged = ensembles.held_out(stack, LABELS, repeats=5)
    assert judged.choice in ("mean", "weighted")
    assert judged.gain("mean")[0] > 0.02
    compare.held_out(judged).canvas.draw()


def test_a_useless_model_gets_no_weight():
    stack = np.stack([model(0.3), model(50.0)])
    assert ensembles.hill_climb(stack, LABELS)[0] > 0.9


def test_twins_gain_nothing_and_no_gain_is_claimed():
    one = model(0.8)
    judged = ensembles.held_out(np.stack([one, one]), LABELS, repeats=4)
    assert judged.gain() == (0.0, 0.0)
    assert judged.gain("mean") == (0.0, 0.0)
    assert not (judged.weighted > judged.single).any()


def test_an_overfitted_ensemble_shows_no_gain():
    noise = np.stack([DICE.dirichlet(np.ones(6), 600) for _ in range(8)])
    weights = ensembles.hill_climb(noise, LABELS)
    fitted = ensembles.mix(noise, weights).argmax(axis=1)
    apparent = ensembles.macro_f1(LABELS, fitted, 6) - 1 / 6
    judged = ensembles.held_out(noise, LABELS, repeats=10)
    assert apparent > 0.02
    assert abs(judged.weighted.mean() - 1 / 6) < 0.02


def test_one_run_submits_its_own_file(write_run, read, tmp_path):
    folder = write_run("a")
    ensembles.submit(read(), np.array([1.0]), tmp_path / "submission.csv")
    assert answers(tmp_path / "submission.csv") == answers(folder / "submission.csv")


def test_an_ensemble_submits_the_weighted_mean(write_run, read, tmp_path):
    write_run("a", 0.9)
    write_run("b", 0.6)
    runs = read()
    ensembles.submit(runs, np.array([0.5, 0.5]), tmp_path / "submission.csv")
    ids, first = runs[0].test_predictions()
    expected = (first + runs[1].test_predictions()[1]).argmax(axis=1)
    assert answers(tmp_path / "submission.csv") == dict(zip(ids.tolist(), expected, strict=True))


def test_runs_without_test_probabilities_fall_back_on_the_best(write_run, read, tmp_path):
    best = write_run("a", 0.95)
    (write_run("b", 0.5) / "test_predictions.npz").unlink()
    path = tmp_path / "submission.csv"
    message = ensembles.submit_or_best(read(), [0.5, 0.5], path)
    assert "b has no test probabilities" in message
    assert message.endswith("submission from a")
    assert answers(path) == answers(best / "submission.csv")
    with pytest.raises(DataError, match="run it again"):
        ensembles.submit_or_best(read(), [0.5, 0.5], path, insist=True)
    (best / "submission.csv").unlink()
    assert "no submission" in ensembles.submit_or_best(read(), [1.0, 0.0], path)


def test_other_test_images_are_refused(write_run, read, tmp_path):
    write_run("a")
    write_run("b", test_ids=["x", "y"])
    with pytest.raises(DataError, match="different test images"):
        ensembles.submit(read(), np.array([0.5, 0.5]), tmp_path / "submission.csv")
    assert not (tmp_path / "submission.csv").exists()


def test_choices_are_named():
    weights = np.array([0.2, 0.8])
    assert ensembles.weights_for("single", weights).tolist() == [1, 0]
    assert ensembles.weights_for("mean", weights).tolist() == [0.5, 0.5]
    with pytest.raises(SettingError, match="single, mean, weighted"):
        ensembles.weights_for("best", weights)
