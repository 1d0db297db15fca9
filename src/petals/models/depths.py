"""The feature maps to pool, at several depths of a network.

The last layer of a network trained on ImageNet keeps what distinguishes its thousand classes.
Earlier layers still contain the textures and shapes that distinguish flowers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tensorflow import keras

from petals.models.backbones import parts

# The share of convolutions before each depth; the last layer is added. In MobileNet these are the
# ends of the blocks 7, 9, 11 and 12 of 13.
SHARES = (0.55, 0.7, 0.85, 0.925)


def feature_maps(network: keras.Model) -> list[Any]:
    """Up to five feature maps, each (batch, height, width, channels), the last layer's at the end.

    The others are tensors that the whole network passes through.
    """
    places = _bottlenecks(network)
    convolutions = places[-1][0]
    maps: list[Any] = []
    for share in SHARES:
        _, nearest = min(places[:-1], key=lambda place: abs(place[0] - share * convolutions))
        if all(nearest is not other for other in maps):
            maps.append(nearest)
    return [*maps, network.output]


def _bottlenecks(network: keras.Model) -> list[tuple[int, Any]]:
    """(convolutions before it, tensor) for each tensor that all paths go through.

    Only outputs of activations, sums, poolings and whole blocks count; tensors before those are
    intermediate.
    """
    steps = getattr(network, "operations", network.layers)  # including sums that are not layers
    layers = [step for step in steps if not isinstance(step, keras.layers.InputLayer)]
    uses = Counter(id(tensor) for layer in layers for tensor in _list(layer.input))
    places, open_uses, convolutions = [], sum(uses[id(t)] for t in network.inputs), 0
    for layer in layers:
        outputs = _list(layer.output)
        open_uses += sum(uses[id(t)] for t in outputs) - len(_list(layer.input))
        inner = parts(layer)
        convolutions += sum("Conv" in type(part).__name__ for part in inner)
        own = uses[id(outputs[0])]
        simple = not getattr(layer, "weights", ()) and "Padding" not in type(layer).__name__
        finished = simple or inner != [layer]  # a block of keras_hub is one layer
        shape = outputs[0].shape
        is_map = len(shape) == 4 and (shape[1] or 2) > 1
        if len(outputs) == 1 and open_uses == own and finished and is_map:
            places.append((convolutions, outputs[0]))
    if not places or places[-1][1] is not network.output:
        places.append((convolutions, network.output))
    return places


def _list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]
