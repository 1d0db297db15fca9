"""Build the backbones of the registry, with pretrained weights that are found by file name.

Every backbone takes uint8 images with values 0 to 255: the preprocessing that its ImageNet
weights expect is part of the backbone.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorflow import keras

from petals.errors import WeightsError
from petals.kaggle import attached, repository
from petals.models import saved
from petals.pretrained import ask_for_server, downloaded, kept_by_keras
from petals.registry import LOCAL_FOLDERS, SMALL, Facts, Family

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CAFFE_MEAN_RGB = (123.68, 116.779, 103.939)
# (scale, offset) of pixels 0 to 255, by keras.applications' own names of the modes
RESCALING: dict[str, tuple[Any, Any]] = {
    "tf": (1 / 127.5, -1.0),
    "torch": (
        [1 / (255 * std) for std in IMAGENET_STD],
        [-mean / std for mean, std in zip(IMAGENET_MEAN, IMAGENET_STD, strict=True)],
    ),
    "caffe": (1.0, [-mean for mean in CAFFE_MEAN_RGB]),
    "inside": (1.0, 0.0),  # the network does it itself; only a conversion to float
}
_WIDTHS = (24, 48, 96, 192, 256)  # SmallNet's feature maps; the first four also halve the image


_MOBILENET_WIDTHS = {"-0.25": "2_5", "-0.5": "5_0", "-0.75": "7_5"}  # as their files write them


@dataclass(frozen=True)
class Backbone:
    """How to build a backbone, feed it, and find its ImageNet weights."""

    name: str
    preset = False  # whether it is from keras_hub, with its own weights

    @property
    def family(self) -> Family:
        """What it shares with others."""
        return Facts(self.name).family

    @property
    def licence(self) -> str:
        """Of its pretrained weights."""
        registered = Facts(self.name).preset
        return (Facts(registered.name) if registered else self).family.licence

    def weights_files(self, size: int) -> list[str]:
        """The file names that fit an image size, best first."""
        name = self.name.lower()
        variant = self.name.removeprefix(self.family.prefix).lower()
        width = _MOBILENET_WIDTHS.get(variant, "1_0")
        sizes = [size, 224] if size in self.family.sizes else [224]
        pattern = self.family.weights_file
        names = [pattern.format(name=name, variant=variant, width=width, size=s) for s in sizes]
        return list(dict.fromkeys(filter(None, names)))

    def rescaling(self) -> tuple[Any, Any]:
        """(scale, offset) of pixels 0 to 255 that the weights expect."""
        return RESCALING[self.family.preprocessing]

    def build(self, size: int, weights: str | None = None) -> keras.Model:
        """The network without its top: float (n, size, size, 3) to features, untrained or ImageNet.

        `weights="imagenet"` lets Keras download.
        """
        shape = (size, size, 3)
        if self.name == SMALL:
            return small_network(shape)
        function, _, width = self.name.partition("-")
        options = {"alpha": float(width)} if width else {}
        make = getattr(keras.applications, function)
        return make(include_top=False, weights=weights, input_shape=shape, **options)


def small_network(input_shape: tuple[int, int, int] = (192, 192, 3)) -> keras.Model:
    """SmallNet, which learns from scratch in a minute on two cores.

    Images (batch, height, width, 3), float in -1..1, to (batch, height/32, width/32, 256), by a
    pooling layer and five 3 × 3 convolutions, each with BatchNorm and ReLU: 0.66 million weights.
    The convolutions are plain, because on CPUs depthwise ones take longer for the same score.
    """
    images = keras.Input(input_shape)
    features = keras.layers.AveragePooling2D(2)(images)
    for number, width in enumerate(_WIDTHS):
        features = keras.layers.Conv2D(
            width, 3, strides=2 if number < 4 else 1, padding="same", use_bias=False
        )(features)
        # Momentum 0.9: training has only a few hundred steps to follow the statistics.
        features = keras.layers.BatchNormalization(momentum=0.9)(features)
        features = keras.layers.ReLU()(features)
    return keras.Model(images, features, name="small_network")


@dataclass(frozen=True)
class Weights:
    """The weights that a backbone begins with.

    `setting`: "none" leaves the network untrained, "imagenet" lets Keras download the weights or
    take them from its cache, "auto" takes the file of that name that was found, else downloads,
    "file" takes the file at `path`.
    """

    backbone: Backbone
    setting: str
    path: Path | None = None

    @classmethod
    def find(cls, backbone: Backbone, size: int, weights: str) -> Weights:
        """The weights that a setting means for images of `size` pixels.

        `weights`: "none", "imagenet", "auto", which searches the Kaggle inputs and the
        `LOCAL_FOLDERS` for a file with Keras's own name, the path of a file, or the name of one
        among the Kaggle inputs. Raises `WeightsError` for ImageNet weights that there are none of.
        """
        if weights not in ("none", "imagenet", "auto"):
            path = Path(weights).expanduser()
            inputs = attached(weights) if path.name == weights and not path.is_file() else []
            return cls(backbone, "file", next(iter(inputs), path))
        names = backbone.weights_files(size)
        if not names and not backbone.preset and weights != "none":
            if weights == "imagenet":
                raise WeightsError(f"{backbone.name} has no ImageNet weights: set weights='none'")
            return cls(backbone, "none")
        if weights != "auto":
            return cls(backbone, weights)
        # Keras 3 writes the same weights under NAME.weights.h5
        names += [name.removesuffix(".h5") + ".weights.h5" for name in names]
        folders = [repository() / Path(folder).expanduser() for folder in LOCAL_FOLDERS]
        for name in names:
            for place in (*(folder / name for folder in folders), *attached(name)):
                if place.is_file():
                    return cls(backbone, weights, place)
        return cls(backbone, weights)

    @property
    def origin(self) -> dict[str, str]:
        """Setting, file and licence of the weights, for the model's card."""
        scratch = self.setting == "none"
        licence = "none: trained from scratch" if scratch else self.backbone.licence
        file = self.path.name if self.path else ""
        return {"setting": self.setting, "file": file, "licence": licence}

    def load(self, size: int) -> keras.Model:
        """Build the backbone with them; raises `WeightsError`, whose message says what to do."""
        if self.backbone.preset and self.setting in ("imagenet", "auto"):
            return self.backbone.build(size, "imagenet")  # the preset's own, whatever they learnt
        if self.setting != "none" and not self.path:
            return self.download(size)
        network = self.backbone.build(size)
        if self.path:
            load_file(network, self.path, self.backbone.name)
        return network

    def download(self, size: int, *, chosen: bool = True) -> keras.Model | None:
        """The network with the weights that Keras downloads and keeps, or None for a run without.

        Raises `WeightsError` and returns None as `petals.pretrained.downloaded` does. Where the
        server does not answer, nothing is built.
        """
        files = self.backbone.weights_files(size)

        def build() -> keras.Model:
            if not any(map(kept_by_keras, files)):
                ask_for_server()
            return self.backbone.build(size, "imagenet")

        return downloaded(build, self.backbone.name, " or ".join(files), chosen=chosen)


