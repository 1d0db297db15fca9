"""Backbones from keras_hub by preset: `backbone=hub:PRESET`, if the package is installed.

PRESET is a folder with a preset, the path of an attached model below Kaggle's `input/models`, or a
name that keras_hub downloads. Only layers of Keras and keras_hub are built from a preset's
configuration, in Keras's safe mode.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow import keras

from petals.errors import SettingError, WeightsError
from petals.kaggle import attached, mounts
from petals.models.backbones import HUB, Backbone

CONFIG = "config.json"  # the file that identifies a preset's folder
INSTALL = "pip install keras-hub"
TRUSTED = ("keras_hub.", "keras.")
RESCALING = "rescaling"  # scale and offset of the pixels, beside a network's configuration


@dataclass(frozen=True)
class HubBackbone(Backbone):
    """A preset of keras_hub: `config` is the network's configuration where a model file has it."""

    config: Mapping[str, Any] | None = None
    preset = True

    @property
    def source(self) -> str:
        """The preset's folder or name, without the prefix."""
        return self.name.removeprefix(HUB)

    def build(self, size: int, weights: str | None = None) -> keras.Model:
        """The network, float (n, size, size, 3) to features; `weights`: None or "imagenet".

        Raises `WeightsError` for a preset that does not exist or that requires another image size.
        """
        if self.config is not None and weights is None:
            config = _checked(json.dumps(self.config), self.name)
            try:
                network = keras.utils.deserialize_keras_object(config, safe_mode=True)
            except Exception as error:  # Keras raises several kinds
                raise WeightsError(
                    f"{self.name}: its configuration builds no network ({error})"
                ) from None
        else:
            network = self._from_preset(size, weights is not None)
        shape = tuple(network.inputs[0].shape[1:3])
        if shape not in ((size, size), (None, None)):
            raise WeightsError(
                f"{self.name} takes images of {shape[0]} pixels, not {size}: set "
                f"image_size={shape[0]}, or weights=none to start from random weights"
            )
        return network

    def _from_preset(self, size: int, weights: bool) -> keras.Model:
        backbone = _package().models.Backbone
        try:
            network = backbone.from_preset(self._place(), load_weights=weights)
        except Exception as error:  # keras_hub, kagglehub and the network raise various kinds
            if folder_of(self.source):
                first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
                raise WeightsError(f"the preset {self.source!r} cannot be built: {first}") from None
            raise WeightsError(
                f"no preset {self.source!r} ({type(error).__name__}): give a folder that holds "
                f"{CONFIG}, attach the model to the kernel (model_sources), or allow the download "
                "of a name that keras_hub has"
            ) from None
        return at_size(network, size, self.name)

    def _place(self) -> str:
        folder = folder_of(self.source)
        if folder is None:
            return self.source
        _checked((folder / CONFIG).read_text("utf-8"), self.name)
        return str(folder)

    def rescaling(self) -> tuple[Any, Any]:
        """(scale, offset) of pixels 0 to 255 that the weights expect; to -1..1 by default."""
        if self.config is not None and RESCALING in self.config:
            return self.config[RESCALING]
        try:
            converter = _package().layers.ImageConverter.from_preset(self._place())
        except Exception:  # the preset has none
            return 1 / 127.5, -1.0
        pair = ((converter.scale, 1.0), (converter.offset, 0.0))
        scale, offset = (np.asarray(default if v is None else v, np.float64) for v, default in pair)
        return scale.tolist(), offset.tolist()


def find(name: str, config: Mapping[str, Any] | None = None) -> HubBackbone:
    """The backbone of `hub:PRESET`; raises `SettingError` for no preset or no keras_hub."""
    if name == HUB:
        raise SettingError(f"backbone {HUB}: write a preset after it, like {HUB}FOLDER")
    _package()
    return HubBackbone(name, config)


def folder_of(preset: str) -> Path | None:
    """The folder of a preset here or among the attached models; None for a name."""
    for place in (Path(preset).expanduser(), mounts() / "models" / preset):
        if (place / CONFIG).is_file():
            return place
    return next(
        (place for place in attached(Path(preset).name) if (place / CONFIG).is_file()), None
    )


def _package() -> Any:
    if str(getattr(keras, "__version__", "")).startswith("2."):
        raise SettingError(
            f"backbone {HUB}PRESET needs Keras 3, and this run has tf_keras: use the TPU through "
            "JAX, or choose another backbone"
        )
    try:
        import keras_hub
    except ImportError as error:
        raise SettingError(
            f"backbone {HUB}PRESET needs the package keras_hub ({error}): {INSTALL}; Kaggle's "
            "images have it already"
        ) from None
    return keras_hub


def config_of(network: keras.Model, name: str) -> dict[str, Any]:
    """The configuration from which `find` builds the network again, without its preset.

    It holds the scale of the pixels too, which is the preset's.
    """
    scaling = HubBackbone(name).rescaling()
    return {**keras.utils.serialize_keras_object(network), RESCALING: scaling}


def _checked(text: str, name: str) -> Any:
    """The JSON of a configuration; raises `WeightsError` for classes of other packages."""

    def trusted(part: dict[str, Any]) -> dict[str, Any]:
        module = part.get("module")
        if isinstance(module, str) and not f"{module}.".startswith(TRUSTED):
            raise WeightsError(
                f"{name} is made of {module!r}, and only layers of keras and keras_hub are built"
            )
        return part

    return json.loads(text, object_hook=trusted)


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
