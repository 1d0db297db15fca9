"""Initial values of Keras variables by NumPy, where Keras runs on JAX.

JAX compiles a program for each shape that it draws or fills. A model with its optimizer has
hundreds of shapes, and pretrained weights replace most of the values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

TRUNCATED = 2.0  # standard deviations, at which Keras cuts a normal distribution off


def draw_on_host(keras: ModuleType) -> None:
    """Have Keras's initializers draw and fill by NumPy from now on, with the same distributions.

    They return JAX's arrays, as before. For the same seed JAX would draw other values.
    """
    import jax

    initializers = keras.initializers
    module: Any = sys.modules[initializers.RandomNormal.__module__]
    if isinstance(module.random, _HostRandom):
        return

    def placed(values: np.ndarray, dtype: Any) -> Any:
        return jax.device_put(values.astype(keras.backend.standardize_dtype(dtype)))

    def filling(fill: Any) -> Any:
        return lambda _, shape, dtype=None: placed(fill(shape), dtype)

    module.random = _HostRandom(module.random, placed)
    initializers.Zeros.__call__, initializers.Ones.__call__ = filling(np.zeros), filling(np.ones)


class _HostRandom:
    """Keras's random functions, those with a number as seed by NumPy."""

    def __init__(self, keras_random: Any, placed: Any) -> None:
        self._keras_random, self._placed = keras_random, placed

    def __getattr__(self, name: str) -> Any:
        original, draw = getattr(self._keras_random, name), _DRAWS.get(name)
        if draw is None:
            return original

        def drawn(shape: Any, *, seed: Any = None, dtype: Any = None, **scale: float) -> Any:
            if not isinstance(seed, int):  # a SeedGenerator, whose state JAX holds
                return original(shape, seed=seed, dtype=dtype, **scale)
            return self._placed(draw(np.random.default_rng(abs(seed)), shape, **scale), dtype)

        return drawn


def _truncated(generator: np.random.Generator, shape: Any, mean: float, stddev: float) -> Any:
    values = generator.standard_normal(shape)
    while (far := np.abs(values) > TRUNCATED).any():
        values[far] = generator.standard_normal(far.sum())
    return mean + stddev * values


_DRAWS: dict[str, Callable[..., Any]] = {
    "truncated_normal": _truncated,
    "normal": lambda draw, shape, mean=0.0, stddev=1.0: draw.normal(mean, stddev, shape),
    "uniform": lambda draw, shape, minval=0.0, maxval=1.0: draw.uniform(minval, maxval, shape),
}
