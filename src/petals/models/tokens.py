"""Vision transformers of keras_hub: at any image size their patches allow, and their features.

ViT, DINOv2, DINOv3, SigLIP's image encoder and Swin divide an image into patches and give a vector,
a token, for each. Some put further tokens before these: a class token, which stands for the whole
image, then registers.
"""

from __future__ import annotations

from collections import Counter
from math import isqrt
from typing import Any

from tensorflow import keras

from petals.errors import SettingError, WeightsError
from petals.models.backbones import parts
from petals.models.depths import SHARES


def at_size(network: keras.Model, size: int, name: str) -> keras.Model:
    """The network for images of `size` pixels, with the same weights and resized positions.

    `network`: what keras_hub builds from a preset; of one that reads text too, such as SigLIP, the
    image encoder is taken. Networks of convolutions that take any size are returned as they are.
    Learned positions are resized between grids of patches by bicubic interpolation, as for ViT
    (Dosovitskiy et al., 2021) and DINOv2 (Oquab et al., 2023). Raises `SettingError` for a size
    that is no multiple of the patches', `WeightsError` for a network that takes no images.
    """
    network = getattr(network, "vision_encoder", network)
    shapes = [tuple(tensor.shape) for tensor in network.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4 or not hasattr(network.output, "shape"):
        raise WeightsError(f"{name} is not an image network: its inputs have the shapes {shapes}")
    config = network.get_config()
    is_map = len(network.output.shape) == 4
    if shapes[0][1] == size or is_map or "image_shape" not in config:
        return network
    patch = getattr(network, "patch_size", 1)
    patch = int(patch[0] if isinstance(patch, list | tuple) else patch)
    if size % patch:
        below = size // patch * patch
        raise SettingError(
            f"image_size={size}: {name} divides images into patches of {patch} pixels, so set "
            f"{below or patch} or {below + patch}"
        )
    resized = type(network).from_config(config | {"image_shape": (size, size, 3)})
    for source, target in zip(network.weights, resized.weights, strict=True):
        if tuple(source.shape) == tuple(target.shape):
            target.assign(source)
        elif "position" in target.path and "float" in str(target.dtype):
            target.assign(_resized(source, tuple(target.shape)))
        elif target.trainable:
            raise WeightsError(
                f"{name} cannot take images of {size} pixels: {target.path} has the shape "
                f"{tuple(source.shape)} in the preset, and {tuple(target.shape)} at this size"
            )
    return resized


def _resized(positions: Any, shape: tuple[int, ...]) -> Any:
    """Positions float (…, tokens, width) for another grid of patches; other tokens keep theirs."""
    width = shape[-1]
    grid, new_grid = isqrt(positions.shape[-2]), isqrt(shape[-2])
    others = positions.shape[-2] - grid**2
    table = keras.ops.reshape(keras.ops.cast(positions, "float32"), (-1, width))
    squares = keras.ops.reshape(table[others:], (1, grid, grid, width))
    squares = keras.ops.image.resize(
        squares, (new_grid, new_grid), interpolation="bicubic", data_format="channels_last"
    )
    patches = keras.ops.reshape(squares, (-1, width))
    return keras.ops.reshape(keras.ops.concatenate([table[:others], patches]), shape)


def feature_maps(network: keras.Model) -> list[Any]:
    """Tokens (batch, tokens, width) after up to five blocks, the network's output at the end.

    The blocks lie at the depths that `petals.models.depths` takes of convolutions. Their tokens are
    normalized by the network's last layer norm, as in DINOv2's linear evaluation; Swin's, whose
    width changes, are not.
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


def _blocks(network: keras.Model) -> tuple[list[Any], Any]:
    """(the tokens after each block, the network's output)."""
    if hasattr(network, "pyramid_outputs"):  # DINOv2 and DINOv3, before their layer norm
        stages = network.pyramid_outputs
        return [
            stages[f"stage{number + 1}"] for number in range(network.num_layers)
        ], network.output
    for layer in network.layers:
        if hasattr(layer, "encoder_layers"):  # ViT: one layer holds all blocks and the layer norm
            tokens, blocks = layer.dropout(layer.input), []
            for block in layer.encoder_layers:
                tokens = block(tokens)
                blocks.append(tokens)
            return blocks, layer.layer_norm(tokens)
    compound = [layer for layer in network.layers if parts(layer) != [layer]]
    kinds = Counter(type(layer) for layer in compound)  # the blocks, or stages, are most of them
    blocks = [layer for layer in compound if type(layer) is kinds.most_common(1)[0][0]]
    return [block.output for block in blocks], network.output


def pooled(tokens: Any, network: keras.Model) -> Any:
    """Features (batch, width) of tokens, or (batch, 2 × width) with a class token.

    The class token is followed by the mean over the patches, which registers do not enter. Without
    one it is the mean alone; an output that is pooled already stays as it is.
    """
    if len(tokens.shape) == 2:
        return tokens
    # The shape does not tell: that of SigLIP's tokens has one more than there are.
    registers = getattr(network, "num_register_tokens", None)
    others = int(getattr(network, "use_class_token", False)) if registers is None else 1 + registers
    mean = keras.layers.GlobalAveragePooling1D()(tokens[:, others:])
    return keras.layers.Concatenate()([tokens[:, 0], mean]) if others else mean
