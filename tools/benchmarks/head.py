"""The first phase on real photos: features stored once, next to the backbone run every epoch."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

BACKBONE, SIZE = "MobileNet-0.75", 192
EPOCHS, BATCH, RATE = 10, 64, 1e-2  # the tutorial's way, with keras.io's rate


def run(photos: Path, weights: Path) -> dict[str, Any]:
    """Seconds and validation macro F1 of both ways, and of a second run from stored features.

    Neither counts imports. Ours computes its features in an empty cache first.
    """
    from benchmarks import material
    from petals.data import classes
    from petals.data.splits import Split
    from petals.training.optimization import set_seed

    root = material.records(photos, (SIZE,))
    train, val = (Split.find(str(root), SIZE, part) for part in ("train", "val"))
    count = len(classes.load(str(root)))
    set_seed(0)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PETALS_CACHE"] = cache
        first, score = _ours(train, val, count, weights)
        again, _ = _ours(train, val, count, weights)
        del os.environ["PETALS_CACHE"]
    theirs, their_score = _every_epoch(train, val, count, weights)
    return {
        "macro_f1": round(score, 4),
        "seconds": round(first, 2),
        "stored_seconds": round(again, 2),
        "tutorial_macro_f1": round(their_score, 4),
        "tutorial_seconds": round(theirs, 1),
        "times_faster": round(theirs / first, 1),
    }


def _ours(train: Any, val: Any, count: int, weights: Path) -> tuple[float, float]:
    from petals.models import weights as pretrained
    from petals.models.backbones import find_backbone
    from petals.models.build import build
    from petals.training.callbacks import Training
    from petals.training.features import FeatureExtractor
    from petals.training.head import HeadRecipe, train_head

    begun = time.perf_counter()
    classifier = build(BACKBONE, SIZE, count, weights=str(weights))
    key = pretrained.describe(find_backbone(BACKBONE), SIZE, str(weights))
    extract = FeatureExtractor(classifier.features, key)
    recipe = HeadRecipe(dropout=0.3, label_smoothing=0.1)
    training = Training(say=lambda line: None)
    watch = train_head(classifier, extract(train), extract(val), recipe, training)
    return time.perf_counter() - begun, watch.best_f1


def _every_epoch(train: Any, val: Any, count: int, weights: Path) -> tuple[float, float]:
    import numpy as np
    from tensorflow import keras

    from benchmarks.pipeline import tutorial
    from petals.data import pipeline, shards
    from petals.evaluation.metrics import Scores
    from petals.models.backbones import BACKBONES
    from petals.models.weights import load_file

    begun = time.perf_counter()
    backbone = BACKBONES[BACKBONE].build(SIZE)
    load_file(backbone, weights, BACKBONE)
    backbone.trainable = False
    model = keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 3)),
            keras.layers.Rescaling(2.0, offset=-1.0),
            backbone,
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(count, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(RATE), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    validation = tutorial(val, BATCH, repeat=False)
    model.fit(
        tutorial(train, BATCH),
        epochs=EPOCHS,
        steps_per_epoch=train.count // BATCH,
        validation_data=validation,
        shuffle=False,
        verbose=0,
    )
    seconds = time.perf_counter() - begun
    labels, _ = shards.labels_and_ids(val)
    rows = [
        np.asarray(model.predict_on_batch(batch["image"] / np.float32(255)))
        for batch in pipeline.ordered(val, BATCH).as_numpy_iterator()
    ]
    probabilities = pipeline.cut(np.concatenate(rows), val)
    return seconds, Scores.of(labels, probabilities).macro_f1
