"""The registry of backbones, and their pretrained weights, which are found by file name.

Every backbone takes uint8 images with values 0 to 255: the preprocessing that its ImageNet
weights expect is part of the backbone. A new backbone is one line of the table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
from tensorflow import keras

from petals import storage
from petals.errors import WeightsError
from petals.kaggle import find_file, mounts, on_kaggle
from petals.models import saved
from petals.models.card import licence

# The preprocessing of keras.applications, by Keras's own names of the modes
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CAFFE_MEAN_RGB = (123.68, 116.779, 103.939)
_WIDTHS = (24, 48, 96, 192, 256)  # SmallNet's feature maps; the first four also halve the image


@dataclass(frozen=True)
class Backbone:
    """How to build a backbone, feed it, and find its ImageNet weights."""

    name: str
    preprocessing: str  # "tf" | "torch" | "caffe" | "inside" (the network does it itself)
    weights_file: str = ""  # Keras's own name of its ImageNet file without the top
    function: str = ""  # in keras.applications; the name itself where empty
    arguments: dict[str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()  # ImageNet weights also exist for these: {size} in the file's name
    preset = False  # whether it is from keras_hub, with its own weights

    def weights_files(self, size: int) -> list[str]:
        """The file names that fit an image size, best first."""
        if not self.sizes:
            return [self.weights_file] if self.weights_file else []
        sizes = [size, 224] if size in self.sizes else [224]
        return [self.weights_file.format(size=s) for s in sizes]

    def build(self, size: int, weights: str | None = None) -> keras.Model:
        """The network without its top: float (n, size, size, 3) to features, untrained or ImageNet.

        `weights="imagenet"` lets Keras download.
        """
        shape = (size, size, 3)
        if self.name == SMALL:
            return small_network(shape)
        make = getattr(keras.applications, self.function or self.name)
        return make(include_top=False, weights=weights, input_shape=shape, **self.arguments)


LOCAL_FOLDERS = ("weights", "data/weights", "~/.keras/models")
SMALL = "SmallNet"
HUB = "hub:"  # and a preset of keras_hub: see petals.models.hub
SIZES = (128, 160, 192)  # pixels; Keras has weights of MobileNet for these and for 224


def _notop(stem: str) -> str:
    return f"{stem}_weights_tf_dim_ordering_tf_kernels_notop.h5"


def _narrow(width: str, written: str) -> Backbone:
    file = f"mobilenet_{written}_{{size}}_tf_no_top.h5"
    arguments = {"alpha": float(width)}
    return Backbone(f"MobileNet-{width}", "tf", file, "MobileNet", arguments, SIZES)


# A literal: kernelkit reads these names without importing TensorFlow.
BACKBONES: dict[str, Backbone] = {
    "SmallNet": Backbone(SMALL, "tf"),
    "VGG16": Backbone("VGG16", "caffe", _notop("vgg16")),
    "VGG19": Backbone("VGG19", "caffe", _notop("vgg19")),
    "ResNet50V2": Backbone("ResNet50V2", "tf", _notop("resnet50v2")),
    "Xception": Backbone("Xception", "tf", _notop("xception")),
    "InceptionV3": Backbone("InceptionV3", "tf", _notop("inception_v3")),
    "DenseNet121": Backbone("DenseNet121", "torch", _notop("densenet121")),
    "DenseNet201": Backbone("DenseNet201", "torch", _notop("densenet201")),
    "MobileNet": Backbone("MobileNet", "tf", "mobilenet_1_0_{size}_tf_no_top.h5", sizes=SIZES),
    "MobileNetV2": Backbone(
        "MobileNetV2",
        "tf",
        "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_{size}_no_top.h5",
        sizes=(96, *SIZES),
    ),
    "MobileNet-0.25": _narrow("0.25", "2_5"),
    "MobileNet-0.5": _narrow("0.5", "5_0"),
    "MobileNet-0.75": _narrow("0.75", "7_5"),
    "MobileNetV3Small": Backbone(
        "MobileNetV3Small", "inside", "weights_mobilenet_v3_small_224_1.0_float_no_top_v2.h5"
    ),
    "MobileNetV3Large": Backbone(
        "MobileNetV3Large", "inside", "weights_mobilenet_v3_large_224_1.0_float_no_top_v2.h5"
    ),
    "EfficientNetB0": Backbone("EfficientNetB0", "inside", "efficientnetb0_notop.h5"),
    "EfficientNetB1": Backbone("EfficientNetB1", "inside", "efficientnetb1_notop.h5"),
    "EfficientNetB2": Backbone("EfficientNetB2", "inside", "efficientnetb2_notop.h5"),
    "EfficientNetB3": Backbone("EfficientNetB3", "inside", "efficientnetb3_notop.h5"),
    "EfficientNetB4": Backbone("EfficientNetB4", "inside", "efficientnetb4_notop.h5"),
    "EfficientNetB5": Backbone("EfficientNetB5", "inside", "efficientnetb5_notop.h5"),
    "EfficientNetB6": Backbone("EfficientNetB6", "inside", "efficientnetb6_notop.h5"),
    "EfficientNetB7": Backbone("EfficientNetB7", "inside", "efficientnetb7_notop.h5"),
    "EfficientNetV2B0": Backbone("EfficientNetV2B0", "inside", "efficientnetv2-b0_notop.h5"),
    "EfficientNetV2B1": Backbone("EfficientNetV2B1", "inside", "efficientnetv2-b1_notop.h5"),
    "EfficientNetV2B2": Backbone("EfficientNetV2B2", "inside", "efficientnetv2-b2_notop.h5"),
    "EfficientNetV2B3": Backbone("EfficientNetV2B3", "inside", "efficientnetv2-b3_notop.h5"),
    "EfficientNetV2S": Backbone("EfficientNetV2S", "inside", "efficientnetv2-s_notop.h5"),
    "EfficientNetV2M": Backbone("EfficientNetV2M", "inside", "efficientnetv2-m_notop.h5"),
    "EfficientNetV2L": Backbone("EfficientNetV2L", "inside", "efficientnetv2-l_notop.h5"),
    "ConvNeXtTiny": Backbone("ConvNeXtTiny", "inside", "convnext_tiny_notop.h5"),
    "ConvNeXtSmall": Backbone("ConvNeXtSmall", "inside", "convnext_small_notop.h5"),
    "ConvNeXtBase": Backbone("ConvNeXtBase", "inside", "convnext_base_notop.h5"),
}


def small_network(input_shape: tuple[int, int, int] = (192, 192, 3)) -> keras.Model:
    """SmallNet, which learns from scratch in a minute on two cores.

    It is a pooling layer, then five 3 × 3 convolutions, each with BatchNorm and ReLU.

    The convolutions are plain, because on CPUs depthwise convolutions take longer to train for the
    same score. Pooling 2 × 2 and four strides of 2 reduce a 192-pixel image to 6 × 6 × 256; the
    head takes the global average of these features. The network has 0.66 million weights.

    Args:
        input_shape: (height, width, 3), channels last; images are float in -1..1.

    Returns:
        A model from (batch, height, width, 3) to (batch, height/32, width/32, 256), without head.
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


