"""Compute activations again in the backward pass, so that a step need not keep them: on JAX.

Training keeps what the layers give until the backward pass needs it, and of a large batch that is
most of a chip's memory. With `rematerialising`, only results of convolutions, dense layers and
pooling are kept that are smaller than what they were computed from: the narrow ends of a network's
blocks. Everything between them is computed a second time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tensorflow import keras

from petals.accelerators import keras_backend

# JAX operations whose results are kept where they are narrower than what goes in.
NARROWING = ("conv_general_dilated", "dot_general", "reduce_window_max", "reduce_window_sum")
NAMED = "name"  # the operation with which `petals.augment.layer` marks the augmented images


def check_backend(backend: str) -> None:
    """Raise `SettingError` for a backend that keeps all activations in any case."""
    instead = "leave remat out, and take a smaller batch_size where memory is short"
    keras_backend.need_jax("remat=True", backend, instead)


def rematerialising(model: keras.Model) -> keras.Model:
    """The model, with the same variables and results, which needs less memory to train.

    Raises `SettingError` where Keras does not compute with JAX.
    """
    check_backend(keras.config.backend() if hasattr(keras, "config") else "tf_keras")
    import jax

    found = keras.Model(model.input, model.output, name=f"rematerialising_{model.name}")
    keeping_all = found.stateless_call

    def stateless_call(weights: Any, others: Any, inputs: Any, **options: Any) -> Any:
        # The state goes in and comes out: BatchNorm's statistics, the seeds of dropout.
        forward = partial(keeping_all, **options)
        return jax.checkpoint(forward, policy=_kept)(weights, others, inputs)

    found.stateless_call = stateless_call  # what a step differentiates, of Keras's and of our own
    return found


def _kept(operation: Any, *arrays: Any, **parameters: Any) -> bool:
    import jax

    if operation.name not in NARROWING:
        return operation.name == NAMED
    result = jax.eval_shape(partial(operation.bind, **parameters), *arrays)
    return bool(result.size < arrays[0].size)
