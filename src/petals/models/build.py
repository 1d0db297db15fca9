"""A classifier: a backbone with its preprocessing, pooling, dropout and a softmax head."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
from tensorflow import keras

from petals.errors import SettingError
from petals.models import backbones, hub
from petals.models import weights as weights_
from petals.models.classifier import HEAD, POOLED, Classifier, feature_maps


def build(
    name: str,
    size: int,
    num_classes: int,
    *,
    weights: str = "auto",
    dropout: float = 0.0,
    hub_config: Mapping[str, Any] | None = None,
    features: str = "last",
) -> Classifier:
    """A classifier on a backbone of the registry.

    `weights` as in `petals.models.weights.load_backbone`; `dropout` in [0, 1) is applied to the
    pooled features, which come from the backbone's last layer or from several depths;
    `hub_config`: the network of a preset, where it was saved. The softmax is float32 under every
    dtype policy. Raises `SettingError` for an unknown name or a size the backbone cannot take,
    `WeightsError` for weights.
    """
    entry = hub.find(name, hub_config) if hub_config else backbones.find_backbone(name)
    if not 0 <= dropout < 1:
        raise SettingError(f"dropout {dropout}: at least 0, less than 1")
    try:
        network = weights_.load_backbone(entry, size, weights)
    except ValueError as error:
        if "Input size must be" not in str(error) and "negative dimension" not in str(error):
            raise
        raise SettingError(f"image_size {size} is too small for {name}: {error}") from None
    _share_statistics(network)
    images = keras.Input((size, size, 3), dtype="uint8", name="image")
    pooled = _pooled(network, features, _preprocessed(entry, images))
    dropped = keras.layers.Dropout(dropout, name="dropout")(pooled) if dropout else pooled
    probabilities = keras.layers.Dense(
        num_classes, activation="softmax", dtype="float32", name=HEAD
    )(dropped)
    return Classifier(
        model=keras.Model(images, probabilities, name=f"{_identifier(name)}_classifier"),
        features=keras.Model(images, pooled, name=f"{_identifier(name)}_features"),
        backbone=network,
        name=name,
    )


def _preprocessed(entry: backbones.Backbone, images: Any) -> Any:
    if isinstance(entry, hub.HubBackbone):
        scale, offset = entry.rescaling()
        return keras.layers.Rescaling(scale, offset=offset, name="preprocessing")(images)
    return backbones.PREPROCESSING[entry.preprocessing](images)


def _pooled(network: keras.Model, features: str, pixels: Any) -> Any:
    """The mean of each channel, at the depths that `features` names, deepest last.

    A vision transformer gives its class token, or the mean of its tokens. Raises `SettingError`
    where it is asked for more depths.
    """
    if len(network.output.shape) != 4:
        if features != "last":
            raise SettingError(
                f"features={features} pools the maps of convolutions, and {network.name} gives "
                "tokens: set features=last"
            )
        tokens = network(pixels)
        if getattr(network, "use_class_token", True):  # which it learnt with
            return keras.layers.Activation("linear", name=POOLED)(tokens[:, 0])
        return keras.layers.GlobalAveragePooling1D(name=POOLED)(tokens)
    maps = feature_maps(network, features)
    if len(maps) == 1:
        return keras.layers.GlobalAveragePooling2D(name=POOLED)(network(pixels))
    tapped = keras.Model(network.input, maps, name=network.name)
    means = [keras.layers.GlobalAveragePooling2D()(one) for one in tapped(pixels)]
    return keras.layers.Concatenate(name=POOLED)(means)


def _share_statistics(network: keras.Model) -> None:
    # Under tf.distribute each replica would normalize by its own few images; JAX's see the
    # whole batch in any case. This makes every runtime train the same.
    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.synchronized = True
            layer.fused = False  # tf_keras: the fused op knows nothing of other replicas


def _identifier(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def set_trainable(classifier: Classifier, what: str, *, freeze_batch_norm: bool = True) -> None:
    """Choose what training may change, besides the head, which always is.

    `what`: "none", "all", "last:N" (the last N layers of the backbone that have weights) or
    "block:NAME" (its layers whose names begin with NAME). BatchNorm keeps its ImageNet
    statistics and scales unless `freeze_batch_norm` is off: batches of a few dozen images of
    one competition estimate them badly. Raises `SettingError` that names the blocks there are.
    """
    parts = list(_parts(classifier))
    chosen = _chosen([layer for layer in parts if layer.weights], what)
    classifier.backbone.trainable = True
    for layer in parts:
        norm = isinstance(layer, keras.layers.BatchNormalization) and freeze_batch_norm
        layer.trainable = layer in chosen and not norm
    if not chosen:
        classifier.backbone.trainable = False
    # On several JAX devices Keras keeps where each variable lies, as of what was trainable then.
    classifier.model.predict_function = None


def _parts(classifier: Classifier) -> Iterator[keras.layers.Layer]:
    """The layers that are trained or not; in place of a preset's compound layers their layers."""
    for layer in classifier.backbone.layers:
        of_preset = type(layer).__module__.startswith("keras_hub.")
        compound = of_preset and not layer._trainable_variables  # none but its layers'
        inner = layer._flatten_layers(include_self=False, recursive=False) if compound else ()
        yield from list(inner) or [layer]


def _chosen(layers: list[keras.layers.Layer], what: str) -> list[keras.layers.Layer]:
    kind, _, value = what.partition(":")
    if what == "none":
        return []
    if what == "all":
        return layers
    if kind == "last" and value.isdigit() and int(value) > 0:
        return layers[-int(value) :]
    if kind == "block" and value:
        found = [layer for layer in layers if layer.name.startswith(value)]
        if found:
            return found
        names = sorted({layer.name.split("_")[0] for layer in layers})
        raise SettingError(f"no layer's name begins with {value!r}: blocks {', '.join(names)}")
    raise SettingError(f"fine_tune {what!r}: none, all, last:N or block:NAME")


def parameter_counts(model: keras.Model) -> tuple[int, int]:
    """(total, trainable) numbers of parameters."""

    def count(variables: list) -> int:
        total = 0
        for variable in variables:
            size = 1
            for dimension in variable.shape:
                size *= int(dimension)
            total += size
        return total

    return count(model.weights), count(model.trainable_weights)