def load_backbone(backbone: Backbone, size: int, weights: str) -> keras.Model:
    """Build a backbone and fill it.

    `weights`: "none" leaves the network untrained; "imagenet" lets Keras download the weights or
    take them from its cache; "auto" takes a file with Keras's own name from the Kaggle inputs or
    the `LOCAL_FOLDERS`, and else downloads; any other value is the path of a file, or the name of
    one among the Kaggle inputs.
    Raises `WeightsError`, whose message says what to do.
    """
    if backbone.preset and weights in ("imagenet", "auto"):
        return backbone.build(size, "imagenet")  # the preset's own weights, whatever they learnt
    network = backbone.build(size)
    if weights not in ("none", "imagenet", "auto"):
        load_file(network, _given(weights), backbone.name)
    elif weights != "none" and not backbone.weights_file:
        if weights == "imagenet":
            raise WeightsError(f"{backbone.name} has no ImageNet weights: set weights='none'")
    elif weights == "auto" and (path := find_weights_file(backbone, size)):
        load_file(network, path, backbone.name)
    elif weights != "none":
        network.set_weights(_download(backbone, size))
    return network


def describe(backbone: Backbone, size: int, weights: str) -> str:
    """A cache key for a weights setting: the digest of a file, or the name of a download."""
    path = _file(backbone, size, weights)
    return f"{backbone.name}-{storage.digest(path) if path else weights}"


def _file(backbone: Backbone, size: int, weights: str) -> Path | None:
    if weights == "auto":
        return find_weights_file(backbone, size)
    return None if weights in ("none", "imagenet") else _given(weights)


