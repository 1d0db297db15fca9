"""Ridge regression on powers of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ridge:
    """A fitted model: `degree` of the powers, the features' centre and scale, the weights."""

    degree: int
    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray

    @classmethod
    def fit(cls, features: np.ndarray, tonnes: np.ndarray, degree: int, penalty: float) -> Ridge:
        """Fit (rows, columns) `features` to (rows,) `tonnes`; the intercept is not penalised."""
        scale = features.std(axis=0)
        empty = cls(degree, features.mean(axis=0), np.where(scale > 0, scale, 1.0), np.empty(0))
        powers = empty._powers(features)
        weight = penalty * np.eye(powers.shape[1])
        weight[0, 0] = 0.0
        weights = np.linalg.pinv(powers.T @ powers + weight) @ powers.T @ tonnes
        return cls(degree, empty.centre, empty.scale, weights)

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Tonnes a hectare of each row, never below zero."""
        return np.maximum(self._powers(features) @ self.weights, 0.0)

    def _powers(self, features: np.ndarray) -> np.ndarray:
        scaled = (features - self.centre) / self.scale
        columns = [np.ones((len(scaled), 1)), *(scaled**power for power in self.powers)]
        return np.hstack(columns)

    @property
    def powers(self) -> range:
        """The powers of each feature that the model has a weight for."""
        return range(1, self.degree + 1)


def mae(truth: np.ndarray, predicted: np.ndarray) -> float:
    """The mean absolute error, tonnes a hectare: the competition's metric."""
    return float(np.abs(truth - predicted).mean())
