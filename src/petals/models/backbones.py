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
from petals.models.small_network import small_network

# The preprocessing of keras.applications, by Keras's own names of the modes
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CAFFE_MEAN_RGB = (123.68, 116.779, 103.939)


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
SIZES = (128, 160, 192)  # pixels; Keras has weights of MobileNet for these and for 224


def _notop(stem: str) -> str:
    return f"{stem}_weights_tf_dim_ordering_tf_kernels_notop.h5"


def _table() -> dict[str, Backbone]:
    entries = [
        Backbone(SMALL, "tf"),
        Backbone("VGG16", "caffe", _notop("vgg16")),
        Backbone("VGG19", "caffe", _notop("vgg19")),
        Backbone("ResNet50V2", "tf", _notop("resnet50v2")),
        Backbone("Xception", "tf", _notop("xception")),
        Backbone("InceptionV3", "tf", _notop("inception_v3")),
        Backbone("DenseNet121", "torch", _notop("densenet121")),
        Backbone("DenseNet201", "torch", _notop("densenet201")),
        Backbone("MobileNet", "tf", "mobilenet_1_0_{size}_tf_no_top.h5", sizes=SIZES),
        Backbone("MobileNetV2", "tf", sizes=(96, *SIZES),
                 weights_file="mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_{size}_no_top.h5"),
    ]  # fmt: skip
    for alpha, width in (("0.25", "2_5"), ("0.5", "5_0"), ("0.75", "7_5")):
        entries.append(
            Backbone(f"MobileNet-{alpha}", "tf", f"mobilenet_{width}_{{size}}_tf_no_top.h5",
                     "MobileNet", {"alpha": float(alpha)}, sizes=SIZES)
        )  # fmt: skip
    for kind in ("Small", "Large"):
        file = f"weights_mobilenet_v3_{kind.lower()}_224_1.0_float_no_top_v2.h5"
        entries.append(Backbone(f"MobileNetV3{kind}", "inside", file))
    for n in range(8):
        entries.append(Backbone(f"EfficientNetB{n}", "inside", f"efficientnetb{n}_notop.h5"))
    for kind in ("B0", "B1", "B2", "B3", "S", "M", "L"):
        file = f"efficientnetv2-{kind.lower()}_notop.h5"
        entries.append(Backbone(f"EfficientNetV2{kind}", "inside", file))
    for kind in ("Tiny", "Small", "Base"):
        file = f"convnext_{kind.lower()}_notop.h5"
        entries.append(Backbone(f"ConvNeXt{kind}", "inside", file))
    return {entry.name: entry for entry in entries}


BACKBONES: dict[str, Backbone] = _table()


def find_backbone(name: str) -> Backbone:
    """The registry's entry; raises `SettingError` with the nearest name."""
    if name in BACKBONES:
        return BACKBONES[name]
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
