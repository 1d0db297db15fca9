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
    "augment": "crop",
    "mix": "none",
    "dropout": 0.0,
    "label_smoothing": 0.1,
    "weight_decay": 0.0,
    "schedule": "cosine",
    "learning_rate": 1e-4,
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
    from petals.augment.augmentation import augmentation
    from petals.augment.layer import augmenting, in_step
    from petals.data import pipeline, shards
    from petals.evaluation.prediction import predict
    from petals.models.build import build, set_trainable
    from petals.training.callbacks import Epochs, Phase, Training
    from petals.training.optimization import compile_model, learning_rates, set_seed

    keras.backend.clear_session()
    device, classes = detect("auto", "float32"), model.pop("classes")
    set_seed(0, repeatable=device.on_cpu)
    given = settings(name)
    with device.scope():
        classifier = build(
            model["backbone"],
            model["image_size"],
            classes,
            weights=model["weights"],
            dropout=given["dropout"],
            depths=True,
        )
    network, batch = classifier.model, given["batch_size"] * device.replicas
    epochs, steps = given["epochs"], max(1, train.count // batch)
    classifier.head.set_weights(head)
    labels, ids = shards.labels_and_ids(held)
    set_trainable(classifier, "none")
    pass_seconds = _pass_seconds(classifier, held, train.count + held.count)
    set_trainable(classifier, given["fine_tune"], freeze_batch_norm=model["weights"] != "none")
    change = augmentation(given["augment"], given["mix"])
    on_device = in_step(network)
    trained = augmenting(network, change) if change and on_device else network
    rates = learning_rates(
        given["schedule"],
        epochs,
        steps,
        learning_rate=given["learning_rate"],
        replicas=device.replicas,
    )
    compile_model(
        trained,
        rates,
        weight_decay=given["weight_decay"],
        label_smoothing=given["label_smoothing"],
    )
    batches = pipeline.training(
        train,
        batch,
        classes,
        augment=change,
        on_device=on_device,
        deterministic=device.on_cpu,
    )
    training = Training(say=lambda line: None)
    watch = Epochs(
        Phase("fine-tune", epochs, steps, batch),
        training,
        labels,
        lambda: predict(network, held, batch),
    )
    begun = time.process_time()
    trained.fit(
        batches, epochs=epochs, steps_per_epoch=steps, shuffle=False, verbose=0, callbacks=[watch]
    )
    seconds = time.process_time() - begun
    return {
        "probabilities": predict(network, held, batch, tta=TTA),
        "labels": labels,
        "ids": ids,
        "epochs": np.array([row["val_macro_f1"] for row in training.history]),
        "seconds": seconds,
        "pass_seconds": pass_seconds,
    }


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
