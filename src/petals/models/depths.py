"""The feature maps or tokens to average, at several depths of a network.

The last layer of a network trained on ImageNet keeps what distinguishes its thousand classes.
Earlier layers still contain the textures and shapes that distinguish flowers.

Vision transformers of keras_hub (ViT, DINOv2, DINOv3, SigLIP's image encoder, Swin) divide an image
into patches and give a vector, a token, for each. Some put further tokens before these: a class
token, which stands for the whole image, then registers.
"""

from collections import Counter
from typing import Any

from tensorflow import keras

from petals.models.backbones import parts

# The share of convolutions before each depth; the last layer is added. In MobileNet these are the
# ends of the blocks 7, 9, 11 and 12 of 13. Of a transformer, the share of its blocks.
SHARES = (0.55, 0.7, 0.85, 0.925)


def feature_maps(network: keras.Model) -> list[Any]:
    """Up to four maps or tokens at the `SHARES` of the network's depth, then its output."""
    if len(network.output.shape) != 4:
        return _tokens(network)
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
    places = []
    open_uses = sum(uses[id(t)] for t in network.inputs)
    convolutions = 0
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


def _tokens(network: keras.Model) -> list[Any]:
    """Tokens after up to four blocks, then the network's output.

    They are normalized by the network's last layer norm, as in DINOv2's linear evaluation; Swin's,
    whose width changes, are not.
    """
    blocks, output = _blocks(network)
    places = sorted({round(share * len(blocks)) for share in SHARES} - {0, len(blocks)})
    norms = [
        part
        for layer in network.layers
        for part in parts(layer)
        if isinstance(part, keras.layers.LayerNormalization)
    ]
    one_width = len({block.shape[-1] for block in blocks}) == 1
    maps = [blocks[place - 1] for place in places]
    return [*(norms[-1](each) if norms and one_width else each for each in maps), output]


def blocks(network: keras.Model) -> list[Any]:
    """The layers of a transformer of keras_hub that are its blocks, in order; [] for others."""
    candidates: list[Any] = []
    for layer in network.layers:
        inner = [part for part in parts(layer) if part is not layer and part.weights]
        own = [part for part in inner if type(part).__module__.startswith("keras_hub.")]
        if len(own) > 1 and len({type(part) for part in own}) == 1:  # one layer holds all blocks
            candidates += own
        elif inner:
            candidates.append(layer)
    kinds = Counter(type(layer) for layer in candidates)
    if not kinds or kinds.most_common(1)[0][1] < 2 or len(network.output.shape) == 4:
        return []
    return [layer for layer in candidates if type(layer) is kinds.most_common(1)[0][0]]


def _blocks(network: keras.Model) -> tuple[list[Any], Any]:
    """(the tokens after each block, the network's output)."""
    if hasattr(network, "pyramid_outputs"):  # DINOv2 and DINOv3, before their layer norm
        stages, count = network.pyramid_outputs, network.num_layers
        return [stages[f"stage{number + 1}"] for number in range(count)], network.output
    for layer in network.layers:
        if hasattr(layer, "encoder_layers"):  # ViT: one layer holds all blocks and the layer norm
            tokens = layer.dropout(layer.input)
            blocks = []
            for block in layer.encoder_layers:
                tokens = block(tokens)
                blocks.append(tokens)
            return blocks, layer.layer_norm(tokens)
    compound = [layer for layer in network.layers if parts(layer) != [layer]]
    kinds = Counter(type(layer) for layer in compound)  # the blocks, or stages, are most of them
    blocks = [layer for layer in compound if type(layer) is kinds.most_common(1)[0][0]]
    return [block.output for block in blocks], network.output
