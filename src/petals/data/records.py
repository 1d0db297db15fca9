"""The records of a file: the competition's features, or others that `data=` names.

A record is a `tf.train.Example` of three features with one value each: an image (bytes, a JPEG or
PNG), a class (int64) and an id (bytes or int64). In the competition they are called image, class
and id; `data=FOLDER?image=NAME&class=NAME&id=NAME` gives them other names.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import tensorflow as tf

from petals.data.formats import format_of
from petals.errors import DataError

UNLABELLED = -1  # the label of an image whose class is unknown
HEADER = struct.Struct("<QI")  # a record: length, its CRC, the data, the data's CRC
CRC = 4  # bytes


@dataclass(frozen=True)
class Schema:
    """What the features of a record are called; without `id`, an id is made of file and position.

    `FIELDS` are their names in the question that `data=` ends with.
    """

    image: str = "image"
    label: str = "class"
    id: str = "id"

    @classmethod
    def named(cls, place: str, query: str) -> Schema:
        """Those of the question after a `place`; what it does not name is called as here.

        A question without `id` has none. Raises `DataError` for a question that names no feature.
        """
        names = dict(parse_qsl(query))
        if not names or not set(names) <= {"image", "class", "id"}:
            raise DataError(
                f"data={place}?{query}: name features as in {place}?image=NAME&class=NAME&id=NAME"
            )
        return cls(names.get("image", "image"), names.get("class", "class"), names.get("id", ""))

    def parsing(self) -> dict[str, tf.io.FixedLenFeature]:
        """What `tf.io.parse_example` needs to read image and class."""
        return {
            self.image: tf.io.FixedLenFeature([], tf.string),
            self.label: tf.io.FixedLenFeature([], tf.int64, default_value=UNLABELLED),
        }


COMPETITION = Schema()


@dataclass(frozen=True)
class Example:
    """One image: JPEG or PNG bytes, the id, and the label; the test split is unlabelled."""

    image: bytes
    id: str
    label: int = UNLABELLED


def deserialize(data: bytes, features: Schema = COMPETITION, place: str = "") -> Example:
    """The image of a record; `place`: its id where the features have none.

    Raises `DataError` that says what the record has, if it has not these features.
    """
    try:
        record = tf.train.Example.FromString(data)
    except Exception as error:  # protobuf's DecodeError differs between its implementations
        raise DataError(f"not a tf.train.Example ({error})") from None
    kind, images = _values(record, features.image)
    label_kind, labels = _values(record, features.label)
    _, ids = _values(record, features.id) if features.id else ("", [place])
    is_image = kind == "bytes" and len(images) == 1
    is_label = label_kind in ("", "int64") and len(labels) <= 1
    if not (is_image and is_label and len(ids) == 1):
        raise DataError(_unlike(record, features))
    id_ = ids[0]
    text = id_.decode("utf-8", "backslashreplace") if isinstance(id_, bytes) else str(id_)
    return Example(images[0], text, labels[0] if labels else UNLABELLED)


def _values(record: tf.train.Example, name: str) -> tuple[str, list[Any]]:
    """(bytes, int64 or float, the values) of a feature; ("", []) if the record lacks it."""
    feature = record.features.feature
    kind = feature[name].WhichOneof("kind") if name in feature else None
    if not kind:
        return "", []
    return kind.removesuffix("_list"), list(getattr(feature[name], kind).value)


def _unlike(record: tf.train.Example, features: Schema) -> str:
    """What a record has, and what it should have."""
    parts = []
    for name in sorted(record.features.feature):
        kind, values = _values(record, name)
        if kind:
            many = "" if len(values) == 1 else f"{len(values)} "
            parts.append(f"{name} ({many}{kind})")
    id_ = f" and {features.id}" if features.id else ""
    return (
        f"it has {', '.join(parts) or 'no features'}, where {features.image} (a JPEG or PNG as "
        f"bytes), {features.label} (a whole number){id_} are needed, with one value each. Name "
        "others as in data=FOLDER?image=NAME&class=NAME&id=NAME; write records again whose classes "
        "are texts or one-hot rows"
    )


def read(path: str | Path, features: Schema = COMPETITION) -> Iterator[Example]:
    """The examples of a file in order; raises `DataError` that names the record that is bad."""
    number = 0
    name = os.path.basename(path)  # noqa: PTH119 - of gs:// too
    try:
        records = tf.data.TFRecordDataset(str(path)).with_options(untuned())
        for record in records.as_numpy_iterator():
            yield deserialize(record, features, f"{name}:{number}")
            number += 1
    except tf.errors.DataLossError as error:
        raise _damaged(path, number, reason(error)) from None
    except DataError as error:
        raise DataError(f"{path}: record {number}: {error}") from None


def count(path: str) -> int:
    """The number of records in a file, which is looked through once.

    Of a local file only the lengths of the records are read. Raises `DataError` for a file that is
    cut off, or no TFRecord file.
    """
    if "://" in path:
        state = tf.io.gfile.stat(path)
        return _count(path, state.length, state.mtime_nsec)
    local = Path(path).stat()
    return _count(path, local.st_size, local.st_mtime_ns)


@cache
def _count(path: str, length: int, _modified: int) -> int:
    if "://" in path:
        return sum(1 for _ in read(path))
    return sum(1 for _ in headers(Path(path), length))


def headers(path: Path, length: int) -> Iterator[bytes]:
    """For each record of a local file of `length` bytes, its length and its two checksums."""
    number = 0
    at = 0
    with path.open("rb") as file:
        while at < length:
            header = file.read(HEADER.size)
            size = HEADER.unpack(header)[0] if len(header) == HEADER.size else length
            at += HEADER.size + size + CRC
            if at > length:
                raise _damaged(path, number, "the file ends within it")
            file.seek(size, os.SEEK_CUR)
            yield header + file.read(CRC)
            number += 1


def _damaged(path: str | Path, number: int, why: str) -> DataError:
    """The error for a record that cannot be read, or for a file of another kind."""
    with tf.io.gfile.GFile(str(path), "rb") as file:
        kind = format_of(file.read(32))
    if number == 0 and kind:
        return DataError(
            f"{path} is not a TFRecord file but {kind}: give TFRecords that are not compressed"
        )
    return DataError(
        f"{path}: record {number} is damaged: {why}; make the file again or download it again"
    )


def reason(error: tf.errors.OpError) -> str:
    """What went wrong, without the name of the op that TensorFlow puts around it."""
    return re.sub(r"\{\{.*?\}\} |'? failed with .*| \[Op:.*", "", error.message)


def untuned() -> tf.data.Options:
    """Options for a dataset whose iterator can always end at once.

    tf.data's autotuning runs in a thread that looks at a dataset at ever longer intervals, up to a
    minute. The end of an iterator wakes it, and waits for it; but it is woken before it can see
    that it should end (`CancellationManager::StartCancel` of TensorFlow 2.21 calls its callbacks
    first), and if it looks too soon, it sleeps for the rest of its interval. `fit` then returns up
    to a minute late, while nothing computes.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options
