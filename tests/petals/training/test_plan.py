"""What the notebook trains and what is compiled ahead of time are planned by one function."""

import pytest
from tensorflow import keras

from petals.accelerators.detect import Accelerator
from petals.errors import SettingError
from petals.training.plan import plan_run

SETTINGS = {
    "backbone": "SmallNet",
    "image_size": 64,
    "weights": "none",
    "features": "last",
    "dropout": 0.2,
    "batch_size": 4,
    "fine_tune": "all",
    "epochs": 2,
    "schedule": "constant",
    "learning_rate": 1e-3,
    "scale_rate": True,
    "remat": False,
    "optimization_level": "auto",
    "weight_decay": 0.1,
    "label_smoothing": 0.2,
}
EIGHT = Accelerator("tpu", "eight", replicas=8)


def test_the_batch_is_that_of_all_replicas_and_the_rates_follow_it():
    plan = plan_run(SETTINGS, 3, 100, EIGHT)
    assert (plan.batch_size, plan.steps) == (32, 3)
    assert plan.rates.shape == (6,)
    assert plan.rates.max() == pytest.approx(8e-3)
    unscaled = plan_run(SETTINGS | {"scale_rate": False}, 3, 100, EIGHT)
    assert unscaled.rates.max() == pytest.approx(1e-3)
    assert plan.compiling == {"weight_decay": 0.1, "label_smoothing": 0.2}


def test_the_head_alone_is_trainable_until_it_is_unfrozen():
    plan = plan_run(SETTINGS, 3, 100, EIGHT)
    assert len(plan.classifier.model.trainable_weights) == 2
    plan.unfreeze()
    norms = [
        layer
        for layer in plan.classifier.backbone.layers
        if isinstance(layer, keras.layers.BatchNormalization)
    ]
    assert all(layer.trainable for layer in norms)


def test_pretrained_norms_stay_frozen_though_only_the_shapes_were_asked_for():
    plan = plan_run(SETTINGS | {"weights": "imagenet"}, 3, 100, EIGHT, weights="none")
    plan.unfreeze()
    kinds = {type(layer).__name__: layer.trainable for layer in plan.classifier.backbone.layers}
    assert kinds["BatchNormalization"] is False
    assert kinds["Conv2D"] is True


def test_layers_that_are_not_there_are_refused_at_once():
    with pytest.raises(SettingError, match="no layer's name begins with 'block9'"):
        plan_run(SETTINGS | {"fine_tune": "block:block9"}, 3, 100, EIGHT)
