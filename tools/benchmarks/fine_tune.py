"""Fine-tuning of one fold, as 02_train does it, from a head that was fitted before."""

from __future__ import annotations

import time
from typing import Any

# Parameters of 02_train, by the name of the row: what differs from `COMMON`.
RECIPES: dict[str, dict[str, Any]] = {
    "fine_tuned": {"epochs": 6, "batch_size": 8},
    "fine_tuned_longer": {"epochs": 12, "batch_size": 8},
    "large_batches": {"epochs": 12, "batch_size": 32},
}
COMMON: dict[str, Any] = {
    "fine_tune": "all",
    "features": "depths",
    "augment": "crop",
    "mix": "none",
    "dropout": 0.0,
    "label_smoothing": 0.1,
    "weight_decay": 0.0,
    "schedule": "cosine",
    "learning_rate": 1e-4,
    "scale_rate": True,
}
TTA = 2


def settings(name: str) -> dict[str, Any]:
    """The parameters of 02_train that a row of `RECIPES` stands for."""
    return COMMON | RECIPES[name]


def run_fold(name: str, train: Any, held: Any, head: Any, **model: Any) -> dict[str, Any]:
    """What the model says of the images held out, after the last epoch, and what it cost.

    `head`: the kernel and the bias to begin with; `model`: backbone, image_size, weights, classes.
    The held-out images choose nothing: their F1 after each epoch is told, and the weights are
    those of the last one. `seconds`: processors' time of training, with the look at the held-out
    images after each epoch; `pass_seconds`: of one pass of the backbone over all images.
    """
    import numpy as np
    from tensorflow import keras

    from petals.accelerators.detect import detect
    from petals.evaluation.prediction import predict
    from petals.training.compile import set_seed
    from petals.training.plan import plan_run

    keras.backend.clear_session()
    device, classes = detect("auto", "float32"), model.pop("classes")
    set_seed(0, repeatable=device.on_cpu)
    given = {"remat": False, "optimization_level": "auto", **settings(name), **model}
    plan = plan_run(given, classes, train.count, device)
    plan.classifier.head.set_weights(head)
    labels, ids = held.labels_and_ids()
    pass_seconds = _pass_seconds(plan.classifier, held, train.count + held.count)
    plan.unfreeze()
    begun = time.process_time()
    history = _trained(plan, classes, train, held, labels, device.on_cpu)
    seconds = time.process_time() - begun
    return {
        "probabilities": predict(plan.classifier.model, held, plan.batch_size, tta=TTA),
        "labels": labels,
        "ids": ids,
        "epochs": np.array([row["val_macro_f1"] for row in history]),
        "seconds": seconds,
        "pass_seconds": pass_seconds,
    }


def _trained(
    plan: Any, classes: int, train: Any, held: Any, labels: Any, repeatable: bool
) -> list[dict[str, Any]]:
    """Train the plan's classifier; the history of its epochs."""
    from petals.augment.augmentation import augmentation
    from petals.augment.layer import in_step
    from petals.data import pipeline
    from petals.training.fine_tune import fine_tune

    change = augmentation(plan.settings["augment"], plan.settings["mix"])
    on_device = in_step(plan.classifier.model)
    history: list[dict[str, Any]] = []
    fine_tune(
        plan.classifier,
        lambda step: pipeline.Training(
            train,
            plan.batch_size,
            classes,
            augment=change,
            on_device=on_device,
            deterministic=repeatable,
        ).batches(start=step),
        held,
        rates=plan.rates,
        epochs=plan.settings["epochs"],
        steps_per_epoch=plan.steps,
        batch_size=plan.batch_size,
        val_labels=labels,
        **plan.compiling,
        augment=change if on_device else None,
        history=history,
        keep_best=False,
        say=lambda line: None,
    )
    return history


def _pass_seconds(classifier: Any, held: Any, images: int) -> float:
    """Processors' time of a pass over so many images, in seconds, by one over those held out."""
    from petals.data import pipeline
    from petals.training.features import CPU_BATCH, frozen

    forward = frozen(classifier.features, CPU_BATCH)
    next(forward(pipeline.images(held, CPU_BATCH)))  # the first call prepares the program
    begun = time.process_time()
    for _ in forward(pipeline.images(held, CPU_BATCH)):
        pass
    return (time.process_time() - begun) / held.count * images
