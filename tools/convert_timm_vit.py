"""Convert a vision transformer of timm into a preset for `backbone=hub:FOLDER`.

For networks with DINOv2's architecture: blocks with an attention and an MLP, learned positions, a
class token, with or without registers and layer scale. That is how timm stores DINOv2 itself,
networks that were trained from it, and most plain ViTs. CHECKPOINT is safetensors or PyTorch's
format, of which no code is run. The classifier in it is left out.
"""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import os
import re
import tempfile
from collections.abc import Mapping
from math import isqrt
from pathlib import Path
from typing import Any

import click
import numpy as np

from _checkpoint import Arrays, BadCheckpointError, read_checkpoint
from kernelkit.exits.exit_codes import HELP, exits_with_code
from kernelkit.terminal.live_line import working

LARGEST = 6_000_000_000  # bytes; DINOv2-giant has 4.5 GB
HEAD_WIDTH = 64  # numbers of each attention head in all of these networks, unless told otherwise
# Tensors that are not part of the features: the classifier, and the token of masked training
LEFT_OUT = re.compile(r"(head|head_dist|fc)\..*|mask_token")
OTHERS_NAMES = {"register_tokens": "reg_token"}  # as Meta's own checkpoints of DINOv2 have it
SCALINGS = {  # (scale, offset) of pixels 0 to 255
    "imagenet": (
        [1 / (255 * deviation) for deviation in (0.229, 0.224, 0.225)],
        [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225],
    ),
    "half": (1 / 127.5, -1.0),
}


def renamed(arrays: Arrays) -> Arrays:
    """The tensors of the backbone in float32, by timm's names."""
    kept = {}
    for name, array in arrays.items():
        if not LEFT_OUT.fullmatch(name):
            plain = re.sub(r"\.mlp\.w12\.", ".mlp.fc1.", re.sub(r"\.mlp\.w3\.", ".mlp.fc2.", name))
            kept[OTHERS_NAMES.get(plain, plain)] = np.asarray(array, np.float32)
    return kept


def architecture(arrays: Arrays, heads: int = 0) -> dict[str, Any]:
    """The arguments of keras_hub's DINOV2Backbone for these tensors, `renamed`.

    `heads`: of the attention, which a checkpoint does not tell; 0 = one for each 64 numbers. Raises
    `BadCheckpointError` for a network of another architecture.
    """
    _refuse_others(arrays)
    width, hidden, gated = _widths(arrays)
    _refuse_odd_values(arrays)
    patch = arrays["patch_embed.proj.weight"].shape[-1]
    heads = heads or width // HEAD_WIDTH
    if not heads or width % heads:
        raise BadCheckpointError(f"its {width} numbers a token are not {heads} heads: give --heads")
    grid, _ = _grid(arrays)
    registers = arrays["reg_token"].shape[1] if "reg_token" in arrays else 0
    return {
        "patch_size": patch,
        "num_layers": _depth(arrays),
        "hidden_dim": width,
        "num_heads": heads,
        # The gated MLP takes two thirds of this number.
        "intermediate_dim": hidden * 3 // 2 if gated else hidden,
        "num_register_tokens": registers,
        "use_mask_token": False,
        "use_swiglu_ffn": gated,
        "image_shape": (grid * patch, grid * patch, 3),
        "position_embedding_shape": (grid * patch, grid * patch),
        "antialias_in_interpolation": True,  # as timm resizes positions
    }


def _depth(arrays: Mapping[str, Any]) -> int:
    blocks = [re.match(r"blocks\.(\d+)\.", name) for name in arrays]
    return 1 + max((int(match[1]) for match in blocks if match), default=-1)


