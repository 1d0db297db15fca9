"""The competition's files: TFRecord shards of JPEG images, written, read and checked.

A dataset is a folder with `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`. One record
is a `tf.train.Example` with `image` (bytes, RGB JPEG of S x S pixels), `id` (bytes) and, except
in the test split, `class` (int64). Training plans its steps with the counts in the shards' names,
so it need not read the files first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from petals import storage
from petals.errors import DataError

SPLITS = ("train", "val", "test")
_SHARD = re.compile(r"(?P<number>\d+)-(?P<size>\d+)x(?P=size)-(?P<count>\d+)\.tfrec$")
_FOLDER = re.compile(r"tfrecords-jpeg-(\d+)x\1/?$")
_HEADER = struct.Struct("<QI")  # a record: length, its CRC, the data, the data's CRC
_FOOTER = struct.Struct("<I")


@dataclass(frozen=True)
class Example:
    """One image: JPEG bytes, the id, and the label where the split has one."""

    image: bytes
    id: str
    label: int | None = None


def folder(root: str | Path, size: int, split: str) -> str:
    """Where the shards of one split and image size are."""
    return f"{str(root).rstrip('/')}/tfrecords-jpeg-{size}x{size}/{split}"


def shard_name(number: int, size: int, count: int) -> str:
    """`NN-SxS-COUNT.tfrec`, as the competition names its files."""
    return f"{number:02d}-{size}x{size}-{count}.tfrec"


def shard_count(path: str) -> int:
    """The number of images that a shard's name declares."""
    match = _SHARD.search(str(path))
    if not match:
        raise DataError(f"{path} is not named NN-SxS-COUNT.tfrec, so its images can't be counted")
    return int(match["count"])


def sizes(root: str | Path) -> list[int]:
    """The image sizes that the dataset under `root` holds, ascending."""
    if not tf.io.gfile.isdir(str(root)):
        return []
    matches = (_FOLDER.match(name) for name in tf.io.gfile.listdir(str(root)))
    return sorted(int(m[1]) for m in matches if m)


def shards(root: str | Path, size: int, split: str) -> list[str]:
    """The shard paths of a split, sorted. Raises `DataError` that names the sizes on disk."""
    found = sorted(tf.io.gfile.glob(folder(root, size, split) + "/*.tfrec"))
    if found:
        return found
    on_disk = ", ".join(map(str, sizes(root))) or "none"
    if size not in sizes(root):
        raise DataError(f"{root} has no images of size {size}; the sizes there: {on_disk}")
    raise DataError(f"{folder(root, size, split)} holds no .tfrec files")


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
    """The inverse of `serialize`; raises `DataError` if the record is not of the format."""
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
    """Write a shard in one piece: it appears under `path` whole, or not at all.

    Returns the number of records. Raises `StorageError` when the disk is full or read-only.
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


def salvage(path: str | Path) -> tuple[list[Example], int]:
    """The intact examples of a damaged local shard, and how many of its declared ones are lost.

    TensorFlow gives up a file at its first bad record; this function skips a record with bad data
    and reads on. After a bad length the next record cannot be found: the rest of the file is lost.
    """
    good: list[Example] = []
    data = Path(path).read_bytes()
    at = 0
    while at + _HEADER.size <= len(data):
        length, length_crc = _HEADER.unpack_from(data, at)
        start, end = at + _HEADER.size, at + _HEADER.size + length
        if _masked_crc32c(data[at : at + 8]) != length_crc or end + _FOOTER.size > len(data):
            break
        if _masked_crc32c(data[start:end]) == _FOOTER.unpack_from(data, end)[0]:
            with contextlib.suppress(DataError, tf.errors.InvalidArgumentError):
                good.append(_decodable(deserialize(data[start:end])))
        at = end + _FOOTER.size
    return good, max(0, shard_count(str(path)) - len(good))


def _decodable(example: Example) -> Example:
    tf.io.decode_jpeg(example.image, channels=3)
    return example


def fingerprint(paths: Sequence[str]) -> str:
    """A hash of the shards' content that does not read the whole content.

    Of local files it reads every record's length and CRC and seeks past the data. Of others
    (`gs://`) it takes the name, the length and the time of change.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(paths):
        digest.update(Path(path).name.encode())
        if "://" in path:
            stat = tf.io.gfile.stat(path)
            digest.update(f"{stat.length} {stat.mtime_nsec}".encode())
            continue
        with Path(path).open("rb") as file:
            while len(header := file.read(_HEADER.size)) == _HEADER.size:
                file.seek(_HEADER.unpack(header)[0], os.SEEK_CUR)
                digest.update(header + file.read(_FOOTER.size))
    return digest.hexdigest()


def _crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)  # the Castagnoli polynomial
        table.append(byte)
    return table


_CRC32C = _crc32c_table()


def _masked_crc32c(data: bytes) -> int:
    """TFRecord's checksum: CRC-32C, rotated by 15 bits and offset (TensorFlow, `crc32c.h`)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
