"""The contents of a dataset, and the speed at which this machine reads it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from petals.augment.augmentation import augmentation
from petals.data import pipeline
from petals.data.shards import Split
from petals.errors import DataError


def labels(splits: Mapping[str, Split], num_classes: int) -> dict[str, np.ndarray]:
    """int64 labels of each split that has labels; raises `DataError` for a label out of range."""
    labelled = {}
    for name, split in splits.items():
        values, _ = split.labels_and_ids()
        if values.max() >= num_classes:
            raise DataError(
                f"{name} has a label {values.max()}, but there are {num_classes} class names: "
                "write a classes.json that fits, beside the tfrecords folders"
            )
        if values.min() >= 0:
            labelled[name] = values
    return labelled


def balance(labels: Mapping[str, np.ndarray], names: Sequence[str]) -> dict[str, Any]:
    """How balanced the classes are in train, and how much their shares differ in val.

    `ratio`: the largest class's images over the smallest's (of those that occur); `absent`:
    names of classes without a training image; `unlike_val`: (name, train share, val share) of
    the classes whose val share is furthest from train's, in standard errors, furthest first.
    """
    train = np.bincount(labels["train"], minlength=len(names))
    present = train[train > 0]
    balance = {
        "classes": len(names),
        "smallest": int(present.min()),
        "median": float(np.median(present)),
        "largest": int(present.max()),
        "ratio": float(present.max() / present.min()),
        "absent": [names[i] for i in np.flatnonzero(train == 0).tolist()],
        "unlike_val": [],
    }
    if "val" in labels:
        val = np.bincount(labels["val"], minlength=len(names))
        train_shares, val_shares = train / train.sum(), val / val.sum()
        spread = np.sqrt(np.maximum(train_shares, 1 / train.sum()) / val.sum())
        away = np.abs(val_shares - train_shares) / spread
        balance["unlike_val"] = [
            (names[i], float(train_shares[i]), float(val_shares[i]))
            for i in np.argsort(-away)
            if away[i] > 2
        ]
    return balance


def some_of_each(split: Split, labels: np.ndarray, each: int) -> np.ndarray:
    """Positions of the first `each` images of every class that occurs, grouped by class."""
    labels = labels[: split.count]
    return np.concatenate([np.flatnonzero(labels == label)[:each] for label in np.unique(labels)])


def rates(split: Split, batch_size: int, num_classes: int, seconds: float) -> dict[str, float]:
    """Images per second through each kind of input pipeline, in wall time on this machine.

    "decoding" only reads and decodes in order. The others are `petals.data.pipeline.Batches`:
    streamed from the files, with what the device is to change drawn, or the change made by this
    machine's CPU; and, where the decoded images fit into memory, from memory after one pass. Each
    is measured for about `seconds`.
    """
    batch_size, strong = min(batch_size, split.count), augmentation("strong")

    def training(on_device: bool = True, cache: bool = False) -> tf.data.Dataset:
        return pipeline.Batches(
            split, batch_size, num_classes, augment=strong, on_device=on_device, cache=cache
        ).dataset()

    ways = {
        "decoding": pipeline.images(split, batch_size).repeat(),
        "training": training(),
        "training, strong on the CPU": training(on_device=False),
    }
    rates = {name: rate(dataset, batch_size, seconds) for name, dataset in ways.items()}
    if pipeline.fits_in_memory(split):
        one_pass = -(-split.count // batch_size)
        from_memory = rate(training(cache=True), batch_size, seconds, skip=one_pass)
        rates["training from memory"] = from_memory
    return rates


def rate(dataset: tf.data.Dataset, batch_size: int, seconds: float, skip: int = 2) -> float:
    """Images per second of an endless dataset of batches, after `skip` warm-up batches."""
    batches = iter(dataset)
    for _ in itertools.islice(batches, skip + 1):
        pass
    begun, done = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        next(batches)
        done += batch_size
    return done / (time.perf_counter() - begun)
