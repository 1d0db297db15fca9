"""What the records of a file say without their images: schema, labels, ids, brightest values."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from petals.data import classes, photo_files, schema, shards
from petals.data.layout import RecordFile
from petals.data.schema import Schema
from petals.errors import DataError

_MAYBE_DEEP = ("a PNG", "a TIFF", "a TIFF with big-endian numbers")  # formats of 16 bits a value


@dataclass
class Survey:
    """A record file and what its records say: a label and an id for each."""

    file: RecordFile
    compression: str
    schema: Schema
    labels: list[Any] = field(default_factory=list)  # int or str; None in the test split
    lengths: set[int] = field(default_factory=set)  # of labels: more than 1 where they are one-hot
    texts: list[str] = field(default_factory=list)  # names of classes beside labels
    ids: list[str] = field(default_factory=list)
    peaks: list[tuple[str, float]] = field(default_factory=list)  # of images with 16 bits a value
    standard: bool = True  # whether every record can be read as it is


def has_schema(file: RecordFile) -> bool:
    """Whether the first record of a file has the schema that `petals.data.shards` reads.

    It is read without TensorFlow's dataset, which takes 20 ms to begin with a file.
    """
    with tf.io.gfile.GFile(file.path, "rb") as opened:
        header = opened.read(shards.HEADER.size)
        if len(header) < shards.HEADER.size:
            return False
        length, _ = shards.HEADER.unpack(header)
        if length > opened.size():  # of a compressed file, for one
            return False
        data = opened.read(length)
    try:
        return _is_standard(schema.parse(data), file.split)
    except DataError:
        return False


def _is_standard(record: tf.train.Example, split: str) -> bool:
    kinds = schema.feature_kinds(record)
    wanted = {"image": "bytes_list", "id": "bytes_list"}
    if split != "test":
        wanted["class"] = "int64_list"
    if any(kinds.get(name) != kind for name, kind in wanted.items()):
        return False
    single = all(len(schema.values(record, name)) == 1 for name in wanted)
    return single and shards.is_decoded(schema.values(record, "image")[0])


def survey_records(file: RecordFile, columns: Mapping[str, str]) -> Survey:
    """What the records of a file say, without their images."""
    kind = schema.compression(file.path)
    result = None
    labelled = file.split != "test"
    for number, record in enumerate(schema.records(file.path, kind)):
        try:
            if result is None:
                result = Survey(file, kind, Schema.of(record, columns), standard=not kind)
            _add(result, record, labelled)
        except DataError as error:
            raise DataError(f"{file.path}: record {number}: {error}") from None
    if result is None:
        raise DataError(f"{file.path} holds no records")
    return result


def _add(result: Survey, record: tf.train.Example, labelled: bool) -> None:
    columns = result.schema
    image = _single(record, columns.image, "image")
    if photo_files.format_of(image) in _MAYBE_DEEP:
        result.peaks.append(photo_files.peak(io.BytesIO(image)))
    if labelled:
        if not columns.label:
            raise DataError(
                f"nothing that looks like a label; it has {schema.describe(record)}. Name it: "
                "data=…?class=NAME"
            )
        result.labels.append(_label_of(record, columns.label))
        result.lengths.add(len(schema.values(record, columns.label)))
        if columns.text:
            result.texts.append(_as_text(_single(record, columns.text, "the name of a class")))
    id_ = schema.values(record, columns.id) if columns.id else []
    result.ids.append(_as_text(id_[0]) if len(id_) == 1 else "")
    result.standard = result.standard and _is_standard(record, result.file.split)


def _label_of(record: tf.train.Example, name: str) -> int | str:
    """The label of a record: the feature's only value, or the place of the 1 among zeros."""
    own = schema.values(record, name)
    if len(own) < 2 or any(value not in (0, 1) for value in own):
        return _as_label(_single(record, name, "class"))
    if own.count(1) != 1:
        raise DataError(
            f"{name} holds {len(own)} values, {own.count(1)} of which are 1: a photo needs one "
            "class, and those of several classes cannot be learnt here"
        )
    return own.index(1)


def _single(record: tf.train.Example, name: str, what: str) -> Any:
    own = schema.values(record, name)
    if len(own) == 1:
        return own[0]
    held = "no value" if not own else f"{len(own)} values"
    raise DataError(
        f"{name} holds {held} where one is needed as {what}; it has {schema.describe(record)}"
    )


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _as_label(value: Any) -> int | str:
    if isinstance(value, float):
        if not value.is_integer():
            raise DataError(f"the label is {value}, which is not a class")
        return int(value)
    if isinstance(value, int) and value < 0:
        raise DataError(f"the label is {value}, which is not a class")
    return classes.normalised(_as_text(value)) if isinstance(value, bytes) else value
