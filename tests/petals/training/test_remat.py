"""Training with `remat` gives what it gives without, and keeps less for the backward pass."""

import json
import os
import subprocess
import sys

import pytest
from tensorflow import keras

from petals.errors import SettingError
from petals.training import remat
from petals.training.plan import plan_run

_ON_JAX = """
import json
from petals.accelerators import keras_backend
keras_backend.choose("jax")
import jax, numpy as np
from tensorflow import keras
from petals.augment.augmentation import augmentation
from petals.augment.layer import augmenting
from petals.models.build import build, set_trainable
from petals.training.compile import compile_model
from petals.training.remat import rematerialising
rng = np.random.default_rng(0)
change = augmentation("crop", "mixup")
images = {
    "image": rng.integers(0, 256, (20, 32, 32, 3)).astype(np.uint8),
    "changes": change.draw(np.array([0, 1]), 20, 32).numpy(),
}
labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 20)]
found = {}
for name in ("plain", "remat"):
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    classifier = build("SmallNet", 32, 3, weights="none", dropout=0.4)
    set_trainable(classifier, "all", freeze_batch_norm=False)
    model = augmenting(classifier.model, change)
    model = rematerialising(model) if name == "remat" else model
    compile_model(model, np.full(9, 1e-3))
    losses = [float(model.train_on_batch(images, labels)[0]) for _ in range(3)]
    trained = [variable.value for variable in model.trainable_variables]
    others = [variable.value for variable in model.non_trainable_variables]
    results, backward = jax.vjp(
        lambda trained: model.stateless_call(trained, others, images, training=True)[0], trained
    )
    held = [array for array in jax.tree.leaves(backward) if array.shape[:1] == (20,)]
    norms = [float(abs(np.asarray(value)).sum()) for value in others]
    found[name] = {"losses": losses, "kept": sum(array.nbytes for array in held), "others": norms}
print(json.dumps(found))
"""


@pytest.mark.long
def test_it_trains_alike_and_keeps_less():
    done = subprocess.run(
        [sys.executable, "-c", _ON_JAX],
        capture_output=True,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    plain, less = json.loads(done.stdout.splitlines()[-1]).values()
    assert less["losses"] == pytest.approx(plain["losses"], rel=0.05)  # of bfloat16
    assert plain["losses"][0] != plain["losses"][2]
    assert less["others"] == pytest.approx(plain["others"], rel=0.01)  # statistics and seeds
    assert less["kept"] < 0.7 * plain["kept"]


@pytest.mark.parametrize(
    ("remat", "level", "says"),
    [
        (True, "auto", "remat=True works on JAX only"),
        (False, "O1", "optimization_level=O1 works on JAX only"),
    ],
)
def test_a_runtime_that_cannot_refuses_before_anything_is_built(monkeypatch, remat, level, says):
    from petals.accelerators.detect import Accelerator

    monkeypatch.setattr("petals.training.plan.build", lambda *_, **__: pytest.fail("it was built"))
    with pytest.raises(SettingError, match=says):
        plan_run({"remat": remat, "optimization_level": level}, 3, 100, Accelerator("cpu", "one"))


def test_training_refuses_it_alike():
    images = keras.Input((8, 8, 3))
    model = keras.Model(images, keras.layers.Flatten()(images))
    with pytest.raises(SettingError, match="this run uses tensorflow: leave remat out"):
        remat.rematerialising(model)
