"""The files of a split, and the labels, ids and images in them.

A dataset is a folder with `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`, as in the
competition, or with TFRecords in another layout that `petals.data.layout` knows. COUNT is the
number of images in such a *shard*.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from petals.data import layout, records
from petals.data.formats import why_not_read
from petals.data.layout import RecordFile
from petals.data.records import COMPETITION, Example, Schema
from petals.errors import DataError

SPLITS = ("train", "val", "test")
_SHARD = re.compile(r"(?P<number>\d+)-(?P<size>\d+)x(?P=size)-(?P<count>\d+)\.tfrec$")


def shard_count(path: str) -> int:
    """The number of images in a file, which a shard's name declares; others are counted."""
    match = _SHARD.search(str(path))
    return int(match["count"]) if match else records.count(str(path))


def decoded(image: Any, record_size: int, size: int) -> tf.Tensor:
    """uint8 (size, size, 3) of a JPEG or PNG of `record_size` pixels a side; 0 is any shape.

    Of a photo of any shape the middle square is resized, antialiased. Of one whose size is known,
    libjpeg decodes a half, a quarter or an eighth of the pixels in a fraction of the time; the
    largest of these that does not fall below `size` is resized: by the mean over areas to make it
    smaller, by bilinear interpolation to make it larger.
    """
    if record_size == size:
        return tf.ensure_shape(tf.io.decode_jpeg(image, channels=3), (size, size, 3))
    if not record_size:
        pixels = tf.io.decode_jpeg(image, channels=3)
        side = tf.reduce_min(tf.shape(pixels)[:2])
        middle = tf.image.resize_with_crop_or_pad(pixels, side, side)
        return _rounded(tf.image.resize(middle, (size, size), antialias=True), size)
    fraction = next(part for part in (8, 4, 2, 1) if -(-record_size // part) >= size or part == 1)
    side = -(-record_size // fraction)  # libjpeg rounds up
    pixels = tf.io.decode_jpeg(image, channels=3, ratio=fraction)
    pixels = tf.ensure_shape(pixels, (side, side, 3))
    if side == size:
        return pixels
    method = tf.image.ResizeMethod.AREA if side > size else tf.image.ResizeMethod.BILINEAR
    return _rounded(tf.image.resize(pixels, (size, size), method=method), size)


def _rounded(pixels: tf.Tensor, size: int) -> tf.Tensor:
    return tf.ensure_shape(tf.cast(tf.round(pixels), tf.uint8), (size, size, 3))


@dataclass(frozen=True)
class Split:
    """The shards of train, val or test, and how many of their images are used.

    `size`: pixels a side of the images as a network gets them; `skip`: the number of images at the
    start of the first shard that are left out; `record_size`: pixels a side of the images in the
    records, from which they are made; 0 for images of any shape; `features`: what the records call
    image, class and id.
    """

    paths: tuple[str, ...]
    size: int
    count: int
    skip: int = 0
    record_size: int = 0
    features: Schema = COMPETITION

    @classmethod
    def of(
        cls,
        paths: Iterable[str],
        size: int,
        record_size: int | None = None,
        features: Schema = COMPETITION,
    ) -> Split:
        """All images of these shards; `record_size`: by default `size`."""
        paths = tuple(paths)
        count = sum(map(shard_count, paths))
        return cls(paths, size, count, 0, size if record_size is None else record_size, features)

    @classmethod
    def find(cls, root: str, size: int, split: str, limit: int = 0) -> Split:
        """The split of the record files below `root`; see `of_files`."""
        return cls.of_files(root, layout.record_files(str(root)), size, split, limit)

    @classmethod
    def of_files(
        cls,
        root: str,
        files: Iterable[RecordFile],
        size: int,
        split: str,
        limit: int = 0,
        features: Schema = COMPETITION,
    ) -> Split:
        """At most `limit` images (0 = all) of the `files` of a split that suit the size best.

        Raises `DataError` that names the splits of the files in `root` if this one has no images.
        """
        files = list(files)
        own, record_size = layout.chosen([file for file in files if file.split == split], size)
        whole = cls.of([file.path for file in own], size, record_size, features)
        if not whole.count:
            side = record_size or size
            others = sorted({file.split for file in files} - {split}) or ["no other"]
            raise DataError(
                f"{root} has no {split} photos, and {', '.join(others)} ones: add TFRecords, "
                f"such as {root}/tfrecords-jpeg-{side}x{side}/{split}/*.tfrec"
            )
        return whole._between(0, min(limit or whole.count, whole.count))

    def holding(self, paths: Iterable[str]) -> Split:
        """All images of other shards of the same sizes, which were written from this one's."""
        return Split.of(paths, self.size, self.record_size)

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
            for header in records.headers(Path(path), Path(path).stat().st_size):
                digest.update(header)
        if self.features != COMPETITION:
            digest.update(repr(self.features).encode())
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
        paths, firsts = zip(*inside, strict=True)
        return replace(self, paths=paths, count=end - begin, skip=begin - firsts[0])

    def by_folder(self) -> list[Split]:
        """The images of each folder with shards, as a split; in the same order.

        Each part of a cross-validation has its own folder, and so has each additional source.
        """
        pieces = []
        end = 0
        for _, paths in groupby(self.paths, lambda path: path.rpartition("/")[0]):
            begin = end
            end = end + sum(map(shard_count, paths))
            pieces.append(self._between(max(begin, self.skip), min(end, self.skip + self.count)))
        return pieces

    def batch_size(self, most: int) -> int:
        """The batch size of a pass over the split: `most`, or the next power of two if fewer.

        Padding with black images costs as much as other images, and splits of about the same size
        share a compiled program.
        """
        return min(most, 1 << (self.count - 1).bit_length())

    def records(self) -> tf.data.Dataset:
        """The serialized examples, in the files' order."""
        whole = tf.data.TFRecordDataset(list(self.paths))
        return whole.skip(self.skip).take(self.count)

    def examples(self) -> Iterator[Example]:
        """The images in the files' order; raises `DataError` that names a damaged file."""
        examples = chain.from_iterable(records.read(path, self.features) for path in self.paths)
        return islice(examples, self.skip, self.skip + self.count)

    def labels_and_ids(self, num_classes: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """int64 labels (-1 for none) and ids (str), in the files' order; the files are read once.

        Raises `DataError` for a bad file and, given `num_classes`, for images with no such label.
        """
        labels, ids, _ = self._contents
        wrong = ids[(labels < 0) | (labels >= num_classes)]
        if num_classes and len(wrong):
            raise DataError(
                f"{Path(self.paths[0]).parent}: {len(wrong):,} images, such as {wrong[0]}, have no "
                f"label in 0..{num_classes - 1}: make them again, or write a classes.json that fits"
            )
        return labels, ids

    def digests(self) -> np.ndarray:
        """uint64 (images,): a hash of each image's bytes, in the files' order."""
        return self._contents[2]

    @cached_property
    def _contents(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, ids and digests of images; raises `DataError` for a record that is bad."""
        rows = []
        for example in self.examples():
            if why := why_not_read(example.image):
                raise DataError(f"{Path(self.paths[0]).parent}: image {example.id}: {why}")
            digest = hashlib.blake2b(example.image, digest_size=8).digest()
            rows.append((example.label, example.id, int.from_bytes(digest)))
        if len(rows) != self.count:
            raise DataError(
                f"{self.paths[0]} and its siblings hold {len(rows)} images where their names say "
                f"{self.count}: see tools/make_tfrecords.py inspect"
            )
        labels, ids, digests = zip(*rows, strict=True)
        return np.array(labels), np.array(ids), np.array(digests, np.uint64)
