"""The files of a dataset, their splits, and the labels, ids and pictures in them.

A dataset is a folder with `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`, as in the
competition. Training plans its steps from the counts in the names of these *shards*, so it need not
read the files first. `petals.data.tfrecords` describes the records.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np
import tensorflow as tf

from petals.errors import DataError

SPLITS = ("train", "val", "test")
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "id": tf.io.FixedLenFeature([], tf.string),
    "class": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
}
SHARD = 800  # images per file, about as many as in the competition
_SHARD = re.compile(r"(?P<number>\d+)-(?P<size>\d+)x(?P=size)-(?P<count>\d+)\.tfrec$")
_FOLDER = re.compile(r"tfrecords-jpeg-(\d+)x\1/?$")
_HEADER = struct.Struct("<QI")  # a record: length, its CRC, the data, the data's CRC
_FOOTER = struct.Struct("<I")


def folder(root: str | Path, size: int, split: str) -> str:
    """The folder with the shards of one split and image size."""
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


def shard_counts(total: int) -> list[int]:
    """The number of images for each file: about equal, and at most `SHARD`."""
    files = -(-total // SHARD)
    return [total * (n + 1) // files - total * n // files for n in range(files)]


def sizes(root: str | Path) -> list[int]:
    """The image sizes of the dataset under `root`, ascending."""
    if not tf.io.gfile.isdir(str(root)):
        return []
    matches = map(_FOLDER.match, tf.io.gfile.listdir(str(root)))
    return sorted(int(match[1]) for match in matches if match)


def shard_paths(root: str | Path, size: int, split: str) -> list[str]:
    """The shards of a split, sorted. Raises `DataError` that names the sizes on disk."""
    paths = sorted(tf.io.gfile.glob(folder(root, size, split) + "/*.tfrec"))
    if paths:
        return paths
    if size in (on_disk := sizes(root)):
        raise DataError(f"{folder(root, size, split)} holds no .tfrec files")
    there = ", ".join(map(str, on_disk)) or "none"
    raise DataError(f"{root} has no images of size {size}; the sizes there: {there}")


def shards_by_split(root: str | Path, size: int) -> dict[str, list[str]]:
    """The shards of each existing split: a dataset need not have all three."""
    paths = {}
    for split in SPLITS:
        with suppress(DataError):
            paths[split] = shard_paths(root, size, split)
    return paths


@dataclass(frozen=True)
class Sample:
    """A few images to look at: uint8 (n, size, size, 3), int64 labels (n,) and their ids."""

    images: np.ndarray
    labels: np.ndarray
    ids: list[str]


@dataclass(frozen=True)
class Split:
    """The shards of train, val or test at one image size, and how many of their images are used.

    `skip`: the number of images at the start of the first shard that are left out.
    """

    paths: tuple[str, ...]
    size: int
    count: int
    skip: int = 0

    @classmethod
    def of(cls, paths: Iterable[str], size: int) -> Split:
        """All images of these shards."""
        paths = tuple(paths)
        return cls(paths, size, sum(map(shard_count, paths)))

    @classmethod
    def find(cls, root: str, size: int, split: str, limit: int = 0) -> Split:
        """The split under `root`; at most `limit` images of it (0 = all)."""
        whole = cls.of(shard_paths(root, size, split), size)
        if not whole.count:
            raise DataError(
                f"the {split} shards of {root} have no images, according to their names"
            )
        return cls(whole.paths, size, min(limit or whole.count, whole.count))

    @property
    def complete(self) -> bool:
        """Whether all images of the shards are used."""
        return self.count == sum(map(shard_count, self.paths))

    def fingerprint(self) -> str:
        """A hash of the content, for the keys of caches computed from it.

        For local files it covers every record's length and CRC, but not the data. For others
        (`gs://`) it covers the name, the length and the modification time.
        """
        digest = hashlib.blake2b(digest_size=16)
        for path in sorted(self.paths):
            digest.update(Path(path).name.encode())
            if "://" in path:
                stat = tf.io.gfile.stat(path)
                digest.update(f"{stat.length} {stat.mtime_nsec}".encode())
                continue
            with Path(path).open("rb") as file:
                while len(header := file.read(_HEADER.size)) == _HEADER.size:
                    file.seek(_HEADER.unpack(header)[0], os.SEEK_CUR)
                    digest.update(header + file.read(_FOOTER.size))
        begin = f"{self.skip}+" if self.skip else ""
        return f"{digest.hexdigest()}-{begin}{self.count}"

    def part(self, index: int, of: int) -> Split:
        """Part `index` of `of` parts in order; each host reads its own part.

        Part sizes differ by at most one image, and a part has only the shards that it needs. Raises
        `DataError` for fewer images than parts.
        """
        if self.count < of:
            raise DataError(f"{self.count} images for {of} hosts: use fewer hosts, or more data")
        begin, end = (self.skip + self.count * number // of for number in (index, index + 1))
        return self._between(begin, end)

    def _between(self, begin: int, end: int) -> Split:
        """The images from position `begin` of the shards to before `end`."""
        ends = list(accumulate(map(shard_count, self.paths)))
        spans = zip(self.paths, [0, *ends[:-1]], ends, strict=True)
        inside = [(path, first) for path, first, last in spans if first < end and last > begin]
        paths = tuple(path for path, _ in inside)
        return Split(paths, self.size, end - begin, begin - inside[0][1])

    def by_folder(self) -> list[Split]:
        """The images of each folder with shards, as a split; in the same order.

        Each part of a cross-validation has its own folder, and so has each additional source.
        """
        pieces, end = [], 0
        for _, paths in groupby(self.paths, lambda path: path.rpartition("/")[0]):
            begin, end = end, end + sum(map(shard_count, paths))
            span = max(begin, self.skip), min(end, self.skip + self.count)
            if span[0] < span[1]:
                pieces.append(self._between(*span))
        return pieces

    def batch_size(self, most: int) -> int:
        """The batch size of a pass over the split: `most`, or the next power of two if fewer.

        Padding with black images costs as much as other images, and splits of about the same size
        share a compiled program.
        """
        return min(most, 1 << (self.count - 1).bit_length())

    def records(self) -> tf.data.Dataset:
        """The serialized examples, in the files' order."""
        records = tf.data.TFRecordDataset(list(self.paths))
        return records.skip(self.skip).take(self.count)

    def labels_and_ids(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 labels (-1 if the split has none) and ids (str), in the files' order."""
        features = {name: FEATURES[name] for name in ("class", "id")}
        batches = self.records().batch(1024).map(lambda r: tf.io.parse_example(r, features))
        with naming_damaged_files(self.paths):
            parsed = list(batches.as_numpy_iterator())
        read = sum(len(batch["id"]) for batch in parsed)
        if read != self.count:
            raise DataError(
                f"{self.paths[0]} and its siblings hold {read} images where their names say "
                f"{self.count}: see tools/make_tfrecords.py inspect"
            )
        ids = np.concatenate([batch["id"] for batch in parsed]).astype(str)
        return np.concatenate([batch["class"] for batch in parsed]), ids

    def sample(self, which: int | Sequence[int]) -> Sample:
        """The first `which` images, or those at the given positions, in that order."""
        positions = list(range(min(which, self.count))) if isinstance(which, int) else list(which)
        chosen = tf.constant(sorted(set(positions)), tf.int64)
        records = self.records().enumerate().filter(lambda at, _: tf.reduce_any(at == chosen))
        pictures = {}
        with naming_damaged_files(self.paths):
            for at, record in records.take(len(chosen)).as_numpy_iterator():
                example = tf.io.parse_single_example(record, FEATURES)
                image = tf.io.decode_jpeg(example["image"], channels=3)
                name = example["id"].numpy().decode()
                pictures[int(at)] = (image.numpy(), int(example["class"]), name)
        images, labels, ids = zip(*(pictures[int(at)] for at in positions), strict=True)
        return Sample(np.stack(images), np.array(labels, np.int64), list(ids))


@contextmanager
def naming_damaged_files(paths: Sequence[str], num_classes: int = 2**31) -> Iterator[None]:
    """Turn tf.data's error about a bad record or image into a `DataError` that names the file.

    The files are searched only after such an error.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        damage = next(filter(None, (_damage(path, num_classes) for path in paths)), "")
        if not damage:
            raise
        raise DataError(f"{damage}; make the file again, or download it again") from error


def _damage(path: str, num_classes: int) -> str:
    """What is wrong with the first bad record of a shard; "" if nothing is."""
    number = 0
    try:
        for record in tf.data.TFRecordDataset(path):
            if fault := _fault(record, path, num_classes):
                return f"{path}: record {number}: {fault}"
            number += 1
    except tf.errors.DataLossError as error:
        return f"{path} is damaged after {number} records: {error.message}"
    return ""


def _fault(record: tf.Tensor, path: str, num_classes: int) -> str:
    try:
        example = tf.io.parse_single_example(record, FEATURES)
        height, width, _ = tf.io.decode_jpeg(example["image"], channels=3).shape
    except tf.errors.InvalidArgumentError:
        return "its image does not decode"
    if (label := int(example["class"])) >= num_classes:
        return f"label {label} is not in 0..{num_classes - 1}"
    match = _SHARD.search(path)
    if match and not height == width == int(match["size"]):
        return f"image of {width} x {height} pixels"
    return ""
