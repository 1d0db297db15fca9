"""The lower a block, the less it learns; and a small ViT learns that way after its head."""

import numpy as np
import pytest
from tensorflow import keras
from tuning import pixels

from petals.errors import SettingError
from petals.models.build import build, set_trainable
from petals.models.depths import blocks
from petals.training.layer_decay import LayerWiseAdamW, rate_shares
from petals.training.optimization import compile_model, learning_rates

keras_hub = pytest.importorskip("keras_hub")
SMALL = {"num_layers": 3, "hidden_dim": 16, "num_heads": 2}
DINO = SMALL | {"patch_size": 8, "intermediate_dim": 32, "image_shape": (32, 32, 3)}


def vit():
    return keras_hub.models.ViTBackbone((32, 32, 3), 8, mlp_dim=32, **SMALL)


def dinov2():
    return keras_hub.models.DINOV2Backbone(**DINO, position_embedding_shape=(32, 32))


def dinov3():
    return keras_hub.models.DINOV3Backbone(**DINO)


def siglip():
    own = SMALL | {"intermediate_dim": 32, "image_shape": (32, 32, 3)}
    return keras_hub.models.SigLIPVisionEncoder(8, **own)


@pytest.mark.parametrize("make", [vit, dinov2, dinov3, siglip])
def test_each_block_has_a_share_of_the_rate_of_the_next(make):
    network = make()
    own = blocks(network)
    assert len(own) == 3
    shares = rate_shares(network, 0.5)
    for number, block in enumerate(own):
        assert {shares[id(v)] for v in block.weights} == {0.5 ** (3 - number)}
    assert shares[id(network.weights[0])] == 0.5**4
    inside = {id(v) for block in own for v in block.weights}
    after = [v for v in network.weights if id(v) not in inside and id(v) not in shares]
    assert after, "the last layer norm has the whole rate"


def test_a_network_without_blocks_is_refused():
    network = build("SmallNet", 32, 3, weights="none").backbone
    with pytest.raises(
        SettingError, match=r"not a transformer of keras_hub.* set layer_decay=1\.0"
    ):
        rate_shares(network, 0.5)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_step_is_adamws_with_the_variables_share_of_the_rate(weight_decay):
    values = np.float32([1.0, -2.0, 3.0])
    gradient = keras.ops.convert_to_tensor(np.float32([0.3, -0.1, 0.2]))
    half, whole, plain = (keras.Variable(values, name="kernel") for _ in range(3))
    own = LayerWiseAdamW(0.1, {id(half): 0.5}, weight_decay=weight_decay)
    for _ in range(3):
        own.apply([gradient, gradient], [half, whole])
    expected = {}
    for rate in (0.1, 0.05):
        plain.assign(values)
        adamw = keras.optimizers.AdamW(rate, weight_decay=weight_decay)
        for _ in range(3):
            adamw.apply([gradient], [plain])
        expected[rate] = np.asarray(plain)
    np.testing.assert_allclose(whole, expected[0.1], atol=1e-6)
    np.testing.assert_allclose(half, expected[0.05], atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("make", [vit, dinov2])
def test_a_small_vit_learns_head_first_and_then_whole(tmp_path, make):
    keras.utils.set_random_seed(3)
    folder = tmp_path / "preset"
    make().save_to_preset(str(folder))
    classifier = build(f"hub:{folder}", 32, 2)
    images, labels = pixels(16), np.eye(2, dtype=np.float32)[np.arange(16) % 2]
    images[::2, :, :, 0] //= 2  # the classes differ in colour

    def trained(epochs, rate, **options):
        rates = learning_rates("constant", epochs, 1, learning_rate=rate)
        compile_model(classifier.model, rates, **options)
        losses = classifier.model.fit(images, labels, 16, epochs, verbose=0).history["loss"]
        return losses[0], losses[-1]

    set_trainable(classifier, "none")
    before, after_head = trained(20, 3e-2)
    values = [np.asarray(v) for v in classifier.backbone.weights]
    set_trainable(classifier, "all")
    _, after_all = trained(30, 1e-3, network=classifier.backbone, layer_decay=0.7)
    assert after_all < after_head < before

    def change(variables):
        own = {id(variable) for variable in variables}
        pairs = zip(values, classifier.backbone.weights, strict=True)
        return np.mean([np.abs(np.asarray(v) - old).mean() for old, v in pairs if id(v) in own])

    changes = [change(block.trainable_weights) for block in blocks(classifier.backbone)]
    assert changes == sorted(changes)
    assert changes[0] < 0.7 * changes[-1]
