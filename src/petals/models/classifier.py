"""A classifier's parts: the backbone, the maps that features are pooled from, and the head.

What the last layer of a network trained on ImageNet keeps is what tells its thousand classes
apart; earlier layers still hold the textures and shapes that tell one flower from another. So
features can be pooled after the last layer or at several depths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorflow import keras

from petals.errors import SettingError

HEAD = "head"
POOLED = "pooled"
FEATURES = ("last", "depths")
# Shares of the convolutions that lie before each depth; the last layer comes on top. In MobileNet
# they lead to the ends of the blocks 7, 9, 11 and 12 of 13.
SHARES = (0.55, 0.7, 0.85, 0.925)


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


def feature_maps(network: keras.Model, features: str) -> list[Any]:
    """The feature maps to pool, each (batch, height, width, channels), the last layer's at the end.

    `features`: "last", or "depths" for up to four more where the whole network passes through one
    tensor. Raises `SettingError` for another name.
    """
    if features not in FEATURES:
        raise SettingError(f"features {features!r}: one of {', '.join(FEATURES)}")
    if features == "last":
        return [network.output]
    narrow = _bottlenecks(network)
    convolutions = narrow[-1][0]
    chosen: list[Any] = []
    for share in SHARES:
        _, near = min(narrow[:-1], key=lambda place: abs(place[0] - share * convolutions))
        if all(near is not other for other in chosen):
            chosen.append(near)
    return [*chosen, network.output]


def _bottlenecks(network: keras.Model) -> list[tuple[int, Any]]:
    """(convolutions up to there, tensor) of each place that all paths lead through.

    Only outputs of activations, sums and poolings count: a tensor before them is not finished.
    """
    steps = getattr(network, "operations", network.layers)  # sums that are no layers, too
    layers = [step for step in steps if not isinstance(step, keras.layers.InputLayer)]
    uses: dict[int, int] = {}
    for layer in layers:
        for tensor in _list(layer.input):
            uses[id(tensor)] = uses.get(id(tensor), 0) + 1
    found, open_uses, convolutions = [], sum(uses.get(id(t), 0) for t in network.inputs), 0
    for layer in layers:
        outputs = _list(layer.output)
        open_uses += sum(uses.get(id(t), 0) for t in outputs) - len(_list(layer.input))
        convolutions += "Conv" in type(layer).__name__
        own = uses.get(id(outputs[0]), 0)
        finished = not getattr(layer, "weights", ()) and "Padding" not in type(layer).__name__
        if len(outputs) == 1 and open_uses == own and finished and _is_map(outputs[0]):
            found.append((convolutions, outputs[0]))
    if not found or found[-1][1] is not network.output:
        found.append((convolutions, network.output))
    return found


def _list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]


def _is_map(tensor: Any) -> bool:
    return len(tensor.shape) == 4 and (tensor.shape[1] or 2) > 1
