"""A classifier: a backbone with its preprocessing, pooling, dropout and a softmax head."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.errors import SettingError
from petals.models import hub, packing
from petals.models.backbones import IMAGENET_MEAN, IMAGENET_STD, Backbone, Weights, parts
from petals.models.depths import feature_maps
from petals.registry import BACKBONES, HUB, Facts

HEAD = "head"
POOLED = "pooled"  # the layer whose output the features are
SIDE_BY_SIDE = "backbone_{}"  # the layers of the features of several backbones


@dataclass(frozen=True)
class Classifier:
    """A model and the parts that are trained separately.

    `model` maps uint8 (n, size, size, 3) to class probabilities, float32 (n, classes);
    `features` maps the same to the pooled features, float (n, width). `beside`: further backbones
    by name, which are never trained, and whose features follow those of `backbone`.
    """

    model: keras.Model
    features: keras.Model
    backbone: keras.Model
    name: str
    beside: Mapping[str, keras.Model] = field(default_factory=dict)

    @property
    def head(self) -> keras.layers.Layer:
        """The softmax layer."""
        return self.model.get_layer(HEAD)

    @property
    def depths(self) -> bool:
        """Whether the features come from several depths of the backbone."""
        own = self.features.get_layer(SIDE_BY_SIDE.format(0)) if self.beside else self.features
        last = own.layers[-1]
        return last.name == POOLED and isinstance(last, keras.layers.Concatenate)


def build(
    name: str,
    size: int,
    num_classes: int,
    *,
    dropout: float = 0.0,
    beside: Mapping[str, Mapping[str, Any] | None] | None = None,
    **options: Any,
) -> Classifier:
    """A classifier on a backbone, as 02_train builds it.

    `dropout` in [0, 1) is applied to the features; `beside`: further backbones, as for
    `build_side_by_side`; `options`: of `build_features`. The softmax is float32 under every dtype
    policy.
    """
    beside = beside or {}
    names = {name: options.pop("hub_config", None), **beside}
    features, (backbone, *others) = build_side_by_side(names, size, **options)
    x = keras.layers.Dropout(dropout, name="dropout")(features.output)
    outputs = keras.layers.Dense(num_classes, activation="softmax", dtype="float32", name=HEAD)(x)
    model = keras.Model(features.input, outputs, name="classifier")
    more = dict(zip(beside, others, strict=True))
    return Classifier(model, features, backbone, name, more)


def build_side_by_side(
    names: Mapping[str, Mapping[str, Any] | None], size: int, **options: Any
) -> tuple[keras.Model, list[keras.Model]]:
    """(a model from uint8 (n, size, size, 3) to the features of all backbones, the backbones).

    `names`: the backbones in the order of their features, each with the configuration of its
    preset if that was saved, else None; `options`: of `build_features`. The size has to suit the
    first backbone; another one gets the photos at the next smaller size that its patches divide.
    """
    if len(names) == 1:
        ((name, config),) = names.items()
        features, network = build_features(name, size, hub_config=config, **options)
        return features, [network]
    images = keras.Input((size, size, 3), dtype="uint8", name="image")
    outputs, networks = [], []
    for number, (name, config) in enumerate(names.items()):
        own = size if number == 0 else Facts(name).nearest_size(size)
        features, network = build_features(name, own, hub_config=config, **options)
        part = keras.Model(features.input, features.output, name=SIDE_BY_SIDE.format(number))
        outputs.append(part(images if own == size else _resized(images, own)))
        networks.append(network)
    joined = keras.layers.Concatenate(name="side_by_side")(outputs)
    return keras.Model(images, joined, name="features"), networks


def _resized(images: Any, size: int) -> Any:
    pixels = keras.ops.image.resize(
        keras.ops.cast(images, "float32"),
        (size, size),
        interpolation="bilinear",
        antialias=True,
        data_format="channels_last",
    )
    return keras.ops.cast(keras.ops.round(pixels), "uint8")


def build_features(
    name: str,
    size: int,
    *,
    weights: str = "auto",
    depths: bool = False,
    hub_config: Mapping[str, Any] | None = None,
    packed: bool | None = None,
) -> tuple[keras.Model, keras.Model]:
    """(a model from uint8 (n, size, size, 3) to features (n, width), the backbone within it).

    `weights` as in `petals.models.backbones.Weights.find`. The features are those of the network's
    last output, with `depths` also of up to four before it: the mean of each channel of a map; of
    tokens, the class token, if there is one, followed by the mean over the patches.
    `hub_config`: the network of a preset, if it was saved. `packed`: the first layers as
    `petals.models.packing` computes them, which None does on a TPU with trained weights, where
    BatchNorm stays frozen. Raises `SettingError` for an unknown
    name or a size that the backbone cannot take, `WeightsError` for weights.
    """
    entry = hub.find(name, hub_config) if hub_config else find_backbone(name)
    if problem := Facts(name).size_problem(size):
        raise SettingError(problem)
    network = Weights.find(entry, size, weights).load(size)
    _correct_normalization(network)
    _share_statistics(network)
    images = keras.Input((size, size, 3), dtype="uint8", name="image")
    inner = network
    if depths:
        inner = keras.Model(network.inputs[0], feature_maps(network), name=network.name)
    if packed or (packed is None and weights != "none" and packing.on_tpu()):
        inner = inner if entry.preset else packing.packed(inner)
    pooled = _pooled_outputs(network, inner, preprocess(entry, images))
    return keras.Model(images, pooled, name="features"), network


def find_backbone(name: str) -> Backbone:
    """The registry's entry, or a preset's; raises `SettingError` with the nearest name."""
    known = name in BACKBONES or name.startswith(HUB)
    if known and Facts(name).is_hub:
        return hub.find(name)
    if known:
        return Backbone(name)
    near = difflib.get_close_matches(name, BACKBONES, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(BACKBONES)}"
    raise SettingError(f"no backbone {name!r}: {hint}")


def preprocess(entry: Backbone, images: Any) -> Any:
    """Pixels 0 to 255 as the backbone's weights expect them."""
    scale, offset = entry.rescaling()
    caffe = entry.family.preprocessing == "caffe"
    name = "centre" if caffe else "preprocessing"
    pixels = keras.layers.Rescaling(scale, offset=offset, name=name)(images)
    return pixels[..., ::-1] if caffe else pixels  # VGG's weights come from Caffe: blue first


