"""Write shards in the competition's layout: tfrecords-jpeg-SxS/SPLIT/NN-SxS-COUNT.tfrec.

No training reaches this module, except where photos are divided into folds or added to others.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import tensorflow as tf

from petals import storage
from petals.data.records import COMPETITION, UNLABELLED, Example, Schema
from petals.junk import is_junk

SHARD = 800  # images per file, about as many as in the competition


def serialize(example: Example, features: Schema = COMPETITION) -> bytes:
    """The bytes of a record; `records.deserialize` reads them."""
    record = tf.train.Example()
    feature = record.features.feature
    feature[features.image].bytes_list.value.append(example.image)
    if features.id:
        feature[features.id].bytes_list.value.append(example.id.encode())
    if example.label != UNLABELLED:
        feature[features.label].int64_list.value.append(example.label)
    return record.SerializeToString(deterministic=True)


def folder(root: str | Path, size: int, split: str) -> str:
    """The folder with the shards of one split and image size."""
    return f"{str(root).rstrip('/')}/tfrecords-jpeg-{size}x{size}/{split}"


def shard_name(number: int, size: int, count: int) -> str:
    """`NN-SxS-COUNT.tfrec`, as the competition names its files."""
    return f"{number:02d}-{size}x{size}-{count}.tfrec"


def shard_paths(root: str | Path, size: int, split: str) -> list[str]:
    """The shards of a split, sorted; none if there is no such split."""
    place = folder(root, size, split)
    names = tf.io.gfile.listdir(place) if tf.io.gfile.isdir(place) else ()
    return sorted(
        f"{place}/{name}" for name in names if name.endswith(".tfrec") and not is_junk(name)
    )


def described(megabytes: Sequence[float]) -> str:
    """How many shards there are, and their sizes: `16 shards of 3.9 to 4.1 MB`."""
    smallest, largest = f"{min(megabytes):.1f}", f"{max(megabytes):.1f}"
    sizes = smallest if smallest == largest else f"{smallest} to {largest}"
    count = "1 shard" if len(megabytes) == 1 else f"{len(megabytes):,} shards"
    return f"{count} of {sizes} MB"


def write_shard(
    path: str | Path, examples: Iterable[Example], features: Schema = COMPETITION
) -> None:
    """Write a shard to `path` atomically; raises `StorageError`, as for a full disk."""
    try:
        with storage.replacing(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
            for example in examples:
                writer.write(serialize(example, features))
    except tf.errors.OpError as error:
        raise storage.cannot_write(path, error) from error


def write_shards(
    folder: Path,
    size: int,
    total: int,
    examples: Iterable[Example],
    features: Schema = COMPETITION,
) -> None:
    """Write `total` examples to files of about equal length, of at most `SHARD` images each."""
    rest = iter(examples)
    files = -(-total // SHARD)
    for number in range(files):
        count = total * (number + 1) // files - total * number // files
        write_shard(folder / shard_name(number, size, count), islice(rest, count), features)
