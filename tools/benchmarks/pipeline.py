"""Input pipeline: ours over plain JPEG decoding, next to the competition tutorial's."""

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

BATCH = 128
SECONDS = 2.0
ROUNDS = 5
EPOCHS = 6


def run(photos: Path, sizes: tuple[int, ...] = (192, 512)) -> dict[str, Any]:
    """Ratios at each size, each the median over rounds in which all four take turns.

    `photos`: a folder of class folders. Decoding, the yardstick, works on bytes that are in
    memory already and does nothing else.
    """
    from benchmarks import material
    from petals.data.shards import Split

    root = material.records(photos, sizes)
    result: dict[str, Any] = {}
    for size in sizes:
        split = Split.find(str(root), size, "train")
        result |= {f"{name}_{size}": value for name, value in _ratios(split).items()}
    result["memory_growth_mb"] = _memory_growth(Split.find(str(root), sizes[0], "train"))
    return result


def _ratios(split: Any) -> dict[str, float]:
    from petals.augment.augmentation import augmentation
    from petals.data import pipeline

    strong = augmentation("strong")  # drawn by the host, done by the device
    runs = {
        "decode": lambda: _decoding(split),
        "tutorial": lambda: _tutorial(split),
        "ours": lambda: pipeline.Batches(split, BATCH, 104, cache=False).dataset(),
        "ours_augmented": lambda: pipeline.Batches(
            split, BATCH, 104, augment=strong, cache=False
        ).dataset(),
    }
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, begin in runs.items():
            # Begun anew in each round: what waits its turn must neither work nor lie cold.
            rates[name].append(_rate(iter(begin())))
    result = {name: round(statistics.median(values)) for name, values in rates.items()}
    for name in ("ours", "ours_augmented", "tutorial"):
        shares = [a / b for a, b in zip(rates[name], rates["decode"], strict=True)]
        result[f"{name}_ratio"] = round(statistics.median(shares), 3)
    return result


def _rate(batches: Iterator[Any]) -> float:
    for _ in range(20):  # until its buffers are full and its parallelism is settled
        next(batches)
    begun = time.perf_counter()
    images = 0
    while time.perf_counter() - begun < SECONDS:
        next(batches)
        images += BATCH
    return images / (time.perf_counter() - begun)


def _decoding(split: Any) -> Any:
    import tensorflow as tf

    from petals.data import records

    jpegs = [example.image for path in split.paths for example in records.read(path)]
    pixels = tf.TensorSpec((split.size, split.size, 3), tf.uint8)

    def decode(batch: Any) -> Any:
        return tf.map_fn(
            lambda jpeg: tf.io.decode_jpeg(jpeg, channels=3), batch, fn_output_signature=pixels
        )

    dataset = tf.data.Dataset.from_tensor_slices(jpegs).repeat().batch(BATCH)
    return dataset.map(decode, num_parallel_calls=os.cpu_count()).prefetch(1)


def _tutorial(split: Any) -> Any:
    """What the competition's getting-started notebook does, restated: float32 in [0, 1]."""
    import tensorflow as tf

    auto = tf.data.AUTOTUNE
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "class": tf.io.FixedLenFeature([], tf.int64),
    }

    def read(record: Any) -> Any:
        example = tf.io.parse_single_example(record, features)
        image = tf.image.decode_jpeg(example["image"], channels=3)
        image = tf.reshape(tf.cast(image, tf.float32) / 255.0, [split.size, split.size, 3])
        return image, tf.cast(example["class"], tf.int32)

    unordered = tf.data.Options()
    unordered.deterministic = False
    dataset = tf.data.TFRecordDataset(split.paths, num_parallel_reads=auto)
    dataset = dataset.with_options(unordered).map(read, num_parallel_calls=auto)
    dataset = dataset.map(
        lambda image, label: (tf.image.random_flip_left_right(image), label),
        num_parallel_calls=auto,
    )
    return dataset.repeat().shuffle(2048).batch(BATCH).prefetch(auto)


def _memory_growth(split: Any) -> float:
    """Megabytes by which resident memory grows from the second epoch to the last."""
    from petals.data import pipeline

    batches = iter(pipeline.Batches(split, BATCH, 104, cache=False).dataset())
    steps = split.count // BATCH
    resident = []
    for _ in range(EPOCHS):
        for _ in range(steps):
            next(batches)
        resident.append(psutil.Process().memory_info().rss / 1e6)
    return round(resident[-1] - resident[1], 1)
