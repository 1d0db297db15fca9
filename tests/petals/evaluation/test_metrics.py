"""The scores of labels and probabilities, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, precision_recall_fscore_support

from petals.evaluation.metrics import Scores


@pytest.mark.parametrize("classes", [2, 5, 30])
def test_scores_are_those_of_scikit_learn(classes):
    """Also where classes have no photos, or no answers, or neither."""
    rng = np.random.default_rng(classes)
    for _ in range(20):
        labels = rng.integers(0, classes, 40)
        rows = rng.dirichlet(np.full(classes, 0.5), 40)
        guesses = rows.argmax(axis=1)
        found = Scores.of(labels, rows)
        precision, recall, f1, _ = precision_recall_fscore_support(
            labels, guesses, average="macro", zero_division=0
        )
        assert found.macro_precision == pytest.approx(precision, rel=1e-12)
        assert found.macro_recall == pytest.approx(recall, rel=1e-12)
        assert found.macro_f1 == pytest.approx(f1, rel=1e-12)
        assert found.accuracy == accuracy_score(labels, guesses)
        rows = rows.clip(1e-7)
        expected = log_loss(labels, rows / rows.sum(axis=1, keepdims=True), labels=range(classes))
        assert found.loss == pytest.approx(expected, abs=1e-4)
