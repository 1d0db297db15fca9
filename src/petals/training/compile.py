"""How a model is compiled for training: seeds, optimizer, loss, XLA."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import keras_backend
from petals.errors import SettingError
from petals.training import schedules


def set_seed(seed: int, repeatable: bool = True) -> None:
    """Seed Python, numpy and Keras; `repeatable` makes TensorFlow's ops the same to the bit.

    That costs speed on a GPU, and nothing that could be measured on a CPU.
    """
    keras.utils.set_random_seed(seed)
    if repeatable:
        tf.config.experimental.enable_op_determinism()


def compile_model(
    model: keras.Model,
    rates: np.ndarray,
    *,
    weight_decay: float = 0.0,
    label_smoothing: float = 0.0,
    steps_per_execution: int = 1,
) -> None:
    """AdamW on cross-entropy over one-hot labels, with the rates of a schedule table.

    Weight decay (Loshchilov & Hutter, 2019) spares biases and normalisation. One step a call is
    what every runtime trains well with: four gained 8 % on TensorFlow and lost as much on eight
    JAX devices, and Keras 3 cannot under MirroredStrategy (tools/benchmark.py runtimes).
    """
    if not 0 <= label_smoothing < 1:
        raise SettingError(f"label_smoothing {label_smoothing}: at least 0, less than 1")
    if weight_decay < 0:
        raise SettingError(f"weight_decay {weight_decay}: at least 0")
    with keras_backend.scope(model):
        optimizer = keras.optimizers.AdamW(schedules.RateTable(rates), weight_decay=weight_decay)
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        model.compile(
            optimizer,
            loss=keras.losses.CategoricalCrossentropy(label_smoothing=label_smoothing),
            metrics=[keras.metrics.CategoricalAccuracy(name="accuracy")],
            steps_per_execution=steps_per_execution,
            jit_compile=_compiles(model),
        )


def _compiles(model: keras.Model) -> bool:
    # XLA helps on a TPU and does harm to convolutions on a CPU: 11 images a second where
    # TensorFlow's own kernels did 400 (MobileNet-0.75 at 192 px, 2 cores). Of several devices of
    # tf.distribute it cannot compile the step that they share; Keras's own default knows that.
    if hasattr(keras, "config") and keras.config.backend() == "jax":
        return True
    return bool(tf.config.list_physical_devices("GPU")) and keras_backend.replicas(model) == 1
