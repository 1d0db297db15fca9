"""Backbones from keras_hub by preset: `backbone=hub:PRESET`, if the package is installed.

PRESET is a folder with a preset, the path of an attached model below Kaggle's `input/models`, or a
name that keras_hub downloads. Only layers of Keras and keras_hub are built from a preset's
configuration, in Keras's safe mode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow import keras

from petals.errors import SettingError, WeightsError
from petals.kaggle import find_folders, mounts
from petals.models import tokens
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

        Raises `SettingError` without keras_hub, `WeightsError` for a preset that does not exist or
        that requires another image size.
        """
        package = _package()
        if self.config is not None and weights is None:
            _check(self.config, self.name)
            try:
                network = keras.utils.deserialize_keras_object(dict(self.config), safe_mode=True)
            except Exception as error:  # Keras raises several kinds
                raise WeightsError(
                    f"{self.name}: its configuration builds no network ({error})"
                ) from None
        else:
            network = self._from_preset(package, size, weights is not None)
        shape = tuple(network.inputs[0].shape[1:3])
        if shape not in ((size, size), (None, None)):
            raise WeightsError(
                f"{self.name} takes images of {shape[0]} pixels, not {size}: set "
                f"image_size={shape[0]}, or weights=none to begin from nothing"
            )
        return network

    def _from_preset(self, package: Any, size: int, weights: bool) -> keras.Model:
        try:
            network = package.models.Backbone.from_preset(self._place(), load_weights=weights)
        except Exception as error:  # keras_hub, kagglehub and the network raise various kinds
            if folder_of(self.source):
                first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
                raise WeightsError(f"the preset {self.source!r} cannot be built: {first}") from None
            raise WeightsError(
                f"no preset {self.source!r} ({type(error).__name__}): give a folder that holds "
                f"{CONFIG}, attach the model to the kernel (model_sources), or allow the download "
                "of a name that keras_hub has"
            ) from None
        return tokens.at_size(network, size, self.name)

    def _place(self) -> str:
        folder = folder_of(self.source)
        if folder is None:
            return self.source
        _check(json.loads((folder / CONFIG).read_text(encoding="utf-8")), self.name)
        return str(folder)

    def rescaling(self) -> tuple[Any, Any]:
        """(scale, offset) of pixels 0 to 255 that the weights expect; to -1..1 by default."""
        if self.config is not None and RESCALING in self.config:
            return self.config[RESCALING]
        try:
            converter = _package().layers.ImageConverter.from_preset(self._place())
        except Exception:  # the preset has none
            return 1 / 127.5, -1.0
        scale = 1.0 if converter.scale is None else _plain(converter.scale)
        return scale, 0.0 if converter.offset is None else _plain(converter.offset)


def find(name: str, config: Mapping[str, Any] | None = None) -> HubBackbone:
    """The backbone of `hub:PRESET`; raises `SettingError` for no preset or no keras_hub."""
    if name == HUB:
        raise SettingError(f"backbone {HUB}: write a preset behind it, like {HUB}FOLDER")
    _package()
    return HubBackbone(name, "hub", config=config)


def folder_of(preset: str) -> Path | None:
    """The folder of a preset here or among the attached models; None for a name."""
    for place in (Path(preset).expanduser(), mounts() / "models" / preset):
        if (place / CONFIG).is_file():
            return place
    return next((p for p in find_folders(Path(preset).name) if (p / CONFIG).is_file()), None)


def _package() -> Any:
    if str(getattr(keras, "__version__", "")).startswith("2."):
        raise SettingError(
            f"backbone {HUB}PRESET needs Keras 3, and this run has tf_keras: use the TPU through "
            "JAX, or take a backbone of the registry"
        )
    try:
        import keras_hub
    except ImportError as error:
        raise SettingError(
            f"backbone {HUB}PRESET needs the package keras_hub ({error}): {INSTALL}; Kaggle's "
            "images hold it already"
        ) from None
    return keras_hub


def config_of(network: keras.Model, name: str) -> dict[str, Any]:
    """The configuration from which `find` builds the network again, without its preset.

    It holds the scale of the pixels too, which is the preset's.
    """
    scaling = HubBackbone(name, "hub").rescaling()
    return {**keras.utils.serialize_keras_object(network), RESCALING: scaling}


def _plain(value: Any) -> Any:
    """A number or a list of numbers, of what a converter holds."""
    return np.asarray(value, np.float64).tolist()


def _check(config: Any, name: str) -> None:
    """Raise `WeightsError` for a configuration that names classes of other packages."""
    for module in _modules(config):
        if not f"{module}.".startswith(TRUSTED):
            raise WeightsError(
                f"{name} is made of {module!r}, and only layers of keras and keras_hub are built"
            )


def _modules(config: Any) -> Iterator[str]:
    if isinstance(config, dict):
        if isinstance(config.get("module"), str):
            yield config["module"]
        for value in config.values():
            yield from _modules(value)
    elif isinstance(config, list):
        for value in config:
            yield from _modules(value)
