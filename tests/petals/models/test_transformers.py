"""Vision transformers of keras_hub, which Kaggle's images hold: `make test-parity` runs these."""

import json
import shutil

import numpy as np
import pytest
from tensorflow import keras
from tuning import pixels

from petals.errors import SettingError, WeightsError
from petals.models import hub
from petals.models.build import build, build_features, set_trainable
from petals.models.card import ModelCard
from petals.models.restore import restore, save

keras_hub = pytest.importorskip("keras_hub")
pytestmark = pytest.mark.filterwarnings("ignore:Layer 'attn'.*mask")

SMALL = {"num_layers": 4, "num_heads": 2, "hidden_dim": 16}
DINO = SMALL | {"patch_size": 8, "intermediate_dim": 32, "num_register_tokens": 2}


def vit():
    return keras_hub.models.ViTBackbone((32, 32, 3), 8, mlp_dim=32, **SMALL)


def dinov2():
    shape = {"image_shape": (48, 48, 3), "position_embedding_shape": (48, 48)}
    return keras_hub.models.DINOV2Backbone(**DINO, **shape)


def dinov3():
    return keras_hub.models.DINOV3Backbone(image_shape=(32, 32, 3), **DINO)


def siglip():
    text = {"vocabulary_size": 9, "embedding_dim": 16, "max_sequence_length": 8}
    each = SMALL | {"intermediate_dim": 32}
    return keras_hub.models.SigLIPBackbone(
        keras_hub.models.SigLIPVisionEncoder(8, image_shape=(32, 32, 3), **each),
        keras_hub.models.SigLIPTextEncoder(**text, **each),
    )


@pytest.fixture
def preset(tmp_path):
    def preset(network):
        keras.utils.set_random_seed(2)
        # Positions start at 0 or near it: others show what becomes of them.
        for weight in network.weights:
            if "position" in weight.path and "float" in str(weight.dtype):
                weight.assign(keras.random.normal(weight.shape))
        folder = tmp_path / type(network).__name__
        network.save_to_preset(str(folder))
        return f"hub:{folder}"

    return preset


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "sizes", "width", "of_depths"),
    [
        (vit, (32,), 32, 96),
        (dinov2, (48, 24, 80), 32, 96),
        (dinov3, (32, 64), 32, 96),
        (siglip, (32,), 16, 48),
    ],
)
def test_each_family_gives_features_at_the_sizes_that_keras_hub_knows(
    preset, network, sizes, width, of_depths
):
    name = preset(network())
    for size in sizes:
        last, several = (
            np.asarray(build_features(name, size, depths=depths)[0](pixels(size=size)))
            for depths in (False, True)
        )
        assert (last.shape, several.shape) == ((2, width), (2, of_depths))
        assert np.isfinite(several).all()
        assert np.abs(several[0] - several[1]).max() > 1e-4
        np.testing.assert_allclose(several[:, -width:], last, atol=1e-5)


@pytest.mark.long
def test_features_are_the_class_token_and_the_mean_of_the_patches(preset):
    for network, others in ((dinov2(), 3), (vit(), 1)):
        size = network.inputs[0].shape[1]
        features, own = build_features(preset(network), size)
        inputs = pixels(size=size) / np.float32(127.5) - 1
        named = isinstance(own.input, dict)
        tokens = np.asarray(own(dict.fromkeys(own.input, inputs) if named else inputs))
        expected = np.concatenate([tokens[:, 0], tokens[:, others:].mean(1)], 1)
        np.testing.assert_allclose(features(pixels(size=size)), expected, atol=1e-5)


def test_positions_are_resized_as_keras_hub_does_for_dinov2(preset):
    name = preset(dinov2())
    own = keras_hub.models.Backbone.from_preset(name.removeprefix("hub:"), image_shape=(80, 80, 3))
    network = hub.find(name).build(80, "imagenet")
    inputs = {"images": pixels(size=80) / np.float32(255)}
    np.testing.assert_allclose(network(inputs), own(inputs), atol=1e-5)


def test_a_size_between_patches_and_a_network_that_takes_no_images_are_refused(preset):
    with pytest.raises(SettingError, match="patches of 8 pixels, so set 48 or 56"):
        build(preset(vit()), 50, 3)
    text = keras_hub.models.BertBackbone(9, 1, 2, 16, 32, max_sequence_length=8)
    with pytest.raises(WeightsError, match="is not an image network"):
        build(preset(text), 32, 3)


@pytest.mark.long
def test_a_network_that_keras_hub_makes_for_one_size_names_it(preset):
    for network in (vit, siglip):
        with pytest.raises(WeightsError, match="image_size=32"):
            build(preset(network()), 64, 3)


def trained_parts(classifier):
    names = {weight.path.split("/")[1] for weight in classifier.backbone.trainable_weights}
    return {name[name.find("block") :] if "block" in name else name for name in names}


@pytest.mark.long
def test_the_last_blocks_are_trained_and_the_others_stay(preset):
    classifier = build(preset(vit()), 32, 3)
    set_trainable(classifier, "last:2")  # a block and the layer norm
    assert trained_parts(classifier) == {"block_4", "ln"}
    set_trainable(classifier, "block:tran")  # an early keras_hub calls them "tranformer"
    assert trained_parts(classifier) == {"block_1", "block_2", "block_3", "block_4"}
    before = [np.asarray(weight) for weight in classifier.backbone.non_trainable_weights]
    classifier.model.compile("sgd", "sparse_categorical_crossentropy")
    classifier.model.fit(pixels(size=32), np.array([0, 2]), verbose=0)
    after = [np.asarray(weight) for weight in classifier.backbone.non_trainable_weights]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.long
@pytest.mark.parametrize(("network", "size"), [(vit, 32), (dinov2, 64), (siglip, 32)])
def test_a_trained_model_is_restored_without_its_preset(preset, tmp_path, network, size):
    name = preset(network())
    folder = name.removeprefix("hub:")
    scale, offset = np.float32([0.01, 0.02, 0.03]), np.float32(-1.5)
    converter = keras_hub.layers.ViTImageConverter((32, 32), scale=scale.tolist(), offset=-1.5)
    converter.save_to_preset(folder)
    classifier = build(name, size, 3, depths=True)
    preprocessed = classifier.features.get_layer("preprocessing")(pixels(size=size))
    np.testing.assert_allclose(preprocessed, pixels(size=size) * scale + offset, atol=1e-5)
    config = hub.config_of(classifier.backbone, classifier.name)
    build_again = {"depths": True, "hub_config": json.loads(json.dumps(config))}
    card = ModelCard(classifier.name, size, ("a", "b", "c"), "hub", {}, build_again)
    save(classifier, tmp_path / "classifier.h5", card)
    shutil.rmtree(folder)
    again, _ = restore(tmp_path / "classifier.h5")
    np.testing.assert_allclose(
        again.model(pixels(size=size)), classifier.model(pixels(size=size)), atol=1e-5
    )
