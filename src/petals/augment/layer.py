"""Augmentation as the first layer of a model, in its compiled step on the device."""

from contextlib import nullcontext
from typing import Any

import tensorflow as tf
from tensorflow import keras

from petals.augment.augmentation import Augmentation
from petals.augment.draws import COLUMNS
from petals.data.pipeline import CHANGES, IMAGE


def augmenting(
    model: keras.Model, augmentation: Augmentation, *, dense: bool | None = None
) -> keras.Model:
    """A model that augments its images before `model`, with the same variables.

    The input of `model` is uint8 (n, size, size, 3). That of the result is {"image": the same,
    "changes": float32 (n, columns) from `Augmentation.draw`}, as `petals.data.pipeline.Batches`
    yields it. `dense`: how to resample pixels; None = as suits the device.
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
    """Whether to augment the images of this model in its step, on its device.

    Otherwise the input pipeline augments a batch while the step before it runs. If TensorFlow
    computes on a single CPU, both share its cores anyway.
    """
    strategy = getattr(model, "distribute_strategy", None)
    shared = strategy is not None and strategy.num_replicas_in_sync > 1
    return shared or _on_jax() or bool(tf.config.list_logical_devices("GPU"))


class Augment(keras.layers.Layer):
    """`Augmentation.apply` on {"image", "changes"}; it has no variables."""

    def __init__(self, augmentation: Augmentation, dense: bool, pixels: str, compiled: bool):
        # Under a policy of 16 bits Keras would round the positions of pixels to whole dozens.
        super().__init__(name="augment", dtype="float32", autocast=False, trainable=False)
        self.augmentation = augmentation
        self.dense = dense
        self.pixels = pixels
        self._compiled = augmentation.compiled() if compiled else None

    def compute_output_spec(self, inputs: dict[str, Any]) -> Any:
        """Spare Keras 3 the tracing: on JAX, an unknown number of images cannot be paired."""
        return keras.KerasTensor(inputs[IMAGE].shape, dtype="uint8")

    def call(self, inputs: dict[str, Any]) -> Any:
        """Return the changed images, uint8 (n, size, size, 3)."""
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
