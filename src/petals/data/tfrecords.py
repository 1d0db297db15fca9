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
    record = tf.train.Example()
    feature = record.features.feature
    feature["image"].bytes_list.value.append(example.image)
    feature["id"].bytes_list.value.append(example.id.encode())
    if example.label is not None:
        feature["class"].int64_list.value.append(int(example.label))
    return record.SerializeToString(deterministic=True)


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


def fault(example: Example, size: int, num_classes: int) -> str:
    """Why an image of `size` pixels cannot be trained on; "" if it can."""
    if example.label is not None and not 0 <= example.label < num_classes:
        return f"label {example.label} is not in 0..{num_classes - 1}"
    try:
        height, width, _ = tf.io.decode_jpeg(example.image, channels=3).shape
    except tf.errors.InvalidArgumentError:
        return "its image does not decode"
    return "" if height == width == size else f"image of {width} x {height} pixels"


def write_shard(path: str | Path, examples: Iterable[Example]) -> None:
    """Write a shard to `path` atomically; raises `StorageError`, as for a full disk."""
    try:
        with storage.replacing(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
            for example in examples:
                writer.write(serialize(example))
    except tf.errors.OpError as error:
        raise storage.cannot_write(path, error) from error


def read_shard(path: str | Path) -> Iterator[Example]:
    """The examples of a shard in order; raises `DataError` with its name if it is damaged."""
    number = 0
    try:
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            yield deserialize(record)
            number += 1
    except (tf.errors.DataLossError, DataError) as error:
        why = getattr(error, "message", str(error))
        raise DataError(
            f"{path} is damaged after {number} records: {why}; make the file again, or download "
            "it again"
        ) from None
