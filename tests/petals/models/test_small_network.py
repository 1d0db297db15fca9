"""The small network builds and learns under every Keras that `tensorflow.keras` can be."""

import importlib.util
import os
import subprocess
import sys

import pytest

from petals.models.backbones import small_network


@pytest.mark.parametrize("size", [192, 224, 64])
def test_the_backbone_leaves_a_32nd_of_the_image(size):
    model = small_network((size, size, 3))
    assert model.output_shape == (None, size // 32, size // 32, 256)
    assert 600_000 < model.count_params() < 700_000


_TRAIN = """
import numpy as np
from tensorflow import keras
from petals.models.backbones import small_network

keras.utils.set_random_seed(0)
model = keras.Sequential([
    small_network((32, 32, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(2)
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
labels = np.arange(16) % 2
images = np.zeros((16, 32, 32, 3), "float32") + np.where(labels, 0.5, -0.5).reshape(-1, 1, 1, 1)
losses = model.fit(images, labels, epochs=4, verbose=0).history["loss"]
assert losses[-1] < 0.6 * losses[0], losses
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("setting", "needs"),
    [({"KERAS_BACKEND": "jax"}, "jax"), ({"TF_USE_LEGACY_KERAS": "1"}, "tf_keras"), ({}, "keras")],
)
def test_it_learns_under_every_keras(setting, needs):
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    chosen = {"KERAS_BACKEND", "TF_USE_LEGACY_KERAS"}
    environment = {name: value for name, value in os.environ.items() if name not in chosen}
    run = subprocess.run(
        [sys.executable, "-c", _TRAIN],
        env={**environment, **setting, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
