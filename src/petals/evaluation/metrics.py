"""Scores of predictions: macro F1, and the numbers that explain it. No TensorFlow here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support


@dataclass(frozen=True)
class Scores:
    """One split's scores. Macro means weight all classes equally, whatever their size.

    Classes counted are those that occur among labels or predictions, as in scikit-learn and the
    competition's metric; `loss` is the mean cross-entropy in nats.
    """

    macro_f1: float
    accuracy: float
    macro_precision: float
    macro_recall: float
    loss: float

    @classmethod
    def of(cls, labels: np.ndarray, probabilities: np.ndarray) -> Scores:
        """Scores of float (n, classes) probabilities against int (n,) labels."""
        predicted = probabilities.argmax(axis=1)
        right = predicted == labels
        classes = probabilities.shape[1]
        hits, guessed, true = (
            np.bincount(part, minlength=classes) for part in (labels[right], predicted, labels)
        )
        macro = macro_scores(hits, guessed, true)
        loss = cross_entropies(labels, probabilities).mean()
        return cls(
            **{name: float(value) for name, value in macro.items()},
            accuracy=float(right.mean()),
            loss=float(loss),
        )


def macro_scores(hits: np.ndarray, guessed: np.ndarray, true: np.ndarray) -> dict[str, np.ndarray]:
    """Macro F1, precision and recall from counts of each class, (classes,) or (rows, classes).

    `hits`: right answers; `guessed`: answers; `true`: photos. A class counts if it has photos or is
    guessed; without either, or without a hit, a share is 0.
    """
    number = ((guessed > 0) | (true > 0)).sum(axis=-1)
    shares = {
        "macro_precision": hits / np.maximum(guessed, 1),
        "macro_recall": hits / np.maximum(true, 1),
        "macro_f1": 2 * hits / np.maximum(guessed + true, 1),
    }
    return {name: share.sum(axis=-1) / number for name, share in shares.items()}


def chance(labels: np.ndarray, classes: int) -> dict[str, float]:
    """What answers without a look at the photos reach: {"macro_f1", "accuracy"} of int (n,) labels.

    That is the better of the most common class for every photo and of one of the `classes` at
    random for each, whose scores are those of the expected counts.
    """
    counts = np.bincount(labels, minlength=classes)
    number = len(labels)
    most = counts.max()
    of_constant = 2 * most / (number + most) / np.count_nonzero(counts)
    of_random = (2 * counts / (classes * counts + number)).sum() / classes
    return {
        "macro_f1": float(max(of_constant, of_random)),
        "accuracy": float(max(most / number, 1 / classes)),
    }


def cross_entropies(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The cross-entropy of each image in nats, float64 (n,); none counts for more than 16.2."""
    chosen = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return -np.log(np.clip(chosen, 1e-7, 1))


class ClassScore(NamedTuple):
    """One class's scores; `support` is its number of images."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def per_class(
    labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[ClassScore]:
    """Scores of every class that has images, the worst first."""
    columns = precision_recall_fscore_support(
        labels, probabilities.argmax(axis=1), labels=range(len(names)), zero_division=0
    )
    rows = zip(names, *(column.tolist() for column in columns), strict=True)
    scores = [score for score in map(ClassScore._make, rows) if score.support]
    return sorted(scores, key=lambda score: score.f1)


def confusion(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """int (classes, classes): rows are the truth, columns the prediction."""
    return confusion_matrix(
        labels, probabilities.argmax(axis=1), labels=range(probabilities.shape[1])
    )


def most_confused(
    labels: np.ndarray, probabilities: np.ndarray, most: int
) -> list[tuple[int, int, int]]:
    """(true label, prediction, images) of the most frequent mistakes, most frequent first."""
    matrix = confusion(labels, probabilities)
    np.fill_diagonal(matrix, 0)
    cells = np.argwhere(matrix)
    times = matrix[matrix > 0]
    order = np.argsort(-times, kind="stable")[:most]
    return [(*cells[at].tolist(), int(times[at])) for at in order]


def instructive(labels: np.ndarray, probabilities: np.ndarray, most: int) -> np.ndarray:
    """Positions worth a look: the most confident mistakes, then the least confident correct
    ones."""
    guesses, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = np.flatnonzero(guesses != labels)
    right = np.flatnonzero(guesses == labels)
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")][: most // 2]
    right = right[np.argsort(sure[right], kind="stable")][: most - len(wrong)]
    return np.concatenate([wrong, right])