def at_hand(name: str, size: int, setting: str, *, chosen: bool) -> bool:
    """Whether a backbone's weights are here or can be downloaded, which is done now.

    A run asks before it reads its photos. `setting`: as for `Weights.find`; `chosen`: whether the
    user asked for this backbone. Raises `WeightsError` where a run cannot do without the weights.
    """
    if Facts(name).is_hub:
        return True  # `registry.require_presets` has asked
    weights = Weights.find(Backbone(name), size, setting)
    if weights.path or weights.setting == "none":
        return True
    return weights.download(size, chosen=chosen) is not None


def load_file(network: keras.Model, path: Path, name: str) -> None:
    """Load a weights file of either Keras generation, or of `petals.models.saved`, into a network.

    Raises `WeightsError` unless the file has this network's weights. After an error the network
    must not be used: some of its weights may be replaced.
    """
    with saved.opened(path) as file:
        if file.attrs.get("format") == saved.FORMAT:
            saved.fill(file, name, network)
            return
        legacy = "layer_names" in file.attrs or "model_weights" in file
    try:
        # Keras chooses its reader by the extension, but files in the old format have either one.
        with tempfile.TemporaryDirectory() as folder:
            name_for_keras = "old.h5" if legacy else "new.weights.h5"
            link = Path(folder, name_for_keras)
            link.symlink_to(path.resolve())
            network.load_weights(str(link))
    except Exception as error:  # Keras raises ValueError, KeyError, TypeError by the mismatch
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise WeightsError(f"{path} does not fit {name}: {first}") from None


def parts(layer: Any) -> list[Any]:
    """The layers of a block that keras_hub makes one layer of; another layer is its only part."""
    of_preset = type(layer).__module__.startswith("keras_hub.")
    compound = of_preset and not layer._trainable_variables  # only its layers have variables
    inner = layer._flatten_layers(include_self=False, recursive=False) if compound else ()
    return list(inner) or [layer]