def _refuse_others(arrays: Arrays) -> None:
    """Raise `BadCheckpointError` for missing tensors, and for tensors that have no place."""
    norms = ("norm1", "norm2")
    dense = ("attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")
    needed = {"cls_token", "pos_embed", "norm.weight", "norm.bias"}
    needed |= {f"patch_embed.proj.{part}" for part in ("weight", "bias")}
    optional = {"reg_token"}
    for number in range(max(_depth(arrays), 1)):
        place = f"blocks.{number}"
        needed |= {
            f"{place}.{name}.{part}" for name in norms + dense for part in ("weight", "bias")
        }
        optional |= {f"{place}.ls{which}.gamma" for which in (1, 2)}
    if any(name.startswith("embeddings.") for name in arrays):
        raise BadCheckpointError(
            "its tensors have the names of the library transformers: take the same network's "
            "checkpoint from timm, or its author's own"
        )
    if "pos_embed" not in arrays and {"cls_token", "patch_embed.proj.weight"} <= set(arrays):
        raise BadCheckpointError(
            "it has no learned positions (pos_embed). DINOv3 has none and cannot be converted: "
            "set backbone=dinov3-small, or another size of it, whose weights are on Kaggle"
        )
    if missing := sorted(needed - set(arrays)):
        raise BadCheckpointError(
            f"it is not a ViT with DINOv2's architecture: it lacks {', '.join(missing[:3])}"
        )
    if strange := sorted(set(arrays) - needed - optional):
        raise BadCheckpointError(
            f"it is not a ViT with DINOv2's architecture: {', '.join(strange[:3])} does not belong "
            "there"
        )


def _widths(arrays: Arrays) -> tuple[int, int, bool]:
    """(numbers of a token, numbers inside the MLP, whether the MLP is gated)."""
    hidden = _length(arrays["blocks.0.mlp.fc2.weight"], 1)
    gated = _length(arrays["blocks.0.mlp.fc1.weight"], 0) == 2 * hidden
    return arrays["norm.weight"].size, hidden, gated


def _length(array: np.ndarray, axis: int) -> int:
    return array.shape[axis] if axis < array.ndim else 0


def _refuse_odd_values(arrays: Arrays) -> None:
    """Raise `BadCheckpointError` for a tensor of another shape, or with numbers like infinity."""
    width, hidden, gated = _widths(arrays)
    if gated and hidden % 8:
        raise BadCheckpointError(f"its gated MLP has {hidden} numbers, which is no multiple of 8")
    inner = 2 * hidden if gated else hidden
    patch = _length(arrays["patch_embed.proj.weight"], 3)
    in_blocks = {
        "attn.qkv.weight": (3 * width, width),
        "attn.qkv.bias": (3 * width,),
        "attn.proj.weight": (width, width),
        "mlp.fc1.weight": (inner, width),
        "mlp.fc1.bias": (inner,),
        "mlp.fc2.weight": (width, hidden),
    }
    outside = {
        "cls_token": (1, 1, width),
        "pos_embed": (1, _length(arrays["pos_embed"], 1), width),
        "patch_embed.proj.weight": (width, 3, patch, patch),
    }
    if "reg_token" in arrays:
        outside["reg_token"] = (1, _length(arrays["reg_token"], 1), width)
    for name, array in arrays.items():
        in_block = in_blocks.get(re.sub(r"^blocks\.\d+\.", "", name), (width,))
        expected = outside.get(name, in_block)
        if array.shape != expected:
            raise BadCheckpointError(f"{name} has the shape {array.shape}, not {expected}")
        if not np.isfinite(array).all():
            raise BadCheckpointError(f"{name} has numbers that are not finite")


def _grid(arrays: Arrays) -> tuple[int, int]:
    """(patches a side, tokens with a position before them) of the learned positions."""
    count = arrays["pos_embed"].shape[1]
    registers = arrays["reg_token"].shape[1] if "reg_token" in arrays else 0
    for before in dict.fromkeys((1, 0, 1 + registers)):
        if isqrt(max(count - before, 0)) ** 2 == count - before:
            return isqrt(count - before), before
    raise BadCheckpointError(f"its {count} positions are no square of patches")


