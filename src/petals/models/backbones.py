"""The registry of backbones. A new backbone is one line of the table.

Every backbone takes uint8 images with values 0 to 255: the preprocessing that its ImageNet
weights expect is part of the backbone.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tensorflow import keras

from petals.errors import SettingError

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
    sizes: tuple[int, ...] = ()  # ImageNet weights exist for these too: {size} in the file's name

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
            network = small_network(shape)
        else:
            make = getattr(keras.applications, self.function or self.name)
            network = make(include_top=False, weights=weights, input_shape=shape, **self.arguments)
        return network


SMALL = "SmallNet"
HUB = "hub:"  # and a preset of keras_hub: see petals.models.hub
SIZES = (128, 160, 192)  # pixels; Keras has weights of MobileNet for these and for 224


def _notop(stem: str) -> str:
    return f"{stem}_weights_tf_dim_ordering_tf_kernels_notop.h5"


def _narrow(width: str, written: str) -> Backbone:
    file = f"mobilenet_{written}_{{size}}_tf_no_top.h5"
    arguments = {"alpha": float(width)}
    return Backbone(f"MobileNet-{width}", "tf", file, "MobileNet", arguments, SIZES)


# Written out: the desk reads these names, and cannot import TensorFlow for them.
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


def find_backbone(name: str) -> Backbone:
    """The registry's entry, or a preset's; raises `SettingError` with the nearest name."""
    if name in BACKBONES:
        return BACKBONES[name]
    if name.startswith(HUB):
        from petals.models import hub  # whose class builds on the one above

        return hub.find(name)
    near = difflib.get_close_matches(name, BACKBONES, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(BACKBONES)}"
    raise SettingError(f"no backbone {name!r}: {hint}")


def _tf(x: Any) -> Any:
    return keras.layers.Rescaling(1 / 127.5, offset=-1.0, name="preprocessing")(x)


def _torch(x: Any) -> Any:
    scale = [1 / (255 * std) for std in IMAGENET_STD]
    offset = [-mean / std for mean, std in zip(IMAGENET_MEAN, IMAGENET_STD, strict=True)]
    return keras.layers.Rescaling(scale, offset=offset, name="preprocessing")(x)


def _caffe(x: Any) -> Any:
    centred = keras.layers.Rescaling(1.0, offset=[-m for m in CAFFE_MEAN_RGB], name="centre")(x)
    return centred[..., ::-1]  # VGG's weights come from Caffe, which reads blue first


def _inside(x: Any) -> Any:
    return keras.layers.Rescaling(1.0, name="preprocessing")(x)  # to float, no more


PREPROCESSING: dict[str, Callable[[Any], Any]] = {
    "tf": _tf,
    "torch": _torch,
    "caffe": _caffe,
    "inside": _inside,
}


def correct_normalization(network: keras.Model) -> None:
    """Give EfficientNetB0-B7 the normalization they were trained with.

    Their weight files hold the standard deviation where Keras's layer wants the variance
    (tensorflow/tensorflow#49930). `weights="imagenet"` corrects this with one more layer in the
    network. Setting the two constants has the same effect, and keeps one network for downloaded,
    local and no weights.
    """
    for layer in network.layers:
        # EfficientNetV2's layers get their constants as arguments and have no variables for them.
        if isinstance(layer, keras.layers.Normalization) and hasattr(layer, "adapt_mean"):
            layer.adapt_mean.assign(IMAGENET_MEAN)
            layer.adapt_variance.assign([std**2 for std in IMAGENET_STD])
            layer.finalize_state()
