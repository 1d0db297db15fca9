"""The plain metrics against scikit-learn's."""

from __future__ import annotations

import random
import sys

import pytest
import sklearn.metrics as theirs

from local_kaggle.competitions import metrics
from local_kaggle.competitions.metrics import MetricError, find_metric

CLASSES = {
    "accuracy": theirs.accuracy_score,
    "f1_macro": lambda truth, predicted: theirs.f1_score(truth, predicted, average="macro"),
}
NUMBERS = {
    "mae": theirs.mean_absolute_error,
    "rmse": theirs.root_mean_squared_error,
    "rmsle": theirs.root_mean_squared_log_error,
}
BINARY = {"log_loss": theirs.log_loss, "roc_auc": theirs.roc_auc_score}


def test_all_are_compared():
    assert {*CLASSES, *NUMBERS, *BINARY} == set(metrics.NAMES)


@pytest.mark.parametrize("seed", range(20))
def test_the_plain_metrics_are_scikit_learns(seed):
    rng = random.Random(seed)
    count = rng.randint(2, 40)
    truth = [rng.randint(0, 4) for _ in range(count)]
    predicted = [rng.randint(0, 5) for _ in range(count)]
    for name, expected in CLASSES.items():
        assert find_metric(name)(truth, predicted) == pytest.approx(expected(truth, predicted))
    numbers = [rng.expovariate(0.1) for _ in range(count)]
    guesses = [rng.expovariate(0.1) for _ in range(count)]
    for name, expected in NUMBERS.items():
        assert find_metric(name)(numbers, guesses) == pytest.approx(expected(numbers, guesses))
    binary = [0.0, 1.0] + [float(rng.randint(0, 1)) for _ in range(count)]
    chances = [rng.randint(0, 10) / 10 for _ in binary]  # with ties, and with certainties
    for name, expected in BINARY.items():
        assert find_metric(name)(binary, chances) == pytest.approx(expected(binary, chances))


@pytest.mark.parametrize(
    ("name", "truth", "predicted", "words"),
    [
        ("log_loss", [0, 1], [0.5, 1.5], "probabilities between 0 and 1"),
        ("roc_auc", [1, 1], [0.5, 0.5], "answers of both classes"),
        ("rmsle", [1, 1], [-2.0, 0.5], "values above -1"),
        ("r2_score", ["a"], ["b"], "r2_score cannot be computed"),
    ],
)
def test_a_metric_that_is_not_defined_says_so(name, truth, predicted, words):
    with pytest.raises(MetricError, match=words):
        find_metric(name)(truth, predicted)


def test_without_scikit_learn_only_the_plain_ones_serve(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    assert find_metric("rmse")([1.0], [3.0]) == 2.0
    with pytest.raises(MetricError, match="install scikit-learn"):
        find_metric("r2_score")
