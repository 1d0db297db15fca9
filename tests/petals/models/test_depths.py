"""Features pooled at several depths, of any backbone and under any Keras."""

import numpy as np
from tensorflow import keras
from tuning import pixels, untrained

from petals.models.backbones import Backbone
from petals.models.build import set_trainable
from petals.models.depths import feature_maps


def names(network):
    producer = {id(layer.output): layer.name for layer in network.layers}
    return [producer[id(tensor)] for tensor in feature_maps(network)]


def test_mobilenets_depths_are_the_ends_of_its_blocks():
    network = Backbone("MobileNet-0.25").build(64)
    assert names(network) == [f"conv_pw_{block}_relu" for block in (7, 9, 11, 12, 13)]


def test_depths_lie_where_all_paths_meet():
    images = keras.Input((32, 32, 3))
    x = keras.layers.Conv2D(4, 3, padding="same")(images)
    for number in range(6):
        inside = keras.layers.ReLU(name=f"inside_{number}")(x)
        inside = keras.layers.Conv2D(4, 3, padding="same")(inside)
        x = keras.layers.Add(name=f"sum_{number}")([x, inside])
    network = keras.Model(images, keras.layers.ReLU(name="top")(x))
    assert names(network) == ["sum_2", "sum_3", "sum_4", "top"]


def test_a_classifier_on_depths_is_one_model():
    classifier, last = (untrained(depths=depths) for depths in (True, False))
    assert (classifier.depths, last.depths) == (True, False)
    width = classifier.features.output_shape[-1]
    assert width == 96 + 256 == classifier.head.get_weights()[0].shape[0]
    values = np.asarray(classifier.features(pixels()))
    last.backbone.set_weights(classifier.backbone.get_weights())
    assert np.allclose(values[:, -256:], last.features(pixels()), atol=1e-5)


def test_the_trained_layers_do_not_depend_on_the_features():
    classifier = untrained(depths=True)
    for what, trained in (("none", 2), ("last:2", 3), ("all", 7)):
        set_trainable(classifier, what)
        assert len(classifier.model.trainable_weights) == trained
