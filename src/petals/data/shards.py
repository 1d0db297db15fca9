"""The shards of a split: the number of images, their labels and ids, and sample images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from petals.data import tfrecords
from petals.data.splits import Split
from petals.errors import DataError

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "id": tf.io.FixedLenFeature([], tf.string),
    "class": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
}


def labels_and_ids(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """int64 labels (-1 where the split has none) and ids (str), in `ordered`'s order."""
    records = split.records().batch(1024)
    wanted = {name: FEATURES[name] for name in ("class", "id")}
    with naming_damaged_files(split.paths):
        parsed = list(records.map(lambda r: tf.io.parse_example(r, wanted)).as_numpy_iterator())
    read = sum(len(batch["id"]) for batch in parsed)
    if read != split.count:
        raise DataError(
            f"{split.paths[0]} and its siblings hold {read} images where their names say "
            f"{split.count}: see tools/make_tfrecords.py inspect"
        )
    ids = np.concatenate([batch["id"] for batch in parsed]).astype(str)
    return np.concatenate([batch["class"] for batch in parsed]), ids


@dataclass(frozen=True)
class Sample:
    """A few images to look at: uint8 (n, size, size, 3) and int64 labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


def sample(split: Split, which: int | Sequence[int]) -> Sample:
    """The first `which` images of a split, or those at the given positions, in that order."""
    positions = list(range(min(which, split.count))) if isinstance(which, int) else list(which)
    wanted = {int(position) for position in positions}
    found: dict[int, tuple[np.ndarray, int]] = {}
    at = -split.skip
    for path in split.paths:
        count = tfrecords.shard_count(path)
        if wanted & set(range(at, at + count)):
            for number, example in enumerate(tfrecords.read_shard(path), at):
                if number in wanted:
                    image = tf.io.decode_jpeg(example.image, channels=3).numpy()
                    found[number] = (image, -1 if example.label is None else example.label)
        at += count
        if len(found) == len(wanted):
            break
    images = [found[int(position)][0] for position in positions]
    labels = [found[int(position)][1] for position in positions]
    return Sample(np.stack(images), np.array(labels, np.int64))


@contextmanager
def naming_damaged_files(paths: Sequence[str], num_classes: int = 2**31) -> Iterator[None]:
    """Turn tf.data's error about a bad record or image into a `DataError` that names the file.

    The files are searched only after such an error.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        from petals.data import inspection

        found = inspection.damage(paths, num_classes)
        if not found:
            raise
        raise DataError(
            f"{found[0]}; make the file again without it, with tools/make_tfrecords.py"
        ) from error