def _given(weights: str) -> Path:
    """The file at this path, or with this name in any attached dataset, model or notebook
    output."""
    path = Path(weights).expanduser()
    attached = find_file(weights) if path.name == weights and not path.is_file() else None
    return attached or path


def origin(backbone: Backbone, size: int, weights: str) -> dict[str, str]:
    """The origin of the weights for the model's card: setting, file and licence."""
    path = _file(backbone, size, weights)
    if not path and not backbone.weights_file and not backbone.preset:
        weights = "none"
    setting = weights if weights in ("none", "imagenet", "auto") else "file"
    terms = licence(backbone.name, setting)
    return {"setting": setting, "file": path.name if path else "", "licence": terms}


def stays(backbone: Backbone, size: int, weights: str) -> bool:
    """Whether a later run can find the same weights in a file, so a head needs no copy of them.

    Weights that a Kaggle session downloaded are lost with it; attached ones can be attached again.
    """
    path = _file(backbone, size, weights)
    return path is not None and (not on_kaggle() or path.absolute().is_relative_to(mounts()))


def find_weights_file(backbone: Backbone, size: int) -> Path | None:
    """The first file with one of Keras's own names, in the Kaggle inputs and local folders."""
    names = backbone.weights_files(size)
    # Keras 3 writes the same weights under NAME.weights.h5
    names += [name.removesuffix(".h5") + ".weights.h5" for name in names]
    return next(filter(None, map(find_local_file, names)), None)


def find_local_file(name: str) -> Path | None:
    """The first file of that name in the local folders and the Kaggle inputs."""
    if not name or Path(name).name != name:
        return None
    local = (Path(folder).expanduser() / name for folder in LOCAL_FOLDERS)
    return next((path for path in local if path.is_file()), None) or find_file(name)


def _download(backbone: Backbone, size: int) -> list:
    try:
        return backbone.build(size, weights="imagenet").get_weights()
    except Exception as error:  # urllib, http and ssl raise different kinds
        names = " or ".join(backbone.weights_files(size))
        # A session, rehearsed or not, does not have the local folders.
        way = f"Attach a Kaggle dataset or model with {names}"
        if not on_kaggle():
            way = f"Put {names} into weights/"
        raise WeightsError(
            f"the ImageNet weights of {backbone.name} could not be downloaded "
            f"({type(error).__name__}). {way}, or set weights='none'"
        ) from None


def load_file(network: keras.Model, path: Path, name: str) -> None:
    """Load a weights file of either Keras generation, or of `petals.models.saved`, into a network.

    Raises `WeightsError`, with both parameter counts, unless the file has exactly this network's
    weights. After an error the network must not be used: some of its weights may be replaced.
    """
    if not path.is_file():
        raise WeightsError(f"no weights file at {path}")
    if saved.holds(path):
        saved.load_backbone(network, path, name)
        return
    try:
        with h5py.File(path) as file:
            legacy = "layer_names" in file.attrs or "model_weights" in file
            stored = sum(dataset.size for dataset in _datasets(file))
    except OSError:
        raise WeightsError(f"{path} is not a Keras weights file (HDF5)") from None
    expected = network.count_params()
    if stored != expected:
        raise WeightsError(
            f"{path} does not hold the weights of {name}: it has {stored:,} parameters, "
            f"{name} has {expected:,}"
        )
    try:
        _load(network, path, legacy)
    except Exception as error:  # Keras raises ValueError, KeyError, TypeError by the mismatch
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise WeightsError(f"{path} does not fit {name}: {first}") from None


def _load(network: keras.Model, path: Path, legacy: bool) -> None:
    # Keras chooses its reader by the extension, but files in the old format have either one.
    if path.name.endswith(".weights.h5") != legacy:
        network.load_weights(str(path))
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / ("weights.h5" if legacy else "network.weights.h5")
        link.symlink_to(path.resolve())
        network.load_weights(str(link))


def _datasets(group: h5py.Group) -> Iterator[h5py.Dataset]:
    for name, item in group.items():
        if isinstance(item, h5py.Dataset):
            yield item
        elif not name.startswith(("optimizer", "seed_generator")):
            yield from _datasets(item)


def parts(layer: Any) -> list[Any]:
    """The layers of a block that keras_hub makes one layer of; another layer is its only part."""
    of_preset = type(layer).__module__.startswith("keras_hub.")
    compound = of_preset and not layer._trainable_variables  # only its layers have variables
    inner = layer._flatten_layers(include_self=False, recursive=False) if compound else ()
    return list(inner) or [layer]
