"""The state of training as arrays: weights, the seeds of random layers, the optimizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tensorflow import keras

from petals.accelerators import keras_backend
from petals.errors import CheckpointError


def capture(model: keras.Model) -> list[np.ndarray]:
    """The state of a compiled model between two steps, also during `fit`."""
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()  # on JAX, fit holds the state outside of the model
    return [variable.numpy() for variable in _variables(model)]


def restore(model: keras.Model, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Assign captured state to a model compiled the same way; return the arrays that are left.

    Raises `CheckpointError`, before any variable is changed, when the shapes do not match.
    """
    variables = _variables(model)
    shapes = [tuple(variable.shape) for variable in variables]
    if [array.shape for array in arrays[: len(shapes)]] != shapes:
        raise CheckpointError(
            "the checkpoint is of another model: its variables have other shapes. Remove the "
            "checkpoint, or set resume='never'"
        )
    for variable, array in zip(variables, arrays, strict=False):
        variable.assign(array)
    return list(arrays[len(shapes) :])


def _variables(model: keras.Model) -> list:
    keras_backend.build_optimizer(model)
    known = {id(v) for v in model.weights}
    known |= {id(v) for metric in model.metrics for v in metric.variables}
    # The other variables of a Keras 3 model are the seeds of its dropout layers.
    seeds = [v for v in model.variables if id(v) not in known]
    return [*model.weights, *seeds, *model.optimizer.variables]
