"""A model and the parts of it that are trained separately."""

from __future__ import annotations

from dataclasses import dataclass

from tensorflow import keras

HEAD = "head"
POOLED = "pooled"


@dataclass(frozen=True)
class Classifier:
    """A model and the parts that are trained separately.

    `model` maps uint8 (n, size, size, 3) to class probabilities, float32 (n, classes);
    `features` maps the same to the pooled features, float (n, width).
    """

    model: keras.Model
    features: keras.Model
    backbone: keras.Model
    name: str

    @property
    def head(self) -> keras.layers.Layer:
        """The softmax layer."""
        return self.model.get_layer(HEAD)
