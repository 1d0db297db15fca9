"""The first phase: train the head that the settings name on stored features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import cluster, keras_backend
from petals.data import pipeline
from petals.data.shards import Split
from petals.models.build import Classifier
from petals.training.callbacks import Epochs, Phase, Training
from petals.training.features import Features, apply_weights, check_labels
from petals.training.logistic_head import fit_head, soften
from petals.training.optimization import compile_model, find_schedule, learning_rates

PHASE = "head"
HEAD_EPOCHS = 30
HEAD_BATCH = 64  # features; larger batches would only reduce the number of steps


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
    phase = checkpoints.phase if checkpoints else ""
    if checkpoints and checkpoints.newest and phase == PHASE:
        classifier.head.set_weights(checkpoints.newest.arrays)
    if phase or settings["head"] == "none":
        return ""
    views, seed = settings["views"], settings["seed"]
    train_features = extract(train, views, settings["augment"])
    val_features = extract(val, views)
    if train_features.stored and val_features.stored:
        print("  the features were stored by an earlier run")
    if settings["head"] == "logistic":
        fit_head(classifier, train_features, val_features, training, seed)
        step, stopped = 1, ""
        if settings["fine_tune"] != "none" and settings["label_smoothing"]:
            temperature = soften(classifier, train_features, settings["label_smoothing"])
            print(f"  head: logits divided by {temperature:.2f}, as sure as smoothed labels are")
    else:
        recipe = HeadRecipe.of(settings)
        epochs = train_head(classifier, train_features, val_features, recipe, training)
        step, stopped = epochs.phase.steps * recipe.epochs, epochs.stopped
    if checkpoints and not stopped:
        checkpoints.save(PHASE, step, classifier.head.get_weights(), history=training.history)
    return stopped


@dataclass(frozen=True)
class HeadRecipe:
    """How gradients train a head; `learning_rate`: the peak, 0 = the schedule's own."""

    epochs: int = HEAD_EPOCHS
    schedule: str = "cosine"
    learning_rate: float = 0.0
    weight_decay: float = 0.0
    label_smoothing: float = 0.0
    dropout: float = 0.0
    seed: int = 0
    keep_best: bool = True  # the weights of the best epoch, not of the last one

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> HeadRecipe:
        """The recipe of a run: before fine-tuning, schedule and rate are the second phase's."""
        names = ["weight_decay", "label_smoothing", "dropout", "seed"]
        if settings["fine_tune"] == "none":
            names += ["schedule", "learning_rate"]
        return cls(HEAD_EPOCHS, **{name: settings[name] for name in names})


@cluster.local_devices_only
def train_head(
    classifier: Classifier,
    train: Features,
    val: Features,
    recipe: HeadRecipe,
    training: Training,
) -> Epochs:
    """Train the softmax head on stored features and put it into the classifier.

    Every view counts as a separate image. Every host does the whole job, and host 0's head is used.
    """
    check_labels(classifier, train.labels, val.labels)
    values = train.values.reshape(-1, train.values.shape[-1])
    labels = np.repeat(train.labels, train.values.shape[1])
    num_classes = classifier.head.units
    head = build_head(values.shape[-1], num_classes, recipe.dropout)
    batch = head_batch(len(values), keras_backend.replicas(head))
    steps = max(1, len(values) // batch)
    peak = recipe.learning_rate or find_schedule(recipe.schedule).head_peak
    compile_model(
        head,
        learning_rates(recipe.schedule, recipe.epochs, steps, learning_rate=peak),
        weight_decay=recipe.weight_decay,
        label_smoothing=recipe.label_smoothing,
        steps_per_execution=steps,
    )
    watch = Epochs(
        Phase(PHASE, recipe.epochs, steps, batch, "features"),
        replace(
            training, checkpoints=None
        ),  # training takes seconds, so only the finished head is saved
        val.labels,
        lambda: apply_weights(head.get_weights(), val),
    )
    head.fit(
        _batches(values, labels, num_classes, batch, recipe.seed),
        epochs=recipe.epochs,
        steps_per_epoch=steps,
        shuffle=False,
        callbacks=[watch],
        verbose=0,
    )
    if recipe.keep_best:
        watch.finish(head)
    classifier.head.set_weights([cluster.of_first(values) for values in head.get_weights()])
    return watch


def build_head(width: int, num_classes: int, dropout: float = 0.0) -> keras.Model:
    """The head as a separate model: features (n, width) to float32 (n, classes)."""
    inputs = keras.Input((width,))
    x = keras.layers.Dropout(dropout)(inputs)
    return keras.Model(
        inputs, keras.layers.Dense(num_classes, activation="softmax", dtype="float32")(x)
    )


def head_batch(count: int, replicas: int) -> int:
    """The batch size of the head for `count` features, over all replicas."""
    return max(replicas, min(HEAD_BATCH, count) // replicas * replicas)


def _batches(
    values: np.ndarray, labels: np.ndarray, num_classes: int, batch: int, seed: int
) -> tf.data.Dataset:
    table, classes = tf.constant(values), tf.constant(labels)
    order = pipeline.shuffled(tf.data.Dataset.range(len(values)), len(values), seed)

    def gather(rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.gather(table, rows), tf.one_hot(tf.gather(classes, rows), num_classes)

    return order.batch(batch, drop_remainder=True).map(gather).prefetch(pipeline.AUTOTUNE)
