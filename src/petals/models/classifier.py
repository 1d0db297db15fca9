"""A classifier: a model, and the parts of it that are trained separately."""

from dataclasses import dataclass

from tensorflow import keras

HEAD = "head"
POOLED = "pooled"  # the layer whose output the features are


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

    @property
    def depths(self) -> bool:
        """Whether the features come from several depths of the backbone."""
        last = self.features.layers[-1]
        return last.name == POOLED and isinstance(last, keras.layers.Concatenate)
