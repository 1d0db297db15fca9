"""The first phase: train the head that the settings name on stored features."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import cluster, keras_backend
from petals.data import pipeline, records
from petals.data.shards import Split
from petals.models.build import Classifier
from petals.training.callbacks import Epochs, Phase, Training, without_waiting
from petals.training.features import Features, apply_head, check
from petals.training.logistic_head import fit_head, soften
from petals.training.optimization import SCHEDULES, compile_model, learning_rates

PHASE = "head"
HEAD_EPOCHS = 30
HEAD_BATCH = 64  # features; larger batches would only reduce the number of steps
MOST_TOGETHER = 64  # steps in one program of JAX


def train_first_phase(
    classifier: Classifier,
    extract: Callable[..., Features],
    train: Split,
    val: Split,
    settings: Mapping[str, Any],
    training: Training,
) -> str:
    """Train the classifier's head; returns why training stopped early, or "".

    `extract`: a `petals.training.features.FeatureExtractor`; `settings`: the parameters of
    02_train, as `petals.settings.resolve` returns them. A head in the checkpoint that the run
    resumes from is reused; a new head is saved as a checkpoint.
    """
    checkpoints = training.checkpoints
    phase = checkpoints.newest.phase if checkpoints else ""
    if checkpoints and phase == PHASE:
        classifier.head.set_weights(checkpoints.newest.arrays)
    if phase or settings["head"] == "none":
        return ""
    train_features = extract(train, settings["views"])
    val_features = extract(val, settings["views"])
    if train_features.stored and val_features.stored:
        print("  the features were stored by an earlier run")
    step = 1
    stopped = ""
    if settings["head"] == "logistic":
        fit_head(classifier, train_features, val_features, training, settings["seed"])
        if settings["fine_tune"] != "none" and settings["label_smoothing"]:
            temperature = soften(classifier, train_features, settings["label_smoothing"])
            print(f"  head: logits divided by {temperature:.2f}, to match the label smoothing")
    else:
        epochs = train_head(
            classifier,
            train_features,
            val_features,
            settings,
            training,
            keep_best=settings["validation"] != "none",  # else these photos are trained on
        )
        step = epochs.phase.steps * epochs.phase.epochs
        stopped = epochs.stopped
    if checkpoints and not stopped:
        checkpoints.save(PHASE, step, classifier.head.get_weights(), history=training.history)
    return stopped


@cluster.local_devices_only
def train_head(
    classifier: Classifier,
    train: Features,
    val: Features,
    settings: Mapping[str, Any],
    training: Training,
    keep_best: bool = True,
) -> Epochs:
    """Train the softmax head on stored features and put it into the classifier.

    `settings`: 02_train's dropout, label_smoothing, weight_decay, seed and fine_tune; if that is
    "none", also its schedule and learning_rate. `keep_best`: the weights of the best epoch, not of
    the last. Every host does the whole job, and host 0's head is used.
    """
    check(train, val)
    values = train.values.reshape(-1, train.values.shape[-1])  # a row for each view
    labels = np.repeat(train.labels, train.values.shape[1])
    classes = classifier.head.units
    head = _model(values.shape[-1], classes, settings["dropout"])
    replicas = keras_backend.replicas(head)
    batch = max(replicas, min(HEAD_BATCH, len(values)) // replicas * replicas)
    steps = max(1, len(values) // batch)
    alone = settings["fine_tune"] == "none"
    schedule = settings["schedule"] if alone else "cosine"
    peak = SCHEDULES[schedule].head_peak
    if alone and settings["learning_rate"]:
        peak = settings["learning_rate"]
    compile_model(
        head,
        learning_rates(schedule, HEAD_EPOCHS, steps, learning_rate=peak),
        weight_decay=settings["weight_decay"],
        label_smoothing=settings["label_smoothing"],
        steps_per_execution=_steps_together(steps),
    )
    remedy = "set head=logistic, whose solver does not diverge"
    if alone:
        remedy += ", or a lower learning_rate"
    watch = Epochs(
        Phase(PHASE, HEAD_EPOCHS, steps, batch, "features", remedy),
        replace(training, checkpoints=None),  # it takes seconds: only the finished head is saved
        val.labels,
        lambda: apply_head(head, val),
        select=keep_best,
    )
    head.fit(
        _batches(values, labels, classes, batch, steps, settings["seed"]),
        epochs=HEAD_EPOCHS,
        steps_per_epoch=steps,
        shuffle=False,
        callbacks=without_waiting([watch], head),
        verbose=0,
    )
    watch.finish(head)
    classifier.head.set_weights([cluster.of_first(values) for values in head.get_weights()])
    return watch


def _steps_together(steps: int) -> int:
    """How many of an epoch's steps one call of the device takes: all of them, or part on JAX.

    There they are one program, which gets the features of so many batches.
    """
    if not keras_backend.is_jax():
        return steps
    return max(n for n in range(1, min(steps, MOST_TOGETHER) + 1) if steps % n == 0)


def _model(width: int, classes: int, dropout: float) -> keras.Model:
    inputs = keras.Input((width,))
    x = keras.layers.Dropout(dropout)(inputs)
    x = keras.layers.Dense(classes, activation="softmax", dtype="float32")(x)
    return keras.Model(inputs, x)


def _batches(
    values: np.ndarray, labels: np.ndarray, num_classes: int, batch: int, steps: int, seed: int
) -> tf.data.Dataset:
    table, classes = tf.constant(values), tf.constant(labels)
    rows = tf.data.Dataset.range(len(values))
    order = pipeline.shuffled(rows, len(values), seed, length=steps * batch)

    def gather(rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.gather(table, rows), tf.one_hot(tf.gather(classes, rows), num_classes)

    batches = order.batch(batch, drop_remainder=True).map(gather).prefetch(pipeline.AHEAD)
    return batches.with_options(records.untuned())
