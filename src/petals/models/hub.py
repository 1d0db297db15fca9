"""Backbones from keras_hub: those of `petals.registry.PRESETS`, and any other as `hub:PRESET`.

PRESET is a folder with a preset, the path of an attached model below Kaggle's `input/models`, or a
name that keras_hub downloads. Only layers of Keras and keras_hub are built from a preset's
configuration, in Keras's safe mode.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow import keras

from petals.errors import SettingError, WeightsError
from petals.models.backbones import RESCALING as RESCALINGS
from petals.models.backbones import Backbone
from petals.registry import (
    CONFIG,
    HUB,
    INSTALL,
    Facts,
    Preset,
    folder_of,
    needs_package,
    require_presets,
)

TRUSTED = ("keras_hub.", "keras.")
RESCALING = "rescaling"  # scale and offset of the pixels, beside a network's configuration


@dataclass(frozen=True)
class HubBackbone(Backbone):
    """A network of keras_hub: `config` is its configuration where a model file has it."""

    config: Mapping[str, Any] | None = None
    preset = True

    @property
    def registered(self) -> Preset | None:
        """Its entry in the registry, if it has one."""
        return Facts(self.name).preset

    @property
    def source(self) -> str:
        """The preset's folder, or the name by which keras_hub downloads it."""
        return self.name.removeprefix(HUB)

    @property
    def folder(self) -> Path | None:
        """The preset's folder, if it is here."""
        return self.registered.folder if self.registered else folder_of(self.source)

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
        elif self.registered and weights is None:
            network = self._untrained(self.registered, size)
        else:
            network = self._from_preset(size, weights is not None)
        shape = tuple(network.inputs[0].shape[1:3])
        if shape not in ((size, size), (None, None)):
            raise WeightsError(
                f"{self.name} takes images of {shape[0]} pixels, not {size}: set "
                f"image_size={shape[0]}, or weights=none to start from random weights"
            )
        return network

    def _untrained(self, preset: Preset, size: int) -> keras.Model:
        make = getattr(_package().models, preset.kind, None)
        if make is None:
            raise SettingError(
                f"this keras_hub has no {preset.kind}, which {self.name} is: {INSTALL}"
            )
        if problem := Facts(self.name).size_problem(size):
            raise SettingError(problem)
        return make(preset.patch, image_shape=(size, size, 3), **preset.architecture)

    def _from_preset(self, size: int, weights: bool) -> keras.Model:
        """The preset's network for this size, to which keras_hub resizes learned positions.

        It does so for DINOv2, as in its paper (Oquab et al., 2023); DINOv3 has none to resize.
        """
        backbone = _package().models.Backbone
        place = self._place()
        own = self._own_shape()
        options = {"image_shape": (size, size, 3)} if own and own != size else {}
        try:
            network = backbone.from_preset(place, load_weights=weights, **options)
        except Exception as error:  # keras_hub, kagglehub and the network raise various kinds
            first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            if options:
                raise WeightsError(
                    f"{self.name} cannot take images of {size} pixels ({first}): set "
                    f"image_size={own}"
                ) from None
            if self.folder:
                raise WeightsError(f"the preset {place!r} cannot be built: {first}") from None
            raise WeightsError(
                f"no preset {self.source!r} ({type(error).__name__}): give a folder that holds "
                f"{CONFIG}, attach the model to the kernel (model_sources), or allow the download "
                "of a name that keras_hub has"
            ) from None
        network = getattr(network, "vision_encoder", network)  # of one that reads text too
        shapes = [tuple(tensor.shape) for tensor in network.inputs]
        if len(shapes) != 1 or len(shapes[0]) != 4 or not hasattr(network.output, "shape"):
            raise WeightsError(
                f"{self.name} is not an image network: its inputs have the shapes {shapes}"
            )
        return network

    def _own_shape(self) -> int:
        """Pixels a side for which the preset here was made; 0 if any, or if it is elsewhere."""
        if self.folder is None:
            return 0
        config = json.loads((self.folder / CONFIG).read_text("utf-8")).get("config", {})
        shape = config.get("image_shape") or [0]
        return shape[0] if isinstance(shape[0], int) else 0

    def _place(self) -> str:
        folder = self.folder
        if folder:
            _checked((folder / CONFIG).read_text("utf-8"), self.name)
            return str(folder)
        require_presets([self.name], "auto")
        return self.source

    def rescaling(self) -> tuple[Any, Any]:
        """(scale, offset) of pixels 0 to 255 that the weights expect.

        Without a preset those of ImageNet's mean and deviation for a network of the registry,
        which they have in common, and to -1..1 for any other.
        """
        if self.config is not None and RESCALING in self.config:
            return self.config[RESCALING]
        try:
            converter = _package().layers.ImageConverter.from_preset(self._place())
        except Exception:  # the preset has none, or is elsewhere
            return RESCALINGS["torch" if self.registered else "tf"]
        scale = 1.0 if converter.scale is None else converter.scale
        offset = 0.0 if converter.offset is None else converter.offset
        return np.asarray(scale, np.float64).tolist(), np.asarray(offset, np.float64).tolist()


def find(name: str, config: Mapping[str, Any] | None = None) -> HubBackbone:
    """The backbone of a name in the registry or `hub:PRESET`.

    Raises `SettingError` for no preset, or where there is no keras_hub.
    """
    if name == HUB:
        raise SettingError(f"backbone {HUB}: write a preset after it, like {HUB}FOLDER")
    _package()
    return HubBackbone(name, config)


def _package() -> Any:
    if str(getattr(keras, "__version__", "")).startswith("2."):
        raise SettingError(
            "backbones of keras_hub need Keras 3, and this run has tf_keras: use the TPU through "
            "JAX, or choose another backbone"
        )
    try:
        import keras_hub
    except ImportError as error:
        raise SettingError(needs_package(str(error))) from None
    return keras_hub


def save_scaling(preset: str | Path, size: int) -> None:
    """Add to a preset's folder that its pixels are scaled by ImageNet's mean and deviation."""
    scale, offset = RESCALINGS["torch"]
    converter = _package().layers.ImageConverter(
        image_size=(size, size), scale=scale, offset=offset
    )
    converter.save_to_preset(str(preset))


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
