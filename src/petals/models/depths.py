"""The maps that features are pooled from, at several depths of a network.

The last layer of a network trained on ImageNet keeps what tells its thousand classes apart;
earlier layers still hold the textures and shapes that tell one flower from another.
"""

from __future__ import annotations

from typing import Any

from tensorflow import keras

# Shares of the convolutions that lie before each depth; the last layer comes on top. In MobileNet
# they lead to the ends of the blocks 7, 9, 11 and 12 of 13.
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
    """(convolutions up to there, tensor) of each place that all paths lead through.

    Only outputs of activations, sums and poolings count: a tensor before them is not finished.
    """
    steps = getattr(network, "operations", network.layers)  # sums that are no layers, too
    layers = [step for step in steps if not isinstance(step, keras.layers.InputLayer)]
    uses: dict[int, int] = {}
    for layer in layers:
        for tensor in _list(layer.input):
            uses[id(tensor)] = uses.get(id(tensor), 0) + 1
    places, open_uses, convolutions = [], sum(uses.get(id(t), 0) for t in network.inputs), 0
    for layer in layers:
        outputs = _list(layer.output)
        open_uses += sum(uses.get(id(t), 0) for t in outputs) - len(_list(layer.input))
        convolutions += "Conv" in type(layer).__name__
        own = uses.get(id(outputs[0]), 0)
        finished = not getattr(layer, "weights", ()) and "Padding" not in type(layer).__name__
        if len(outputs) == 1 and open_uses == own and finished and _is_map(outputs[0]):
            places.append((convolutions, outputs[0]))
    if not places or places[-1][1] is not network.output:
        places.append((convolutions, network.output))
    return places


def _list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]


def _is_map(tensor: Any) -> bool:
    return len(tensor.shape) == 4 and (tensor.shape[1] or 2) > 1
