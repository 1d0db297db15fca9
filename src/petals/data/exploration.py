"""The contents of a dataset, and the speed at which this machine reads it."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from petals.data import pipeline
from petals.data.shards import Split


def balance(labels: Mapping[str, np.ndarray], names: Sequence[str]) -> dict[str, Any]:
    """How balanced the classes are in train, and how much their shares differ in val.

    `smallest`, `median` and `largest`: images of the classes that occur; `absent`: names of classes
    without a training image; `unlike_val`: (name, train share, val share) of the classes whose val
    share is furthest from train's, in standard errors, furthest first.
    """
    train = np.bincount(labels["train"], minlength=len(names))
    present = train[train > 0]
    balance = {
        "smallest": int(present.min()),
        "median": float(np.median(present)),
        "largest": int(present.max()),
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


def rate(split: Split, batch_size: int, num_classes: int, seconds: float) -> float:
    """Images per second of wall time that the training pipeline reads from the files here.

    It is measured for about `seconds`, after three batches to warm up.
    """
    size = min(batch_size, split.count)
    done = 0
    batches = iter(pipeline.Batches(split, size, num_classes, cache=False).dataset())
    for _ in range(3):
        next(batches)
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        next(batches)
        done += size
    return done / (time.perf_counter() - begun)
