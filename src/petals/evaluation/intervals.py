"""How well the validation photos tell a score: intervals by a bootstrap. No TensorFlow here.

The photos of each class are drawn with replacement, as many as there are (a bootstrap stratified
by class; Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13). The
classes keep their shares, and none is lost, which macro F1 would count as zero. Three photos that
are all recognised do not show that a class always is. So each class also draws from two photos of
any class, whose answers stand in as right or wrong ones for it: a smoothed bootstrap.

The interval is for the score that the model would have on endlessly many photos of these classes.
In simulations (tools/benchmark.py intervals: 5 to 104 classes, 3 to 30 photos of each or of very
different numbers, easy and hard ones) 95 % intervals held it in 91 to 98 of 100 cases; without the
stand-ins in 75 to 98. A score on as few other photos varies more, and the interval says
nothing of another training.

Of one or two photos a class hardly anything can be drawn, and of answers that do not differ within
a class, as without a mistake, only such answers: then there is no interval, and a note says why.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from petals.evaluation.metrics import Scores, cross_entropies, macro_scores

LEVEL = 0.95  # the share of the resamples' scores that lie within
RESAMPLES = 1000
SEED = 0
# Photos of any class that may be drawn for one of a class, answered in its place.
STAND_INS = 2
FEWEST = 3  # photos that half of the classes must have; with two, intervals miss a third of scores
_AT_ONCE = 2_000_000  # photos drawn at a time


@dataclass(frozen=True)
class Intervals:
    """The ends of an interval for each score, by its name, and how they were found.

    `note`: why there are none, "" if there are.
    """

    ends: dict[str, tuple[float, float]]
    level: float = LEVEL
    resamples: int = RESAMPLES
    seed: int = SEED
    note: str = ""

    @classmethod
    def of(
        cls,
        labels: np.ndarray,
        probabilities: np.ndarray,
        *,
        level: float = LEVEL,
        resamples: int = RESAMPLES,
        seed: int = SEED,
    ) -> Intervals:
        """Percentile intervals of `Scores`: float (n, classes) probabilities, int (n,) labels."""
        note = _why_none(labels, probabilities)
        if note:
            return cls({}, level, resamples, seed, note)
        drawn = resampled_scores(labels, probabilities, resamples, seed)
        tails = 50 * (1 - level), 100 - 50 * (1 - level)
        ends = {name: np.percentile(values, tails) for name, values in drawn.items()}
        rounded = {name: tuple(both.round(6).tolist()) for name, both in ends.items()}
        return cls(rounded, level, resamples, seed)

    def as_dict(self) -> dict[str, Any]:
        """The intervals as `metrics.json` holds them: [low, high] of each score, and the method."""
        method = {"level": self.level, "resamples": self.resamples, "seed": self.seed}
        note = {"note": self.note} if self.note else {}
        return {name: list(ends) for name, ends in self.ends.items()} | method | note

    def text(self, name: str) -> str:
        """`0.921 to 0.957` of a score; "none" where there is no interval."""
        if name not in self.ends:
            return "none"
        low, high = self.ends[name]
        return f"{low:.3f} to {high:.3f}"

    def __str__(self) -> str:
        if self.note:
            return self.note
        share = f"{100 * self.level:.0f} %"
        return f"{share} interval of macro F1: {self.text('macro_f1')}"


def _why_none(labels: np.ndarray, probabilities: np.ndarray) -> str:
    """Why a bootstrap would mislead, "" if it would not."""
    _, counts = np.unique(labels, return_counts=True)
    if np.median(counts) < FEWEST:
        return (
            f"The scores have no interval: half of the classes have fewer than {FEWEST} validation "
            "photos, so the scores may be far off."
        )
    predicted = probabilities.argmax(axis=1)
    answers = np.unique(predicted)
    if len(answers) == 1:
        return (
            "The scores have no interval: the model gives every photo the same class, so it "
            "tells none of them apart."
        )
    if (predicted == labels).all():
        return (
            f"The scores have no interval: no answer is wrong. On other photos up to "
            f"{min(1.0, 3 / len(labels)):.1%} of the answers may still be (the rule of three)."
        )
    if len(np.unique(np.stack([labels, predicted]), axis=1).T) == len(counts):
        return (
            "The scores have no interval: the model gives all photos of a class the same answer, "
            "so drawing other photos of it changes nothing."
        )
    return ""


def resampled_scores(
    labels: np.ndarray, probabilities: np.ndarray, resamples: int, seed: int
) -> dict[str, np.ndarray]:
    """float (resamples,) for each of `Scores`, with the photos of each class drawn anew.

    The scores are those of `Scores.of` on the drawn photos. Each is drawn from the photos of its
    class and from `STAND_INS`: photos of any class, whose right answer is taken as one for this
    class, and whose wrong answer stays wrong.
    """
    classes = probabilities.shape[1]
    order = np.argsort(labels, kind="stable")
    labels = labels[order]
    predicted = probabilities.argmax(axis=1)[order]
    losses = cross_entropies(labels, probabilities[order])
    _, first, counts = np.unique(labels, return_index=True, return_counts=True)
    first, counts = np.repeat(first, counts), np.repeat(counts, counts)  # of each photo's class
    true = np.bincount(labels, minlength=classes)
    rng = np.random.default_rng(seed)
    parts = []
    at_once = max(1, _AT_ONCE // len(labels))
    for begin in range(0, resamples, at_once):
        rows = min(at_once, resamples - begin)
        drawn = first + (rng.random((rows, len(labels))) * counts).astype(int)
        guesses = predicted[drawn]
        stands_in = rng.random(drawn.shape) < STAND_INS / (counts + STAND_INS)
        others = rng.integers(0, len(labels), drawn.shape)
        guesses = np.where(stands_in, _in_place_of(labels, predicted, others), guesses)
        drawn = np.where(stands_in, others, drawn)
        right = guesses == labels
        offsets = classes * np.arange(rows)[:, None]
        shape = (rows, classes)
        guessed = np.bincount((guesses + offsets).ravel(), minlength=rows * classes)
        hits = np.bincount((labels + offsets)[right], minlength=rows * classes)
        parts.append(macro_scores(hits.reshape(shape), guessed.reshape(shape), true))
        parts[-1]["accuracy"] = right.mean(axis=1)
        parts[-1]["loss"] = losses[drawn].mean(axis=1)
    names = [field.name for field in fields(Scores)]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _in_place_of(labels: np.ndarray, predicted: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The answers for other photos, int (rows, n), as answers for photos of the classes `labels`.

    A right answer is the class itself. A wrong one stays as it is, except where it is this class:
    then it is the class that it was wrong about.
    """
    given = predicted[others]
    true = labels[others]
    wrong = np.where(given == labels, true, given)
    return np.where(given == true, labels, wrong)
