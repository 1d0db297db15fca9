"""What augmentation costs a training on this machine's CPU, end to end on real photos."""

from __future__ import annotations

import itertools
import statistics
import time
from pathlib import Path
from typing import Any

BACKBONE, BATCH, ROUNDS = "MobileNet-0.75", 32, 5
LEVELS = ("none", "flip", "crop", "light", "strong")
STEPS = {192: 8, 512: 3}  # a level and a round


def run(photos: Path, sizes: tuple[int, ...] = (192, 512)) -> dict[str, Any]:
    """Images a second of fine-tuning all layers, and each level's share of those without.

    `ratio` is the median over rounds in which the levels take turns; `cpu_ratio` the same of the
    processors' time, which other work on the machine hardly changes.
    """
    from petals.accelerators.detect import detect

    device = detect("cpu")
    from benchmarks import material

    root = material.records(photos, sizes)
    result: dict[str, Any] = {}
    for size in sizes:
        found = _of_size(str(root), size, device)
        result |= {f"{name}_{size}": value for name, value in found.items()}
    return result


def _of_size(root: str, size: int, device: Any) -> dict[str, float]:
    from petals.data.shards import Split
    from petals.data.source import Source
    from petals.models.build import build, set_trainable

    num_classes = len(Source(root, "folder").class_names)
    split = Split.find(root, size, "train")
    with device.scope():
        classifier = build(BACKBONE, size, num_classes, weights="none")
    set_trainable(classifier, "all")
    steps = {level: _training(classifier, split, num_classes, level) for level in LEVELS}
    wall: dict[str, list[float]] = {level: [] for level in LEVELS}
    cpu: dict[str, list[float]] = {level: [] for level in LEVELS}
    for _ in range(ROUNDS):
        for level, train in steps.items():
            begun, worked = time.perf_counter(), time.process_time()
            train(STEPS[size])
            wall[level].append(time.perf_counter() - begun)
            cpu[level].append(time.process_time() - worked)
    images = STEPS[size] * BATCH
    result = {level: round(images / statistics.median(wall[level]), 1) for level in LEVELS}
    for level in LEVELS[1:]:
        for name, times in (("ratio", wall), ("cpu_ratio", cpu)):
            shares = [a / b for a, b in zip(times["none"], times[level], strict=True)]
            result[f"{level}_{name}"] = round(statistics.median(shares), 3)
    return result


def _training(classifier: Any, split: Any, num_classes: int, level: str) -> Any:
    """A function that trains for so many steps, compiled and with its buffers full."""
    import numpy as np

    from petals.augment.augmentation import augmentation
    from petals.augment.layer import augmenting, in_step
    from petals.data import pipeline
    from petals.training.compile import compile_model

    change, on_device = augmentation(level), in_step(classifier.model)
    model = augmenting(classifier.model, change) if change and on_device else classifier.model
    if model is classifier.model:  # compiled anew, it would trace its step again for each level
        from tensorflow import keras

        model = keras.Model(model.input, model.output)
    compile_model(model, np.full(1000, 1e-5))
    batches = iter(
        pipeline.Training(split, BATCH, num_classes, augment=change, on_device=on_device).batches()
    )

    def train(steps: int) -> None:
        for images, labels in itertools.islice(batches, steps):
            model.train_on_batch(images, labels)

    train(2)
    return train
