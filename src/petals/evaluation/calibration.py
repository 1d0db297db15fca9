"""Calibrated probabilities: temperature scaling, calibration error. No TensorFlow here.

Guo et al., "On Calibration of Modern Neural Networks", 2017: one number, fitted on the validation
set, divides the logits. The ranking of the classes, and so macro F1, does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import softmax

BINS = 15  # equally wide bins of the confidence, as in Guo et al.
RANGE = (0.05, 20.0)  # the range of temperatures
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
        return {
            name: [None if np.isnan(value) else value for value in column.round(6).tolist()]
            for name, column in vars(self).items()
        }

    @property
    def error(self) -> float:
        """The expected calibration error: the bins' mean gap, weighted by their counts."""
        gaps = np.nan_to_num(np.abs(self.accuracy - self.confidence))
        return float((gaps * self.counts).sum() / self.counts.sum())


def fit_temperature(
    labels: np.ndarray, probabilities: np.ndarray, label_smoothing: float = 0.0
) -> float:
    """The temperature with the least cross-entropy on labelled images, within `RANGE`.

    Above 1, the probabilities were overconfident; below 1, underconfident. `label_smoothing`: the
    share of each label that is first spread over all classes.
    """
    logits = _logits(probabilities)
    chosen = logits[np.arange(len(labels)), labels].mean()
    aim = (1 - label_smoothing) * chosen + label_smoothing * logits.mean()
    # The loss is convex in 1 / temperature: its slope is the mean logit that the scaled
    # probabilities expect, less the labels' own.
    low, high = 1 / RANGE[1], 1 / RANGE[0]
    for _ in range(_STEPS):
        scale = (low + high) / 2
        expected = (softmax(scale * logits) * logits).sum(axis=1).mean()
        low, high = (low, scale) if expected > aim else (scale, high)
    return float(2 / (low + high))


def calibrated(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """float32 (n, classes) probabilities whose logits are divided by the temperature."""
    return softmax(_logits(probabilities) / temperature).astype(np.float32)


def _logits(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.clip(probabilities.astype(np.float64), _TINY, 1))


@dataclass(frozen=True)
class Calibration:
    """The temperature fitted on labelled images, and its effect on the probabilities.

    `before` and `after`: the reliability without and with the temperature.
    """

    temperature: float
    before: Reliability
    after: Reliability

    @classmethod
    def of(cls, labels: np.ndarray, probabilities: np.ndarray) -> Calibration:
        """Fit it on the validation set: float (n, classes) probabilities, int (n,) labels."""
        temperature = fit_temperature(labels, probabilities)
        after = Reliability.of(labels, calibrated(probabilities, temperature))
        return cls(temperature, Reliability.of(labels, probabilities), after)
