"""Scores of predictions: macro F1, and the numbers that explain it. No TensorFlow here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support


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
        precision, recall, f1, _ = precision_recall_fscore_support(
            labels, predicted, average="macro", zero_division=0
        )
        chosen = probabilities[np.arange(len(labels)), labels].astype(np.float64)
        loss = -np.log(np.clip(chosen, 1e-7, 1)).mean()
        accuracy = accuracy_score(labels, predicted)
        return cls(*(float(v) for v in (f1, accuracy, precision, recall, loss)))


@dataclass(frozen=True)
class ClassScore:
    """One class's scores; `support` is its number of images."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def per_class(
    labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str]
) -> list[ClassScore]:
    """Scores of every class in label order, including those without images."""
    columns = precision_recall_fscore_support(
        labels, probabilities.argmax(axis=1), labels=range(len(names)), zero_division=0
    )
    return [
        ClassScore(name, float(p), float(r), float(f), int(n))
        for name, p, r, f, n in zip(names, *columns, strict=True)
    ]


def confusion(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """int (classes, classes): rows are the truth, columns the prediction."""
    classes = range(probabilities.shape[1])
    return confusion_matrix(labels, probabilities.argmax(axis=1), labels=classes)


def most_confused(
    labels: np.ndarray, probabilities: np.ndarray, names: Sequence[str], most: int = 10
) -> list[tuple[str, str, int]]:
    """(truth, prediction, images) of the most frequent mistakes, most frequent first."""
    matrix = confusion(labels, probabilities)
    np.fill_diagonal(matrix, 0)
    order = np.argsort(-matrix, axis=None, kind="stable")[:most]
    rows, columns = np.unravel_index(order, matrix.shape)
    return [
        (names[r], names[c], int(matrix[r, c]))
        for r, c in zip(rows, columns, strict=True)
        if matrix[r, c]
    ]


def examples(
    labels: np.ndarray, probabilities: np.ndarray, truth: int, guess: int
) -> tuple[int, int | None]:
    """Positions of the most confident `guess` for an image of `truth`, and the likeliest `guess`.

    The second is the image of that class to which the model gave the class's highest probability,
    None where there is no image of it. Raises `ValueError` where `guess` was predicted for no image
    of `truth`.
    """
    guesses, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    mistaken = np.flatnonzero((labels == truth) & (guesses == guess))
    own = np.flatnonzero(labels == guess)
    first = int(mistaken[sure[mistaken].argmax()])
    return first, int(own[probabilities[own, guess].argmax()]) if len(own) else None


def instructive(labels: np.ndarray, probabilities: np.ndarray, most: int) -> np.ndarray:
    """Positions worth a look: the most confident mistakes, then the least confident correct
    ones."""
    guesses, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = np.flatnonzero(guesses != labels)
    right = np.flatnonzero(guesses == labels)
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")][: most // 2]
    right = right[np.argsort(sure[right], kind="stable")][: most - len(wrong)]
    return np.concatenate([wrong, right])
