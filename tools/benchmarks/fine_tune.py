"""Fine-tuning of one fold, as 02_train does it, from a head that was fitted before."""

import time
from collections.abc import Mapping
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
    from petals.evaluation.prediction import predict
    from petals.models.build import build, set_trainable
    from petals.training.optimization import set_seed

    keras.backend.clear_session()
    device = detect("auto", "float32")
    classes = model.pop("classes")
    set_seed(0, repeatable=device.on_cpu)
    given = settings(name)
    backbone, size, weights = (model[name] for name in ("backbone", "image_size", "weights"))
    with device.scope():
        classifier = build(
            backbone, size, classes, weights=weights, dropout=given["dropout"], depths=True
        )
    classifier.head.set_weights(head)
    set_trainable(classifier, "none")
    labels, ids = held.labels_and_ids()
    pass_seconds = _pass_seconds(classifier, held, train.count + held.count)
    set_trainable(classifier, given["fine_tune"], freeze_batch_norm=weights != "none")
    begun = time.process_time()
    history = _trained(classifier, given, device, train, held)
    seconds = time.process_time() - begun
    batch = given["batch_size"] * device.replicas
    return {
        "probabilities": predict(classifier.model, held, batch, tta=TTA),
        "labels": labels,
        "ids": ids,
        "epochs": np.array([row["val_macro_f1"] for row in history]),
        "seconds": seconds,
        "pass_seconds": pass_seconds,
    }


def _trained(
    classifier: Any, given: Mapping[str, Any], device: Any, train: Any, held: Any
) -> list[dict[str, Any]]:
    """Train the classifier, which ends with the weights of its last epoch; the history of all."""
    from petals.augment.augmentation import augmentation
    from petals.augment.layer import augmenting, in_step
    from petals.data import pipeline
    from petals.evaluation.prediction import predict
    from petals.training.callbacks import Epochs, Phase, Training, without_waiting
    from petals.training.optimization import compile_model, learning_rates

    model = classifier.model
    batch = given["batch_size"] * device.replicas
    epochs = given["epochs"]
    steps = max(1, train.count // batch)
    change = augmentation(given["augment"], given["mix"])
    on_device = in_step(model)
    trained = augmenting(model, change) if change and on_device else model
    rate = given["learning_rate"]
    replicas = device.replicas
    rates = learning_rates(given["schedule"], epochs, steps, learning_rate=rate, replicas=replicas)
    names = ("weight_decay", "label_smoothing")
    compile_model(trained, rates, **{name: given[name] for name in names})
    batches = pipeline.Batches(
        train,
        batch,
        classifier.head.units,
        augment=change,
        on_device=on_device,
        deterministic=device.on_cpu,
    ).dataset()
    training = Training()
    phase = Phase("fine-tune", epochs, steps, batch)
    labels = held.labels_and_ids()[0]
    watch = Epochs(phase, training, labels, lambda: predict(model, held, batch), select=False)
    trained.fit(
        batches,
        epochs=epochs,
        steps_per_epoch=steps,
        shuffle=False,
        callbacks=without_waiting([watch], trained),
        verbose=0,
    )
    return training.history


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
