"""The programs of one run of 02_train, from its parameters: the model and how it is fine-tuned.

The notebook trains what `plan_run` gives; `petals.ahead_of_time` compiles the same for a TPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from petals.accelerators import keras_backend
from petals.accelerators.detect import Accelerator
from petals.models.build import build, set_trainable
from petals.models.classifier import Classifier
from petals.training import schedules
from petals.training.remat import check_backend


@dataclass(frozen=True)
class RunPlan:
    """A run's classifier, its head alone trainable, and how it is fine-tuned.

    `batch_size`: images a step, over all replicas; `steps`: steps an epoch of fine-tuning.
    """

    classifier: Classifier
    batch_size: int
    steps: int
    settings: Mapping[str, Any]
    replicas: int

    @property
    def rates(self) -> np.ndarray:
        """The learning rate of each step of fine-tuning, float32 (epochs * steps,)."""
        return schedules.rates(
            self.settings["schedule"],
            self.settings["epochs"],
            self.steps,
            learning_rate=self.settings["learning_rate"],
            replicas=self.replicas if self.settings["scale_rate"] else 1,
        )

    @property
    def compiling(self) -> dict[str, Any]:
        """What `petals.training.compile.compile_model` takes for fine-tuning, rates apart."""
        return {name: self.settings[name] for name in ("weight_decay", "label_smoothing")}

    def unfreeze(self) -> None:
        """Make trainable what the run fine-tunes."""
        set_trainable(
            self.classifier,
            self.settings["fine_tune"],
            freeze_batch_norm=self.settings["weights"] != "none",
        )


def plan_run(
    settings: Mapping[str, Any],
    num_classes: int,
    images: int,
    device: Accelerator,
    *,
    weights: str | None = None,
) -> RunPlan:
    """Build what a run of 02_train trains.

    `settings`: the notebook's parameters by name; `images`: how many the train split has;
    `weights`: in place of the settings' own, for one who needs the shapes alone. Raises
    `SettingError` and `WeightsError` as `petals.models.build.build` does, and `SettingError` for
    a `fine_tune` that names layers which are not there, and for `remat` or `optimization_level`
    where it would be ignored.
    """
    if (level := settings["optimization_level"]) != "auto":
        setting = f"optimization_level={level}"
        keras_backend.need_jax(setting, device.backend, "leave optimization_level out")
    if settings["remat"]:
        check_backend(device.backend)
    with device.scope():
        classifier = build(
            settings["backbone"],
            settings["image_size"],
            num_classes,
            weights=settings["weights"] if weights is None else weights,
            dropout=settings["dropout"],
            features=settings["features"],
        )
    set_trainable(classifier, settings["fine_tune"])  # layers that are not there are refused here
    set_trainable(classifier, "none")
    batch_size = settings["batch_size"] * device.replicas
    steps = max(1, images // batch_size)
    return RunPlan(classifier, batch_size, steps, settings, device.replicas)
