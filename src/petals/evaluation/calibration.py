"""Calibrated probabilities: temperature scaling, calibration error. No TensorFlow here.

Guo et al., "On Calibration of Modern Neural Networks", 2017: one number, fitted on the validation
set, divides the logits. The ranking of the classes, and so macro F1, does not change.

The mistakes decide how large it must be: without one, ever smaller temperatures look ever better.
So a temperature is drawn towards 1 and fitted to `ENOUGH` mistakes or more. If there are fewer, the
others are imagined, and the temperature is below 1 only if they leave it there; otherwise it is 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import softmax

BINS = 15  # equally wide bins of the confidence, as in Guo et al.
RANGE = (0.05, 20.0)  # the range of temperatures
ENOUGH = 5  # mistakes that a temperature must rest on
# The standard deviation of the logarithms of temperatures, as expected before a photo is seen: most
# temperatures lie between 1/2 and 2.
SPREAD = 0.7
_STEPS = 50  # of the bisection: the range shrinks to 1e-15 of itself
_TINY = 1e-12


@dataclass(frozen=True)
class Reliability:
    """The accuracy of answers by their confidence, float (bins,) each; NaN for an empty bin.

    `counts`: the number of answers in the bin; `confidence` and `accuracy`: their means.
    """

    counts: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, probabilities: np.ndarray, bins: int = BINS) -> Reliability:
        """The reliability of float (n, classes) probabilities against int (n,) labels."""
        sure = probabilities.max(axis=1).astype(np.float64)
        right = probabilities.argmax(axis=1) == labels
        at = np.minimum((sure * bins).astype(int), bins - 1)
        counts = np.bincount(at, minlength=bins).astype(np.float64)
        with np.errstate(invalid="ignore"):
            confidence = np.bincount(at, sure, bins) / counts
            accuracy = np.bincount(at, right.astype(np.float64), bins) / counts
        return cls(counts, confidence, accuracy)

    @classmethod
    def from_lists(cls, lists: Mapping[str, Sequence[float | None]]) -> Reliability:
        """The inverse of `as_lists`."""
        return cls(**{name: np.array(values, np.float64) for name, values in lists.items()})

    def as_lists(self) -> dict[str, list[float | None]]:
        """The columns for JSON, in which an empty bin has None."""
        lists = {}
        for name, column in vars(self).items():
            values = column.round(6).tolist()
            lists[name] = [None if np.isnan(value) else value for value in values]
        return lists

    @property
    def error(self) -> float:
        """The expected calibration error: the bins' mean gap, weighted by their counts."""
        gaps = np.nan_to_num(np.abs(self.accuracy - self.confidence))
        return float((gaps * self.counts).sum() / self.counts.sum())


def fit_temperature(
    labels: np.ndarray,
    probabilities: np.ndarray,
    label_smoothing: float = 0.0,
    spread: float = math.inf,
    imagined: int = 0,
) -> float:
    """The temperature with the least cross-entropy on labelled images, within `RANGE`.

    Above 1, the probabilities were overconfident; below 1, underconfident. `label_smoothing`: the
    share of each label that is first spread over all classes. `spread`: the standard deviation of
    a normal distribution around 0 from which the temperature's logarithm is taken to come, so that
    the result is the likeliest temperature; without end, the labels alone decide. `imagined`: as
    many images more, with the mean logits of the others, whose class is the second most likely.
    """
    logits = _logits(probabilities)
    count = len(labels)
    chosen = logits[np.arange(count), labels].mean()
    if imagined:
        place = -min(2, logits.shape[1])  # of a single class there is no second one
        second = np.partition(logits, place, axis=1)[:, place].mean()
        chosen = (count * chosen + imagined * second) / (count + imagined)
        count += imagined
    aim = (1 - label_smoothing) * chosen + label_smoothing * logits.mean()
    # The slope of the loss over the logarithm of 1 / temperature: the mean logit that the scaled
    # probabilities expect, less the labels' own, and the slope of the prior.
    low, high = -math.log(RANGE[1]), -math.log(RANGE[0])
    for _ in range(_STEPS):
        middle = (low + high) / 2
        scale = math.exp(middle)
        expected = (softmax(scale * logits) * logits).sum(axis=1).mean()
        slope = scale * (expected - aim) + middle / (spread**2 * count)
        if slope > 0:
            high = middle
        else:
            low = middle
    return math.exp(-(low + high) / 2)


def calibrated(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """float32 (n, classes) probabilities whose logits are divided by the temperature."""
    return softmax(_logits(probabilities) / temperature).astype(np.float32)


def _logits(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.clip(probabilities.astype(np.float64), _TINY, 1))


@dataclass(frozen=True)
class Calibration:
    """The temperature fitted on labelled images, and its effect on the probabilities.

    `before` and `after`: the reliability without and with the temperature; `note`: why the
    temperature is 1, "" where it was fitted.
    """

    temperature: float
    before: Reliability
    after: Reliability
    note: str = ""

    @classmethod
    def of(cls, labels: np.ndarray, probabilities: np.ndarray) -> Calibration:
        """Fit it on the validation set: float (n, classes) probabilities, int (n,) labels."""
        before = Reliability.of(labels, probabilities)
        mistakes = int((probabilities.argmax(axis=1) != labels).sum())
        lacking = max(0, ENOUGH - mistakes)
        temperature = fit_temperature(labels, probabilities, spread=SPREAD, imagined=lacking)
        if lacking and (temperature > 1 or math.isclose(temperature, 1)):
            note = (
                f"The temperature is 1: {mistakes} mistakes among {len(labels):,} validation "
                f"photos say too little about how sure the model should be (it takes {ENOUGH})."
            )
            return cls(1.0, before, before, note)
        after = Reliability.of(labels, calibrated(probabilities, temperature))
        return cls(temperature, before, after)
