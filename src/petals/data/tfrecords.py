"""Write and read the records of a shard.

A record is a `tf.train.Example` with `image` (bytes, RGB JPEG of S x S pixels), `id` (bytes) and,
except in the test split, `class` (int64).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from petals import storage
from petals.errors import DataError


@dataclass(frozen=True)
class Example:
    """One image: JPEG bytes, the id, and the label if the split has labels."""

    image: bytes
    id: str
    label: int | None = None


def serialize(example: Example) -> bytes:
    """The record's bytes."""
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[example.image])),
        "id": tf.train.Feature(bytes_list=tf.train.BytesList(value=[example.id.encode()])),
    }
    if example.label is not None:
        feature["class"] = tf.train.Feature(
            int64_list=tf.train.Int64List(value=[int(example.label)])
        )
    features = tf.train.Features(feature=feature)
    return tf.train.Example(features=features).SerializeToString(deterministic=True)


def deserialize(record: bytes) -> Example:
    """The inverse of `serialize`; raises `DataError` if the record has another format."""
    try:
        feature = tf.train.Example.FromString(record).features.feature
        labels = feature["class"].int64_list.value
        return Example(
            image=feature["image"].bytes_list.value[0],
            id=feature["id"].bytes_list.value[0].decode(),
            label=int(labels[0]) if labels else None,
        )
    except Exception as error:  # protobuf's DecodeError differs between its implementations
        raise DataError(f"not a record of image, id and class: {error}") from None


def write_shard(path: str | Path, examples: Iterable[Example]) -> int:
    """Write a shard to `path` atomically.

    Returns the number of records. Raises `StorageError` if the disk is full or read-only.
    """
    count = 0
    try:
        with storage.replacing(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
            for example in examples:
                writer.write(serialize(example))
                count += 1
    except tf.errors.OpError as error:
        raise storage.cannot_write(path, error) from error
    return count


def read_shard(path: str | Path) -> Iterator[Example]:
    """The examples of a shard in order; raises `DataError` with its name if it is damaged."""
    number = 0
    try:
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            yield deserialize(record)
            number += 1
    except (tf.errors.DataLossError, DataError) as error:
        why = getattr(error, "message", str(error))
        raise DataError(f"{path} is damaged after {number} records: {why}") from None
