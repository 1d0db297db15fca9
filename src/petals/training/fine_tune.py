"""The second phase: training end to end, through Keras's `fit`.

With `by_hand` it goes through `petals.training.custom_loop` instead, the same training as a loop
that can be read and changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from petals.accelerators import cluster, collectives, keras_backend
from petals.augment.augmentation import Augmentation
from petals.augment.layer import augmenting
from petals.data import shards
from petals.data.shards import Split
from petals.errors import SettingError
from petals.evaluation.prediction import predict
from petals.models.classifier import Classifier
from petals.training import custom_loop
from petals.training.callbacks import Epochs
from petals.training.compile import compile_model
from petals.training.remat import rematerialising


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
    augment: Augmentation | None = None,
    remat: bool = False,
    by_hand: bool = False,
    files: tuple[str, ...] = (),
    **watching: Any,
) -> Epochs:
    """Train whatever of the classifier is trainable, end to end.

    `batches(step)`: the endless batches of `petals.data.pipeline.Training` from that step on, of
    `batch_size` images over all replicas, of which each of several hosts gives its part;
    `augment`: what the step does to them first, where the pipeline leaves that to the device;
    `remat`: whether activations are computed again in the backward pass (`petals.training.remat`);
    `rates`: the learning rate of each step; `files`: the shards it reads, to name a damaged one;
    `watching`: what `petals.training.callbacks.Epochs` takes. With `checkpoints` among it,
    training goes on where the one that was found left off.
    """
    model = classifier.model
    replicas = keras_backend.replicas(model)
    if batch_size % replicas:
        raise SettingError(f"a batch of {batch_size} images cannot be shared by {replicas} devices")
    if augment is not None and augment.mix != "none" and batch_size // replicas % 2:
        raise SettingError(
            f"mix={augment.mix} with {batch_size // replicas} images for each device: images are "
            "mixed in pairs, so batch_size must be even"
        )
    trained = model if augment is None else augmenting(model, augment)
    trained = rematerialising(trained) if remat else trained
    compile_model(trained, rates, weight_decay=weight_decay, label_smoothing=label_smoothing)
    watch = Epochs(
        "fine-tune",
        lambda: predict(model, val, batch_size),
        val_labels,
        epochs=epochs,
        steps=steps_per_epoch,
        batch_size=batch_size,
        **watching,
    )
    watch.resume(trained)
    keras_fit = partial(trained.fit, shuffle=False, verbose=0)
    fit = partial(custom_loop.fit, trained) if by_hand else keras_fit
    with cluster.naming_lost_hosts(), shards.naming_damaged_files(files, classifier.head.units):
        for step, end, steps in _stretches(watch.begin, epochs, steps_per_epoch):
            if not watch.stopped:
                fit(
                    collectives.feed(batches(step), batch_size),
                    initial_epoch=step // steps_per_epoch,
                    epochs=end,
                    steps_per_epoch=steps,
                    callbacks=[watch],
                )
    watch.finish(trained)
    return watch


def _stretches(step: int, epochs: int, steps: int) -> Iterator[tuple[int, int, int]]:
    """(first step, epoch to end with, steps an epoch): the rest of a begun epoch, then the rest."""
    if step % steps:
        end = step // steps + 1
        yield step, end, steps - step % steps
        step = end * steps
    if step < epochs * steps:
        yield step, epochs, steps
