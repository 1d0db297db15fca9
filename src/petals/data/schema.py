"""What the features of a record are called, and what a file is that holds no such records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from petals.data import photo_files, shards
from petals.errors import DataError

# The names that people give to the three features, the likeliest first: the competition's; those of
# TFDS and TF-Slim; those of other image competitions.
IMAGES = ("image", "image/encoded", "image_raw", "img", "encoded", "image_bytes", "jpeg", "photo")
LABELS = ("class", "label", "image/class/label", "target", "labels", "category", "y")
IDS = ("id", "image_name", "image_id", "image/filename", "filename", "file_name", "name", "key")
TEXTS = ("image/class/text", "class_name", "label_name", "class", "label", "text")
COLUMNS = ("image", "class", "id")  # what a mapping can name
GZIP, ZLIB = b"\x1f\x8b", b"\x78"
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Schema:
    """The names of a record's features; "" for one that it does not have.

    `label` is a whole number, or a text if the classes are given by their names; `text` is the name
    of the class beside a label that is a number; `other_labels` are features that could have been
    the label as well.
    """

    image: str
    label: str = ""
    id: str = ""
    text: str = ""
    other_labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: tf.train.Example, columns: Mapping[str, str] | None = None) -> Schema:
        """The schema of a record: `columns` ({"image" | "class" | "id": name}), the rest guessed.

        Raises `DataError` that lists the features, for a record without the named ones or without
        anything that can be an image.
        """
        kinds = feature_kinds(record)
        columns = columns or {}
        for column, name in columns.items():
            if name not in kinds:
                raise DataError(f"no feature {name!r} for {column}; it has {describe(record)}")
        texts = {name for name, kind in kinds.items() if kind == "bytes_list"}
        numbers = {name for name, kind in kinds.items() if kind == "int64_list"}
        floats = {name for name, kind in kinds.items() if kind == "float_list"}
        image = columns.get("image") or _first(IMAGES, texts)
        if not image:
            raise DataError(
                f"nothing that looks like an image; it has {describe(record)}. Name it: "
                "data=…?image=NAME&class=NAME&id=NAME"
            )
        named = columns.get("class", "")
        label = named or _first(LABELS, numbers) or _first(LABELS, texts - {image})
        label = label or _first(LABELS, floats)
        text = _first(TEXTS, texts - {image, label}) if label in numbers and not named else ""
        others: list[str] = []
        if label in numbers and not named:
            others = [name for name in LABELS if name in numbers and name != label]
        id_ = columns.get("id") or _first(IDS, texts | numbers)
        return cls(image, label, id_, text, tuple(others))


def _first(names: tuple[str, ...], among: set[str]) -> str:
    return next((name for name in names if name in among), "")


def feature_kinds(record: tf.train.Example) -> dict[str, str]:
    """`bytes_list`, `int64_list` or `float_list` of each feature that has a value."""
    features = record.features.feature.items()
    kinds = {name: feature.WhichOneof("kind") for name, feature in features}
    return {name: kind for name, kind in kinds.items() if kind}


def values(record: tf.train.Example, name: str) -> list[Any]:
    """The values of a feature; none if the record lacks it."""
    feature = record.features.feature
    if name not in feature or not (kind := feature[name].WhichOneof("kind")):
        return []
    return list(getattr(feature[name], kind).value)


def describe(record: tf.train.Example) -> str:
    """The features with their types, such as `image (bytes), target (2 int64)`."""
    parts = []
    for name, kind in sorted(feature_kinds(record).items()):
        count = len(values(record, name))
        type_ = kind.removesuffix("_list")
        parts.append(f"{name} ({type_})" if count == 1 else f"{name} ({count} {type_})")
    return f"the features {', '.join(parts)}" if parts else "no features"


def parse(data: bytes) -> tf.train.Example:
    """The record; raises `DataError` if the bytes are no `tf.train.Example`."""
    try:
        return tf.train.Example.FromString(data)
    except Exception as error:  # protobuf's DecodeError differs between its implementations
        raise DataError(f"not a tf.train.Example ({error})") from None


def compression(path: str) -> str:
    """How the file is compressed, as `tf.data.TFRecordDataset` calls it: "", "GZIP" or "ZLIB".

    Raises `DataError` that says what the file is, if it holds no records.
    """
    with tf.io.gfile.GFile(path, "rb") as file:
        begins = file.read(32)
    if not begins:
        raise DataError(f"{path} is empty")
    # An uncompressed file may begin with the same bytes, which are a length: so it is tried first.
    tries = [""]
    if begins.startswith(GZIP):
        tries.append("GZIP")
    if begins.startswith(ZLIB):
        tries.append("ZLIB")
    for kind in tries:
        try:
            next(iter(tf.data.TFRecordDataset(path, kind).take(1)), None)
        except tf.errors.OpError:
            continue
        return kind
    what = "a zip archive" if begins.startswith(ZIP) else photo_files.format_of(begins)
    if what:
        raise DataError(f"{path} is not a TFRecord file but {what}")
    raise DataError(
        f"{path}: record 0 is damaged, or not a TFRecord file: it begins with {begins[:8]!r}"
    )


def records(path: str, kind: str = "") -> Iterator[tf.train.Example]:
    """The records of a file with this compression, in order.

    Raises `DataError` that says at which record the file is damaged, or holds something else.
    """
    number = 0
    try:
        dataset = tf.data.TFRecordDataset(path, kind).with_options(shards.untuned())
        for data in dataset.as_numpy_iterator():
            yield parse(data)
            number += 1
    except tf.errors.OpError as error:
        raise DataError(f"{path}: record {number} is damaged: {shards.reason(error)}") from None
    except DataError as error:
        raise DataError(f"{path}: record {number}: {error}") from None
