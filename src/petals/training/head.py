"""The first phase: a softmax head on stored features."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals.accelerators import collectives, keras_backend
from petals.data import pipeline
from petals.errors import DataError
from petals.models.classifier import Classifier
from petals.training import schedules
from petals.training.callbacks import Epochs
from petals.training.compile import compile_model
from petals.training.features import Features

HEAD_BATCH = 64  # features; large batches of so few numbers only lose steps


@collectives.local_devices_only
def train_head(
    classifier: Classifier,
    train: Features,
    val: Features,
    *,
    epochs: int,
    schedule: str = "cosine",
    learning_rate: float = 0.0,
    weight_decay: float = 0.0,
    label_smoothing: float = 0.0,
    dropout: float = 0.0,
    seed: int = 0,
    **watching: Any,
) -> Epochs:
    """Train the softmax head on stored features and put it into the classifier.

    Every view counts as an image of its own; `watching`: what
    `petals.training.callbacks.Epochs` takes (patience, deadline, history, record,
    say). Returns that callback. Of several hosts each does all of it, and host 0's head is taken.
    """
    check_labels(classifier, train.labels, val.labels)
    values = train.values.reshape(-1, train.values.shape[-1])
    labels = np.repeat(train.labels, train.values.shape[1])
    num_classes = classifier.head.units
    head = build_head(values.shape[-1], num_classes, dropout)
    batch = head_batch(len(values), keras_backend.replicas(head))
    steps = max(1, len(values) // batch)
    peak = learning_rate or schedules.find(schedule).head_peak
    rates = schedules.rates(schedule, epochs, steps, learning_rate=peak)
    compile_model(
        head,
        rates,
        weight_decay=weight_decay,
        label_smoothing=label_smoothing,
        steps_per_execution=steps,
    )
    watch = Epochs(
        "head",
        lambda: _probabilities(val, head.get_weights()),
        val.labels,
        epochs=epochs,
        steps=steps,
        batch_size=batch,
        **watching,
    )
    dataset = _feature_batches(values, labels, num_classes, batch, seed)
    head.fit(
        dataset, epochs=epochs, steps_per_epoch=steps, shuffle=False, verbose=0, callbacks=[watch]
    )
    watch.finish(head)
    classifier.head.set_weights([collectives.of_first(values) for values in head.get_weights()])
    return watch


def build_head(width: int, num_classes: int, dropout: float = 0.0) -> keras.Model:
    """The head as a model of its own: features (n, width) to float32 (n, classes)."""
    inputs = keras.Input((width,))
    x = keras.layers.Dropout(dropout)(inputs) if dropout else inputs
    return keras.Model(
        inputs, keras.layers.Dense(num_classes, activation="softmax", dtype="float32")(x)
    )


def head_batch(count: int, replicas: int) -> int:
    """How many of `count` features a step of the head takes, over all replicas."""
    return max(replicas, min(HEAD_BATCH, count) // replicas * replicas)


def check_labels(classifier: Classifier, *labels: np.ndarray) -> None:
    """Raise `DataError` for labels outside of the classes that the head knows."""
    known = classifier.head.units
    found = np.concatenate(labels)
    if found.min() < 0 or found.max() >= known:
        raise DataError(
            f"labels from {found.min()} to {found.max()} where {known} classes are known: look "
            "with tools/make_tfrecords.py inspect"
        )


def apply_head(classifier: Classifier, found: Features) -> np.ndarray:
    """float32 (images, classes) probabilities of stored features, the mean over their views."""
    return _probabilities(found, classifier.head.get_weights())


def _probabilities(found: Features, weights: list[np.ndarray]) -> np.ndarray:
    views = [_softmax(values, *weights) for values in np.moveaxis(found.values, 1, 0)]
    return np.asarray(np.mean(views, axis=0, dtype=np.float32))


def _softmax(values: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    logits = values @ kernel + bias
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def _feature_batches(
    values: np.ndarray, labels: np.ndarray, num_classes: int, batch: int, seed: int
) -> tf.data.Dataset:
    table, classes = tf.constant(values), tf.constant(labels)
    order = pipeline.shuffled(tf.data.Dataset.range(len(values)), len(values), seed)

    def gather(rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.gather(table, rows), tf.one_hot(tf.gather(classes, rows), num_classes)

    return order.batch(batch, drop_remainder=True).map(gather).prefetch(pipeline.AUTOTUNE)
