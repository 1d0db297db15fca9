"""Two phases: a head on stored features, then fine-tuning end to end.

Both go through Keras's `fit`; the second also through `petals.custom_loop`, the same training as
a loop that can be read and changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from petals import custom_loop, evaluation, exchange, hosts, kerases, pipeline, schedules, shards
from petals.callbacks import Epochs
from petals.errors import DataError, SettingError
from petals.features import Features
from petals.models import Classifier
from petals.shards import Split

HEAD_BATCH = 64  # features; large batches of so few numbers only lose steps
HEAD_RATE = 1e-2


def set_seed(seed: int, repeatable: bool = True) -> None:
    """Seed Python, numpy and Keras; `repeatable` makes TensorFlow's ops the same to the bit.

    That costs speed on a GPU, and nothing that could be measured on a CPU.
    """
    keras.utils.set_random_seed(seed)
    if repeatable:
        tf.config.experimental.enable_op_determinism()


def compile_model(
    model: keras.Model,
    rates: np.ndarray,
    *,
    weight_decay: float = 0.0,
    label_smoothing: float = 0.0,
    steps_per_execution: int = 1,
) -> None:
    """AdamW on cross-entropy over one-hot labels, with the rates of a schedule table.

    Weight decay (Loshchilov & Hutter, 2019) spares biases and normalisation. One step a call is
    what every runtime trains well with: four gained 8 % on TensorFlow and lost as much on eight
    JAX devices, and Keras 3 cannot under MirroredStrategy (tools/benchmark.py runtimes).
    """
    if not 0 <= label_smoothing < 1:
        raise SettingError(f"label_smoothing {label_smoothing}: at least 0, less than 1")
    if weight_decay < 0:
        raise SettingError(f"weight_decay {weight_decay}: at least 0")
    with kerases.scope(model):
        optimizer = keras.optimizers.AdamW(schedules.Table(rates), weight_decay=weight_decay)
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        model.compile(
            optimizer,
            loss=keras.losses.CategoricalCrossentropy(label_smoothing=label_smoothing),
            metrics=[keras.metrics.CategoricalAccuracy(name="accuracy")],
            steps_per_execution=steps_per_execution,
            jit_compile=_compiles(),
        )


def _compiles() -> bool | str:
    # XLA helps on a TPU and does harm to convolutions on a CPU: 11 images a second where
    # TensorFlow's own kernels did 400 (MobileNet-0.75 at 192 px, 2 cores).
    if hasattr(keras, "config") and keras.config.backend() == "jax":
        return True
    return bool(tf.config.list_physical_devices("GPU"))


@exchange.on_this_host
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

    Every view counts as an image of its own; `watching`: what `petals.callbacks.Epochs` takes
    (patience, deadline, history, record, say). Returns that callback. Of several hosts each
    does all of it, and host 0's head is taken.
    """
    _check_labels(classifier, train.labels, val.labels)
    values = train.values.reshape(-1, train.values.shape[-1])
    labels = np.repeat(train.labels, train.values.shape[1])
    num_classes = classifier.head.units
    inputs = keras.Input((values.shape[-1],))
    x = keras.layers.Dropout(dropout)(inputs) if dropout else inputs
    head = keras.Model(
        inputs, keras.layers.Dense(num_classes, activation="softmax", dtype="float32")(x)
    )
    replicas = kerases.replicas(head)
    batch = max(replicas, min(HEAD_BATCH, len(values)) // replicas * replicas)
    steps = max(1, len(values) // batch)
    rates = schedules.rates(schedule, epochs, steps, learning_rate=learning_rate or HEAD_RATE)
    compile_model(
        head,
        rates,
        weight_decay=weight_decay,
        label_smoothing=label_smoothing,
        steps_per_execution=steps,
    )
    plain = val.values[:, 0]
    watch = Epochs(
        "head",
        lambda: _softmax(plain, *head.get_weights()),
        val.labels,
        epochs=epochs,
        steps=steps,
        batch_size=batch,
        **watching,
    )
    dataset = _feature_batches(values, labels, num_classes, batch, seed)
    head.fit(dataset, epochs=epochs, steps_per_epoch=steps, shuffle=False, verbose=0,
             callbacks=[watch])  # fmt: skip
    watch.finish(head)
    classifier.head.set_weights([exchange.of_first(values) for values in head.get_weights()])
    return watch


def _check_labels(classifier: Classifier, *labels: np.ndarray) -> None:
    known = classifier.head.units
    found = np.concatenate(labels)
    if found.min() < 0 or found.max() >= known:
        raise DataError(
            f"labels from {found.min()} to {found.max()} where {known} classes are known: look "
            "with tools/make_tfrecords.py inspect"
        )


def apply_head(classifier: Classifier, found: Features) -> np.ndarray:
    """float32 (images, classes) probabilities of stored features, of each image's first view."""
    return _softmax(found.values[:, 0], *classifier.head.get_weights()).astype(np.float32)


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


def fine_tune(
    classifier: Classifier,
    batches: Callable[[int], tf.data.Dataset],
    val: Split,
    *,
    rates: np.ndarray,
    epochs: int,
    steps_per_epoch: int,
    batch_size: int,
    val_labels: np.ndarray,
    weight_decay: float = 0.0,
    label_smoothing: float = 0.0,
    by_hand: bool = False,
    files: tuple[str, ...] = (),
    **watching: Any,
) -> Epochs:
    """Train whatever of the classifier is trainable, end to end.

    `batches(step)`: the endless batches of `petals.pipeline.training` from that step on, of
    `batch_size` images over all replicas, of which each of several hosts gives its part;
    `rates`: the learning rate of each step; `files`: the shards it reads, to name a damaged one;
    `watching`: what `petals.callbacks.Epochs` takes. With `checkpoints` among it, training goes
    on where the one that was found left off.
    """
    model = classifier.model
    replicas = kerases.replicas(model)
    if batch_size % replicas:
        raise SettingError(f"a batch of {batch_size} images cannot be shared by {replicas} devices")
    if by_hand and (replicas > 1 or not hasattr(model, "distribute_strategy")):
        raise SettingError(
            "custom_loop is TensorFlow's way to train, on one device: set custom_loop=False here"
        )
    compile_model(model, rates, weight_decay=weight_decay, label_smoothing=label_smoothing)
    watch = Epochs(
        "fine-tune",
        lambda: evaluation.predict(model, val, batch_size),
        val_labels,
        epochs=epochs,
        steps=steps_per_epoch,
        batch_size=batch_size,
        **watching,
    )
    watch.resume(model)
    keras_fit = partial(model.fit, shuffle=False, verbose=0)
    fit = partial(custom_loop.fit, model) if by_hand else keras_fit
    with hosts.naming_lost_hosts(), shards.naming_damaged_files(files, classifier.head.units):
        for step, end, steps in _stretches(watch.begin, epochs, steps_per_epoch):
            if not watch.stopped:
                fit(
                    exchange.feed(batches(step), batch_size),
                    initial_epoch=step // steps_per_epoch,
                    epochs=end,
                    steps_per_epoch=steps,
                    callbacks=[watch],
                )
    watch.finish(model)
    return watch


def _stretches(step: int, epochs: int, steps: int) -> Iterator[tuple[int, int, int]]:
    """(first step, epoch to end with, steps an epoch): the rest of a begun epoch, then the rest."""
    if step % steps:
        end = step // steps + 1
        yield step, end, steps - step % steps
        step = end * steps
    if step < epochs * steps:
        yield step, epochs, steps
