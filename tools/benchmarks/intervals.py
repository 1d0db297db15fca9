"""Intervals of scores: how often they hold the score on endlessly many photos.

Models that are as sure as random numbers make them answer for drawn sets of photos, whose true
scores are known.
"""

from collections import defaultdict
from typing import Any

import numpy as np

CLASSES = (5, 17, 104)
PHOTOS = (3, 5, 10, 30)  # to validate on, of a class: of each, or about so many
TASKS, SETS = 5, 8  # models for each kind of task, and sets of photos for each model
DIFFICULTY = {"easy": (0.95, 0.95), "middle": (0.8, 0.8), "hard": (0.5, 0.5), "mixed": (0.2, 0.99)}
RESAMPLES = 400


def run() -> dict[str, Any]:
    """The share of intervals with the true score: of macro F1, and of the accuracy.

    A row for each number of photos a class and each difficulty: the share of right answers in a
    class, which in a mixed task differs from class to class.
    """
    rng = np.random.default_rng(0)
    result: dict[str, Any] = {}
    for photos in PHOTOS:
        for name, ends in DIFFICULTY.items():
            inside: dict[str, list[bool]] = defaultdict(list)
            for classes in CLASSES:
                for balanced in (True, False):
                    for _ in range(TASKS):
                        counts = _counts(rng, classes, photos, balanced)
                        _add(rng, inside, counts, rng.uniform(*ends, classes))
            shares = {score: round(float(np.mean(all_)), 3) for score, all_ in inside.items()}
            result[f"{photos} photos, {name}"] = shares
    return result


def _counts(rng: np.random.Generator, classes: int, photos: int, balanced: bool) -> np.ndarray:
    """Photos of each class; half of the classes have three or more."""
    if balanced:
        return np.full(classes, photos)
    while True:
        shares = np.exp(rng.normal(0, 1, classes))
        counts = np.maximum(1, np.round(shares / shares.mean() * photos)).astype(int)
        if np.median(counts) >= 3:
            return counts


def _add(
    rng: np.random.Generator,
    inside: dict[str, list[bool]],
    counts: np.ndarray,
    skill: np.ndarray,
) -> None:
    """Whether the intervals of `SETS` sets of photos hold the true scores of one model."""
    from petals.evaluation.intervals import Intervals

    classes = len(counts)
    answers = np.zeros((classes, classes))  # the share of each answer, by true class
    for truth in range(classes):
        others = np.arange(classes) != truth
        answers[truth, others] = (1 - skill[truth]) * rng.dirichlet(np.full(classes - 1, 0.3))
        answers[truth, truth] = skill[truth]
    expected = counts[:, None] * answers
    hits = expected.diagonal()
    true = {
        "macro_f1": float((2 * hits / (expected.sum(axis=0) + counts)).mean()),
        "accuracy": float(hits.sum() / counts.sum()),
    }
    labels = np.repeat(np.arange(classes), counts)
    for _ in range(SETS):
        guesses = [rng.choice(classes, n, p=row) for n, row in zip(counts, answers, strict=True)]
        found = Intervals.of(labels, np.eye(classes)[np.concatenate(guesses)], resamples=RESAMPLES)
        for score, value in true.items():
            if score in found.ends:
                low, high = found.ends[score]
                inside[score].append(low <= value <= high)
