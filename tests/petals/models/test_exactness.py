"""DINOv2 and DINOv3 compute what their papers say, at their own size and at others.

Their weights cannot be had where this is tested, so random ones stand in for them.
"""

import numpy as np
import pytest
import vit_reference as reference
from tensorflow import keras

from petals.models import hub
from petals.models.build import build_features, build_side_by_side

keras_hub = pytest.importorskip("keras_hub")

SMALL = {"num_layers": 3, "hidden_dim": 24, "num_heads": 2, "intermediate_dim": 48}
DINOV2 = SMALL | {"patch_size": 8, "image_shape": (64, 64, 3), "position_embedding_shape": (64, 64)}
DINOV3 = SMALL | {"patch_size": 8, "image_shape": (48, 48, 3), "use_key_bias": False}
NETWORKS = {
    "dinov2": ("DINOV2Backbone", DINOV2),
    "dinov2 with registers": (
        "DINOV2Backbone",
        DINOV2 | {"num_register_tokens": 3, "antialias_in_interpolation": True},
    ),
    "dinov2 with a gated mlp": ("DINOV2Backbone", DINOV2 | {"use_swiglu_ffn": True}),
    "dinov3": ("DINOV3Backbone", DINOV3),
    "dinov3 with a gated mlp": (
        "DINOV3Backbone",
        DINOV3 | {"use_gated_mlp": True, "hidden_activation": "silu"},
    ),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    """A small network with random weights, also where Keras begins with constants."""
    kind, arguments = NETWORKS[request.param]
    network = getattr(keras_hub.models, kind)(**arguments)
    rng = np.random.default_rng(4)
    for weight in network.weights:
        if "float" in str(weight.dtype):
            values = rng.normal(1.0 if "gamma" in weight.path else 0.0, 0.2, weight.shape)
            weight.assign(values.astype(np.float32))
    embeddings = network.embeddings
    if hasattr(embeddings, "position_embeddings"):
        embeddings.interpolated_position_embeddings.assign(embeddings.position_embeddings)
    return network


def by_name(network):
    """The weights of a network of keras_hub by timm's names, read layer by layer."""
    embeddings = network.embeddings
    kernel, bias = map(np.asarray, embeddings.patch_embeddings.projection.weights)
    arrays = {
        "patch_embed.proj.weight": kernel.transpose(3, 2, 0, 1),
        "patch_embed.proj.bias": bias,
        "cls_token": embeddings.cls_token,
        "norm.weight": network.layernorm.gamma,
        "norm.bias": network.layernorm.beta,
    }
    if hasattr(embeddings, "position_embeddings"):
        arrays["pos_embed"] = embeddings.position_embeddings
    if network.num_register_tokens:
        arrays["reg_token"] = embeddings.register_tokens
    width = network.hidden_dim
    for number, block in enumerate(network.encoder.layers):
        place = f"blocks.{number}"
        own = getattr(block.attention, "attention", block.attention)
        dense = [own.query_dense, own.key_dense, own.value_dense]
        kernels = [np.asarray(each.kernel).reshape(width, width).T for each in dense]
        biases = [
            np.zeros(width) if each.bias is None else np.asarray(each.bias).reshape(-1)
            for each in dense
        ]
        arrays[f"{place}.attn.qkv.weight"] = np.concatenate(kernels)
        arrays[f"{place}.attn.qkv.bias"] = np.concatenate(biases)
        output = np.asarray(own.output_dense.kernel).reshape(width, width)
        arrays[f"{place}.attn.proj.weight"] = output.T
        arrays[f"{place}.attn.proj.bias"] = own.output_dense.bias
        mlp = block.mlp
        if hasattr(mlp, "gate_proj"):
            first = [mlp.gate_proj, mlp.up_proj]
            last = mlp.down_proj
        elif hasattr(mlp, "weights_in"):
            first, last = [mlp.weights_in], mlp.weights_out
        elif hasattr(mlp, "up_proj"):
            first, last = [mlp.up_proj], mlp.down_proj
        else:
            first, last = [mlp.fc1], mlp.fc2
        kernels = [np.asarray(layer.kernel).T for layer in first]
        arrays[f"{place}.mlp.fc1.weight"] = np.concatenate(kernels)
        arrays[f"{place}.mlp.fc1.bias"] = np.concatenate([np.asarray(x.bias) for x in first])
        arrays[f"{place}.mlp.fc2.weight"] = np.asarray(last.kernel).T
        arrays[f"{place}.mlp.fc2.bias"] = last.bias
        for which in (1, 2):
            norm = getattr(block, f"norm{which}")
            arrays[f"{place}.norm{which}.weight"] = norm.gamma
            arrays[f"{place}.norm{which}.bias"] = norm.beta
            scale = getattr(block, f"layer_scale{which}")
            arrays[f"{place}.ls{which}.gamma"] = scale.lambda1
    return {name: np.asarray(array) for name, array in arrays.items()}


# The own size, a smaller and a larger one, and one whose grid is no multiple
@pytest.mark.long
@pytest.mark.parametrize("size", [None, 32, 96, 56])
def test_class_token_and_patch_mean_are_those_of_the_papers(network, tmp_path, size):
    folder = tmp_path / "preset"
    network.save_to_preset(str(folder))
    hub.save_scaling(folder, network.image_shape[0])
    size = size or network.image_shape[0]
    images = np.random.default_rng(1).integers(0, 256, (2, size, size, 3), np.uint8)
    features, _ = build_features(f"hub:{folder}", size)

    pixels = images / 255.0
    pixels = (pixels - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    options = {
        "epsilon": getattr(network, "layer_norm_eps", 1e-6),
        "antialias": getattr(network, "antialias_in_interpolation", False),
    }
    expected = reference.features(pixels, by_name(network), network.num_heads, **options)
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(np.asarray(features(images)), expected, atol=1e-4)


def test_several_backbones_give_their_features_side_by_side(tmp_path):
    names = []
    for kind, arguments in (NETWORKS["dinov2"], NETWORKS["dinov3"]):
        names.append(f"hub:{tmp_path / kind}")
        getattr(keras_hub.models, kind)(**arguments).save_to_preset(str(tmp_path / kind))
    images = np.random.default_rng(1).integers(0, 256, (3, 64, 64, 3), np.uint8)
    model, networks = build_side_by_side(dict.fromkeys(names), 64)
    apart = [np.asarray(build_features(name, 64)[0](images)) for name in names]

    assert len(networks) == 2
    np.testing.assert_allclose(np.asarray(model(images)), np.concatenate(apart, 1), atol=1e-5)


def test_a_second_backbone_gets_the_next_smaller_size_of_its_patches(tmp_path):
    keras_hub.models.DINOV3Backbone(**DINOV3).save_to_preset(str(tmp_path / "eight"))
    names = ["SmallNet", f"hub:{tmp_path / 'eight'}"]
    model, (first, second) = build_side_by_side(dict.fromkeys(names), 61, weights="auto")

    assert (first.inputs[0].shape[1], second.inputs[0].shape[1]) == (61, 56)
    images = np.random.default_rng(1).integers(0, 256, (2, 61, 61, 3), np.uint8)
    assert np.isfinite(np.asarray(model(images))).all()
    white = np.full((1, 61, 61, 3), 255, np.uint8)
    own, _ = build_features(names[1], 56)
    width = own.output_shape[-1]
    expected = np.asarray(own(np.full((1, 56, 56, 3), 255, np.uint8)))
    np.testing.assert_allclose(np.asarray(model(white))[:, -width:], expected, atol=1e-5)


@pytest.mark.long
def test_the_registrys_architectures_have_the_parameters_that_keras_hub_tells():
    presets = {
        preset["kaggle_handle"].removeprefix("kaggle://"): preset["metadata"]["params"]
        for kind in ("DINOV2Backbone", "DINOV3Backbone")
        for preset in getattr(keras_hub.models, kind).presets.values()
    }
    for name in ("dinov2-small", "dinov2-registers-small", "dinov3-small", "dinov3-small-plus"):
        entry = hub.find(name)
        told = presets[entry.registered.source]
        built = entry.build(entry.registered.native).count_params()
        assert abs(built - told) < 0.02 * told, name  # of DINOv3 it tells millions
        if name.startswith("dinov2"):
            assert built == told
        keras.backend.clear_session()
