"""First layers on blocks of pixels: the same network, for a TPU's channels."""

import numpy as np
import pytest
from tensorflow import keras

from petals.models import packing
from petals.models.backbones import Backbone
from petals.models.build import build, set_trainable


def images(size=64):
    return np.random.default_rng(0).uniform(-1, 1, (3, size, size, 3)).astype("float32")


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["MobileNet-0.25", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "EfficientNetV2B0"],
)
def test_a_packed_network_gives_what_the_network_gives(name):
    network = Backbone(name).build(64)
    result = packing.packed(network)
    assert sum(isinstance(layer, packing.OnBlocks) for layer in result.layers) >= 3
    assert [id(v) for v in result.weights] == [id(v) for v in network.weights]
    assert np.allclose(network(images()), result(images()), rtol=1e-4, atol=1e-5)


def first_layers(network, size=16):
    inputs = keras.Input((size, size, 3))
    x = inputs
    for layer in network:
        x = layer(x)
    return keras.Model(inputs, x)


def strided(width, **options):
    return keras.layers.Conv2D(width, 3, strides=2, **{"padding": "same", **options})


def test_training_changes_packed_layers_alike():
    layers = keras.layers
    network = first_layers(
        [
            strided(4),
            layers.DepthwiseConv2D(5, padding="same"),
            layers.BatchNormalization(),
            strided(6),
        ]
    )
    norm, first = network.layers[3], network.get_weights()
    trained = []
    for model in (network, packing.packed(network)):
        network.set_weights(first)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        model.train_on_batch(images(16), np.ones((3, 4, 4, 6)))
        trained.append(network.get_weights())
    assert not np.allclose(first[-4], norm.moving_mean)  # the statistics of the batch
    for plain, packed in zip(*trained, strict=True):
        assert np.allclose(plain, packed, atol=1e-5)


@pytest.mark.parametrize(
    ("layers", "size"),
    [
        ([strided(4), keras.layers.MaxPooling2D()], 16),  # a layer that is not known on blocks
        ([strided(4), keras.layers.ReLU()], 16),  # blocks to the end
        ([strided(4), strided(4)], 18),  # an image that blocks do not divide
        ([strided(4, padding="valid"), strided(4)], 16),  # a map of another size
        ([keras.layers.Conv2D(4, 3)], 16),
    ],
)
def test_what_cannot_be_packed_stays_as_it_is(layers, size):
    network = first_layers(layers, size)
    assert packing.packed(network) is network


def test_a_copy_of_a_packed_network_has_weights_of_its_own():
    network = first_layers([strided(4), keras.layers.BatchNormalization(), strided(6)])
    result = packing.packed(network)
    copy = keras.models.clone_model(result)
    copy.set_weights(result.get_weights())
    assert np.allclose(copy(images(16)), result(images(16)), atol=1e-6)
    assert {id(v) for v in copy.weights}.isdisjoint(id(v) for v in result.weights)


def test_a_packed_classifier_is_trained_and_named_like_any_other():
    plain, packed = (
        build("MobileNet-0.25", 64, 5, weights="none", depths=True, packed=choice)
        for choice in (False, True)
    )
    packed.backbone.set_weights(plain.backbone.get_weights())
    photos = np.random.default_rng(0).integers(0, 255, (2, 64, 64, 3), np.uint8)
    assert np.allclose(plain.features(photos), packed.features(photos), atol=1e-5)
    for what in ("all", "last:3", "none"):
        counts = []
        for classifier in (plain, packed):
            set_trainable(classifier, what)
            counts.append(len(classifier.model.trainable_weights))
        assert counts[0] == counts[1]
    assert [w.shape for w in plain.model.weights] == [w.shape for w in packed.model.weights]
