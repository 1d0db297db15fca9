"""02_train builds the model that `kernelkit check --tpu` compiles ahead of time."""

import numpy as np
import pytest
from checkouts import ROOT
from tensorflow import keras
from tuning import pixels, untrained

from kernelkit.notebook import document
from petals.accelerators.detect import Accelerator
from petals.models.build import set_trainable
from petals.training.optimization import compile_model, set_seed

NOTEBOOK = ROOT / "notebooks" / "02_train.py"
GIVEN = {
    "backbones": ["SmallNet"],
    "image_size": 32,
    "weights": "none",
    "dropout": 0.3,
    "names": ["a", "b", "c"],
    "device": Accelerator("cpu", "one"),
}
RATES = np.full(9, 1e-2, np.float32)


def run_cell(holding, names):
    (source,) = [c.source for c in document.read(NOTEBOOK).cells if holding in c.source]
    exec(compile(source, "cell", "exec"), names)


@pytest.mark.long
@pytest.mark.parametrize("head", ["logistic", "gradient"])
def test_the_notebook_trains_what_build_makes(head):
    names = {**GIVEN, "head": head}
    set_seed(1)
    run_cell("keras.Model(features.input", names)
    set_seed(1)
    classifier = untrained(dropout=0.3, depths=head == "logistic")

    labels = np.eye(3, dtype=np.float32)[np.arange(8) % 3]
    losses = []
    for model in (names["model"], classifier.model):
        compile_model(model, RATES, weight_decay=0.01, label_smoothing=0.2)
        keras.utils.set_random_seed(2)
        losses.append([float(model.train_on_batch(pixels(8), labels)[0]) for _ in range(3)])
    assert losses[0] == losses[1]
    set_trainable(classifier, "none")
    names["network"].trainable = False
    assert len(names["model"].trainable_weights) == len(classifier.model.trainable_weights) == 2
