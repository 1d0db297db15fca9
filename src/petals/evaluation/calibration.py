"""Calibrated probabilities: temperature scaling, calibration error. No TensorFlow here.

Guo et al., "On Calibration of Modern Neural Networks", 2017: one number, fitted on the validation
set, divides the logits. The ranking of the classes, and so macro F1, does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

BINS = 15  # equally wide bins of the confidence, as in Guo et al.
RANGE = (0.05, 20.0)  # the range of temperatures
_STEPS = 60  # of the golden-section search: the range shrinks to 1e-12 of itself
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
        """The inverse of `as_lists`; raises `KeyError`, `TypeError` or `ValueError` for others."""
        names = ("counts", "confidence", "accuracy")
        columns = [
            np.array([np.nan if v is None else v for v in lists[name]], np.float64)
            for name in names
        ]
        if len({column.shape for column in columns}) > 1 or not columns[0].size:
            raise ValueError("columns of a reliability must have one length")
        return cls(*columns)

    def as_lists(self) -> dict[str, list[float | None]]:
        """The columns for JSON, in which an empty bin has None."""
        return {
            name: [None if np.isnan(v) else round(float(v), 6) for v in getattr(self, name)]
            for name in ("counts", "confidence", "accuracy")
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
    logits = np.log(np.clip(probabilities.astype(np.float64), _TINY, 1))
    rows = np.arange(len(labels))

    def loss(scale: float) -> float:
        scaled = logits * scale
        scaled -= scaled.max(axis=1, keepdims=True)
        aim = (1 - label_smoothing) * scaled[rows, labels] + label_smoothing * scaled.mean(axis=1)
        return float((np.log(np.exp(scaled).sum(axis=1)) - aim).mean())

    # The loss is convex in 1 / temperature, so a golden-section search finds its minimum.
    low, high = 1 / RANGE[1], 1 / RANGE[0]
    golden = (np.sqrt(5) - 1) / 2
    inner, outer = high - golden * (high - low), low + golden * (high - low)
    at_inner, at_outer = loss(inner), loss(outer)
    for _ in range(_STEPS):
        if at_inner < at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - golden * (high - low)
            at_inner = loss(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + golden * (high - low)
            at_outer = loss(outer)
    return float(2 / (low + high))


def calibrated(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """float32 (n, classes) probabilities whose logits are divided by the temperature."""
    logits = np.log(np.clip(probabilities.astype(np.float64), _TINY, 1)) / temperature
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (exponents / exponents.sum(axis=1, keepdims=True)).astype(np.float32)


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
