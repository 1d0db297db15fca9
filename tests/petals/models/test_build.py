import importlib
import sys

import numpy as np
import pytest
from tensorflow import keras
from tuning import pixels, untrained

from petals.errors import SettingError
from petals.models import backbones
from petals.models.backbones import Backbone
from petals.models.build import (
    _correct_normalization,
    build,
    parameter_counts,
    preprocess,
    set_trainable,
)
from petals.registry import BACKBONES, PRESETS, SMALL

# The first of each family is built in `make test`; to build them all takes a minute.
KERASS = [name for name in BACKBONES if name not in PRESETS]
EACH_FAMILY = {Backbone(name).family.prefix: name for name in reversed(KERASS)}.values()


@pytest.mark.parametrize("name", [name for name in EACH_FAMILY if name != SMALL])
def test_preprocessing_is_kerass_own(name):
    module = sys.modules[getattr(keras.applications, name.partition("-")[0]).__module__]
    images = keras.Input((8, 8, 3), dtype="uint8")
    ours = keras.Model(images, preprocess(Backbone(name), images))
    images = pixels(size=8)
    expected = module.preprocess_input(images.astype(np.float32))
    assert np.allclose(ours(images), expected, atol=1e-4)


@pytest.fixture
def requested(monkeypatch):
    """The files of weights that Keras asks for while it builds; none of them is there or read."""
    names = []
    files = importlib.import_module("keras.src.utils.file_utils")
    monkeypatch.setattr(files, "get_file", lambda fname, *_, **__: names.append(fname))
    monkeypatch.setattr(keras.Model, "load_weights", lambda *_, **__: None)
    return names


# Building takes seconds: one test looks at the network and at the name of its file.
@pytest.mark.long
@pytest.mark.parametrize("name", KERASS)
def test_every_backbone_builds_and_asks_keras_for_its_weights_file(name, requested):
    entry = Backbone(name)
    weights = None if name == SMALL else "imagenet"
    network = entry.build(96, weights)
    assert len(network.output_shape) == 4
    assert network.count_params() > 100_000
    assert requested == entry.weights_files(96)[:1]
    if len(set(entry.weights_files(192))) > 1:  # Keras has files of it for several sizes
        entry.build(192, weights)
        assert requested[1:] == entry.weights_files(192)[:1]
    keras.backend.clear_session()


@pytest.mark.parametrize("size", [192, 64])
def test_the_small_network_leaves_a_32nd_of_the_image(size):
    model = backbones.small_network((size, size, 3))
    assert model.output_shape == (None, size // 32, size // 32, 256)
    assert 600_000 < model.count_params() < 700_000


@pytest.mark.parametrize("name", ["EfficientNetB0", "EfficientNetV2B0"])
def test_efficientnet_normalizes_as_it_was_trained(name):
    network = Backbone(name).build(32)
    _correct_normalization(network)
    (layer,) = [x for x in network.layers if isinstance(x, keras.layers.Normalization)]
    expected = (pixels() / 255 - backbones.IMAGENET_MEAN) / np.array(backbones.IMAGENET_STD)
    normalized = keras.Model(network.input, layer.output)(pixels().astype(np.float32))
    assert np.allclose(normalized, expected, atol=1e-4)


@pytest.fixture(scope="module")
def mobilenet():
    return build("MobileNet-0.25", 64, 5, weights="none", dropout=0.2)


def test_a_classifier_takes_uint8_and_gives_probabilities(mobilenet):
    out = mobilenet.model(pixels(size=64)).numpy()
    assert (out.shape, out.dtype) == ((2, 5), np.float32)
    assert np.allclose(out.sum(axis=1), 1, atol=1e-5)
    assert mobilenet.features(pixels(size=64)).shape == (2, 256)


def test_the_head_stays_float32_under_mixed_precision(policy, narrow):
    policy("mixed_bfloat16")
    classifier = untrained()
    assert classifier.model(pixels()).dtype == "float32"
    assert classifier.backbone.layers[-1].compute_dtype == "bfloat16"


def trainable(classifier):
    return {
        layer.name
        for layer in classifier.backbone.layers
        if layer.trainable_weights and classifier.backbone.trainable
    }


def test_set_trainable_chooses_the_layers(mobilenet):
    set_trainable(mobilenet, "none")
    assert not trainable(mobilenet)
    assert parameter_counts(mobilenet.model) == (219_829, 256 * 5 + 5)
    set_trainable(mobilenet, "all")
    assert "conv1" in trainable(mobilenet)
    assert not any("bn" in name for name in trainable(mobilenet))
    set_trainable(mobilenet, "all", freeze_batch_norm=False)
    assert "conv1_bn" in trainable(mobilenet)
    set_trainable(mobilenet, "last:4", freeze_batch_norm=False)
    last = ("conv_dw_13", "conv_dw_13_bn", "conv_pw_13", "conv_pw_13_bn")
    assert trainable(mobilenet) == set(last)
    set_trainable(mobilenet, "block:conv_pw_1")
    assert trainable(mobilenet) == {f"conv_pw_{n}" for n in (1, 10, 11, 12, 13)}


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("some", "none, all, last:N or block:NAME"),
        ("last:0", "none, all, last:N or block:NAME"),
        ("block:attic", "begins with 'attic': blocks conv, conv1"),
    ],
)
def test_unknown_parts_are_refused(mobilenet, what, answer):
    with pytest.raises(SettingError, match=answer):
        set_trainable(mobilenet, what)


def test_an_unknown_name_and_a_size_too_small_are_answered_with_what_helps():
    with pytest.raises(SettingError, match="did you mean EfficientNetB3"):
        build("EficientNetB3", 64, 5)
    with pytest.raises(SettingError, match="image_size=32 is too small for InceptionV3: set 75 or"):
        build("InceptionV3", 32, 5, weights="none")


_PREDICT = """
import numpy as np
from tensorflow import keras

keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))

from petals.models import backbones
from petals.models.build import build, set_trainable

backbones._WIDTHS = (4, 8)
one = build("SmallNet", 32, 3, weights="none")
images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
set_trainable(one, "none")
one.model.predict(images, verbose=0)
set_trainable(one, "all", freeze_batch_norm=False)
whole = keras.Sequential([keras.Input((32, 32, 3), dtype="uint8"), one.model])
whole.compile(keras.optimizers.SGD(0.1), loss="categorical_crossentropy")
whole.fit(images, np.eye(3, dtype="float32")[[0, 1, 2, 0]], verbose=0)
told = one.model.predict(images, verbose=0)
assert np.allclose(told, np.asarray(one.model(images)), atol=1e-6)
"""


@pytest.mark.long
def test_an_unfrozen_model_predicts_on_several_devices(python):
    pytest.importorskip("jax")
    devices = "--xla_force_host_platform_device_count=2"
    python(_PREDICT, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", XLA_FLAGS=devices)