def _pooled_outputs(network: keras.Model, inner: keras.Model, pixels: Any) -> Any:
    named = isinstance(inner.input, dict)  # some of keras_hub name their only input
    output = inner(dict.fromkeys(inner.input, pixels) if named else pixels)
    if isinstance(output, list):  # of several depths
        return keras.layers.Concatenate(name=POOLED)([_pooled(each, network) for each in output])
    return _pooled(output, network, name=POOLED)


def _pooled(output: Any, network: keras.Model, name: str | None = None) -> Any:
    if len(output.shape) == 4:
        return keras.layers.GlobalAveragePooling2D(name=name)(output)
    if len(output.shape) == 2:  # pooled already
        return output
    # The shape does not tell: that of SigLIP's tokens has one more than there are.
    registers = getattr(network, "num_register_tokens", None)
    others = int(getattr(network, "use_class_token", False)) if registers is None else 1 + registers
    mean = keras.layers.GlobalAveragePooling1D()(output[:, others:])
    return keras.layers.Concatenate()([output[:, 0], mean]) if others else mean


def _correct_normalization(network: keras.Model) -> None:
    """Give EfficientNetB0-B7 the normalization they were trained with.

    Their weight files have the standard deviation where Keras's layer expects the variance
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


def _share_statistics(network: keras.Model) -> None:
    # Under tf.distribute each replica would normalize by its own few images; JAX's see the
    # whole batch in any case. This makes every runtime train the same.
    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.synchronized = True
            layer.fused = False  # tf_keras: the fused op ignores the other replicas


def set_trainable(classifier: Classifier, what: str, *, freeze_batch_norm: bool = True) -> None:
    """Choose what training may change besides the head, which it always changes.

    `what`: "none", "all", "last:N" (the last N layers of the backbone that have weights) or
    "block:NAME" (its layers whose names begin with NAME). BatchNorm keeps its ImageNet
    statistics and scales unless `freeze_batch_norm` is off: batches of a few dozen images of
    one competition estimate them badly. Raises a `SettingError` that lists the blocks.
    """
    layers = [part for layer in classifier.backbone.layers for part in parts(layer)]
    chosen = _chosen([layer for layer in layers if layer.weights], what)
    classifier.backbone.trainable = True
    for layer in layers:
        norm = isinstance(layer, keras.layers.BatchNormalization) and freeze_batch_norm
        layer.trainable = layer in chosen and not norm
        if getattr(layer, "use_mask_token", False):  # only DINO's own training used it
            layer.mask_token.trainable = False
    if not chosen:
        classifier.backbone.trainable = False
    # On several JAX devices Keras keeps where each variable lies, as of what was trainable then.
    classifier.model.predict_function = None


def _chosen(layers: list[keras.layers.Layer], what: str) -> list[keras.layers.Layer]:
    kind, _, value = what.partition(":")
    if what == "none":
        return []
    if what == "all":
        return layers
    if kind == "last" and value.isdigit() and int(value) > 0:
        return layers[-int(value) :]
    if kind == "block" and value:
        if block := [layer for layer in layers if layer.name.startswith(value)]:
            return block
        names = sorted({layer.name.split("_")[0] for layer in layers})
        raise SettingError(f"no layer's name begins with {value!r}: blocks {', '.join(names)}")
    raise SettingError(f"fine_tune {what!r}: choose none, all, last:N or block:NAME")


def parameter_counts(model: keras.Model) -> tuple[int, int]:
    """(total, trainable) numbers of parameters."""
    trainable = sum(int(np.prod(variable.shape)) for variable in model.trainable_weights)
    return model.count_params(), trainable
