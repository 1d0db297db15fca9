"""Augmentation as the first layer of a model: part of its compiled step, on the device."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import tensorflow as tf
from tensorflow import keras

from petals.augment.augmentation import CHANGES, IMAGE, Augmentation
from petals.augment.draws import COLUMNS


def augmenting(
    model: keras.Model, augmentation: Augmentation, *, dense: bool | None = None
) -> keras.Model:
    """The model with the augmentation before it; both have the same variables.

    `model` maps uint8 (n, size, size, 3); the result maps {"image": the same, "changes": float32
    (n, columns) of `Augmentation.draw`}, as `petals.data.pipeline.Batches` gives them. `dense`:
    the way to resample pixels; None = the one that suits the device at hand.
    """
    strategy = getattr(model, "distribute_strategy", None)
    if dense is None:
        dense = _on_tpu(strategy)
    with nullcontext() if strategy is None else strategy.scope():
        inputs = {
            IMAGE: keras.Input(model.input_shape[1:], dtype="uint8", name=IMAGE),
            CHANGES: keras.Input((len(COLUMNS),), dtype="float32", name=CHANGES),
        }
        pixels = model.compute_dtype if dense else "float32"
        # Devices that stand in for several GPUs compute op by op, as those would.
        layer = Augment(augmentation, dense, pixels, compiled=not (dense or in_step(model)))
        return keras.Model(inputs, model(layer(inputs)), name=f"augmenting_{model.name}")


def in_step(model: keras.Model) -> bool:
    """Whether the images of this model are to be augmented in its step, on its device.

    Elsewhere the input pipeline has a batch ready while the last one is trained on: where
    TensorFlow computes on a single CPU, both share its cores in any case.
    """
    strategy = getattr(model, "distribute_strategy", None)
    shared = strategy is not None and strategy.num_replicas_in_sync > 1
    return shared or _on_jax() or bool(tf.config.list_logical_devices("GPU"))


class Augment(keras.layers.Layer):
    """`Augmentation.apply` on {"image", "changes"}; it has no variables."""

    def __init__(self, augmentation: Augmentation, dense: bool, pixels: str, compiled: bool):
        # Under a policy of 16 bits Keras would round the positions of pixels to whole dozens.
        super().__init__(name="augment", dtype="float32", autocast=False, trainable=False)
        self.augmentation, self.dense, self.pixels = augmentation, dense, pixels
        self._compiled = augmentation.compiled() if compiled else None

    def compute_output_spec(self, inputs: dict[str, Any]) -> Any:
        """What Keras 3 would trace otherwise: on JAX, an unknown number of images has no pairs."""
        return keras.KerasTensor(inputs[IMAGE].shape, dtype="uint8")

    def call(self, inputs: dict[str, Any]) -> Any:
        """uint8 images, changed."""
        images, changes = inputs[IMAGE], inputs[CHANGES]
        if self._compiled is not None:
            return self._compiled(images, changes)
        return self.augmentation.apply(images, changes, dense=self.dense, dtype=self.pixels)


def _on_tpu(strategy: Any) -> bool:
    if _on_jax():
        import jax

        return jax.default_backend() == "tpu"
    return isinstance(strategy, tf.distribute.TPUStrategy)


def _on_jax() -> bool:
    return hasattr(keras, "config") and keras.config.backend() == "jax"
