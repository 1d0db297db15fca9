"""The state of training as arrays: weights, the seeds of random layers, the optimizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tensorflow import keras

from petals.errors import CheckpointError


def capture(model: keras.Model) -> list[np.ndarray]:
    """The state of a compiled model as it is between two steps, also within `fit`."""
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()  # on JAX, fit holds it outside of the model
    return [variable.numpy() for variable in _variables(model)]


def restore(model: keras.Model, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Put captured state into a model compiled alike; returns the arrays beyond it.

    Raises `CheckpointError`, before anything is changed, when they are another model's.
    """
    variables = _variables(model)
    shapes = [tuple(variable.shape) for variable in variables]
    if [array.shape for array in arrays[: len(shapes)]] != shapes:
        raise CheckpointError(
            "the checkpoint is of another model: its variables have other shapes. Remove it, or "
            "set resume='never'"
        )
    for variable, array in zip(variables, arrays, strict=False):
        variable.assign(array)
    return list(arrays[len(shapes) :])


def _variables(model: keras.Model) -> list:
    model.optimizer.build(model.trainable_variables)
    known = {id(v) for v in model.weights}
    known |= {id(v) for metric in model.metrics for v in metric.variables}
    # What a Keras 3 model has besides weights and metrics is what its dropout draws from.
    seeds = [v for v in model.variables if id(v) not in known]
    return [*model.weights, *seeds, *model.optimizer.variables]
