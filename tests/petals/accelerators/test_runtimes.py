"""One code for three Kerases: the same program in each, with eight replicas, compared."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tuning import untrained

from petals.evaluation.prediction import predict
from petals.models.restore import load

PROGRAM = Path(__file__).parent / "runtime_program.py"
RUNTIMES = {
    "plain": {},
    "jax": {
        "KAGGLE_REHEARSAL": "tpu",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    },
    "mirrored": {"KAGGLE_REHEARSAL": "gpu:4"},
    "tf_keras": {"KAGGLE_REHEARSAL": "tpu-tensorflow"},
}
REPLICAS = {"plain": 1, "jax": 8, "mirrored": 4, "tf_keras": 8}
OTHERS = [name for name in RUNTIMES if name != "plain"]
pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def train(python):
    """Trains by the program in a runtime; returns its results."""

    def train(runtime, dataset, out, *reference, name="SmallNet"):
        out.mkdir()
        variables = RUNTIMES[runtime] | {"PETALS_CACHE": str(out / "cache")}
        python(PROGRAM, dataset, out, name, *reference, **variables)
        return json.loads((out / "result.json").read_text())

    return train


@pytest.fixture(scope="session")
def plain(train, dataset, tmp_path_factory):
    out = tmp_path_factory.mktemp("runtimes") / "plain"
    return train("plain", dataset, out), out


@pytest.mark.parametrize("runtime", OTHERS)
def test_the_same_data_and_weights_give_the_same_training(
    runtime, train, plain, dataset, splits, tmp_path, narrow
):
    expected, reference = plain
    out = tmp_path / runtime
    result = train(runtime, dataset, out, reference)
    device = result["device"]
    assert device["replicas"] == REPLICAS[runtime]
    assert device["backend"] == ("jax" if runtime == "jax" else "tensorflow")
    assert device["keras"].split()[0] == ("tf_keras" if runtime == "tf_keras" else "Keras")

    for key in ("loss", "val_loss"):
        assert abs(result["first"][key] - expected["first"][key]) < 1e-3, key
    # 50 and 21 images: neither four nor eight divides them
    assert result["features"] == [[50, 1, 8], [21, 1, 8]]
    assert result["features_agree"] < 1e-5
    assert result["head_agrees"] < 1e-5
    assert np.isfinite(result["head"]["loss"])
    assert result["tta"] == [21, 3]
    assert np.isfinite(result["augmented"]["val_loss"])

    # The pictures that a step makes are the same in each, and those that the host makes
    seen, expected_ones = (np.load(folder / "pictures.npz") for folder in (out, reference))
    for pictures in (seen["device"], seen["host"], expected_ones["host"]):
        away = np.abs(pictures.astype(int) - expected_ones["device"])
        assert pictures.shape == (48, 32, 32, 3)
        assert away.max() <= 1
        assert (away > 0).mean() < 1e-3

    # What one has saved the other loads
    assert result["loaded_agrees"] < 1e-6
    there, here = np.load(out / "reference.npy"), np.load(reference / "probabilities.npy")
    assert np.abs(there - here).max() < 1e-5
    model = untrained()
    load(model, out / "trained.h5")
    again = predict(model.model, splits[1], 10)
    assert np.abs(again - np.load(out / "probabilities.npy")).max() < 1e-5


_PRESET = """
import sys
from petals.accelerators.detect import detect
detect("cpu")
import keras_hub
network = keras_hub.models.ViTBackbone(
    image_shape=(32, 32, 3), patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32
)
network.save_to_preset(sys.argv[1])
"""


@pytest.mark.skipif(not find_spec("keras_hub"), reason="keras_hub is not installed")
def test_a_vision_transformer_of_a_preset_is_trained_on_jax(train, python, dataset, tmp_path):
    preset = tmp_path / "vit"
    python(_PRESET, preset)
    result = train("jax", dataset, tmp_path / "out", name=f"hub:{preset}")
    assert result["device"]["replicas"] == 8
    assert result["features"] == [[50, 1, 2 * 16], [21, 1, 2 * 16]]  # the class token, and a mean
    assert result["features_agree"] < 1e-4
    assert result["head_agrees"] < 1e-5
    assert result["loaded_agrees"] < 1e-6
    assert np.isfinite([result["first"]["val_loss"], result["augmented"]["val_loss"]]).all()