def assign(network: Any, arrays: Arrays) -> None:
    """Give a network, built from `architecture`, the weights of the checkpoint."""
    embeddings, heads = network.embeddings, network.num_heads
    _, before = _grid(arrays)
    positions = arrays["pos_embed"][0]
    others = positions[:before]
    patches = positions[before:]
    first = others[:1] if before else np.zeros_like(patches[:1])
    table = np.concatenate([first, patches])[None]
    embeddings.cls_token.assign(arrays["cls_token"])
    if "reg_token" in arrays:
        own = others[1:] if before > 1 else 0.0  # the registers of keras_hub have no positions
        embeddings.register_tokens.assign(arrays["reg_token"] + own)
    embeddings.position_embeddings.assign(table)
    embeddings.interpolated_position_embeddings.assign(table)
    kernel = arrays["patch_embed.proj.weight"].transpose(2, 3, 1, 0)
    projection = embeddings.patch_embeddings.projection
    projection.set_weights([kernel, arrays["patch_embed.proj.bias"]])
    for number, block in enumerate(network.encoder.layers):
        own = {
            name.removeprefix(f"blocks.{number}."): array
            for name, array in arrays.items()
            if name.startswith(f"blocks.{number}.")
        }
        _assign_block(block, own, heads)
    network.layernorm.set_weights([arrays["norm.weight"], arrays["norm.bias"]])


def _assign_block(block: Any, arrays: Arrays, heads: int) -> None:
    width = arrays["attn.proj.bias"].shape[0]
    attention = block.attention.attention
    parts = (attention.query_dense, attention.key_dense, attention.value_dense)
    kernels = np.split(arrays["attn.qkv.weight"], 3)
    biases = np.split(arrays["attn.qkv.bias"], 3)
    for part, kernel, bias in zip(parts, kernels, biases, strict=True):
        part.set_weights([kernel.T.reshape(width, heads, -1), bias.reshape(heads, -1)])
    output = arrays["attn.proj.weight"].T.reshape(heads, -1, width)
    attention.output_dense.set_weights([output, arrays["attn.proj.bias"]])
    for name in ("norm1", "norm2"):
        getattr(block, name).set_weights([arrays[f"{name}.weight"], arrays[f"{name}.bias"]])
    mlp = block.mlp
    dense = (mlp.weights_in, mlp.weights_out) if hasattr(mlp, "weights_in") else (mlp.fc1, mlp.fc2)
    for layer, name in zip(dense, ("mlp.fc1", "mlp.fc2"), strict=True):
        layer.set_weights([arrays[f"{name}.weight"].T, arrays[f"{name}.bias"]])
    for which, layer in enumerate((block.layer_scale1, block.layer_scale2), 1):
        scale = arrays.get(f"ls{which}.gamma")
        layer.set_weights([np.ones(width, np.float32) if scale is None else scale])


@click.command(help=__doc__, context_settings=HELP)
@exits_with_code
@click.argument("checkpoint", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("preset", type=click.Path(path_type=Path))
@click.option("--heads", type=click.IntRange(1), help="Attention heads; default: width / 64.")
@click.option(
    "--pixels",
    type=click.Choice(list(SCALINGS)),
    default="imagenet",
    show_default=True,
    help="How the network was trained to see pixels: by ImageNet's mean and deviation, as DINOv2, "
    "or from -1 to 1 (half).",
)
def main(checkpoint: Path, preset: Path, heads: int | None, pixels: str) -> None:
    if preset.exists():
        raise click.ClickException(f"{preset} exists: remove it, or name another folder")
    arrays = renamed(read_checkpoint(checkpoint, LARGEST))
    arguments = architecture(arrays, heads or 0)
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    from petals.quiet import without_notes

    try:
        with working("loading keras_hub"), without_notes():
            import keras_hub
    except ImportError as error:
        raise click.ClickException(
            f"keras_hub is needed ({error}): pip install keras-hub"
        ) from None
    size = arguments["image_shape"][0]
    scale, offset = SCALINGS[pixels]
    with working("building the network"):
        network = keras_hub.models.DINOV2Backbone(**arguments)
        assign(network, arrays)
    converter = keras_hub.layers.DINOV2ImageConverter((size, size), scale=scale, offset=offset)
    preset.parent.mkdir(parents=True, exist_ok=True)
    with working("writing the preset"), tempfile.TemporaryDirectory(dir=preset.parent) as place:
        folder = Path(place) / "preset"
        network.save_to_preset(str(folder))
        converter.save_to_preset(str(folder))
        folder.rename(preset)
    click.echo(
        f"{preset}: {network.count_params():,} parameters, {size} pixels in patches of "
        f"{arguments['patch_size']}, for backbone=hub:{preset}"
    )


if __name__ == "__main__":
    main()
