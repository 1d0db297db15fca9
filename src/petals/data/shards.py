"""The files of a dataset, their splits, and the labels, ids and pictures in them.

A dataset is a folder with `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`, as in the
competition, or with TFRecords in another layout that `petals.data.layout` knows. COUNT is the
number of images in such a *shard*.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from petals import storage
from petals.data import layout, records
from petals.data.formats import why_not_read
from petals.data.layout import RecordFile
from petals.data.records import COMPETITION, Example, Schema
from petals.errors import DataError
from petals.junk import is_junk

SPLITS = ("train", "val", "test")
SHARD = 800  # images per file, about as many as in the competition
_SHARD = re.compile(r"(?P<number>\d+)-(?P<size>\d+)x(?P=size)-(?P<count>\d+)\.tfrec$")
_FOLDER = re.compile(r"tfrecords-jpeg-(\d+)x\1/?$")


def fault(example: Example, size: int = 0, num_classes: int = 0) -> str:
    """Why an image cannot be used, "" if it can.

    `size`: pixels a side that it must have, 0 for any shape; with 0 classes any label is right.
    """
    if num_classes and not 0 <= example.label < num_classes:
        return f"label {example.label} is not in 0..{num_classes - 1}"
    if why := why_not_read(example.image):
        return why
    try:
        height, width, _ = tf.io.decode_jpeg(example.image, channels=3).shape
    except (tf.errors.InvalidArgumentError, ValueError):
        return "its image cannot be decoded"
    if size and not height == width == size:
        return f"image of {width} x {height} pixels"
    return ""


def write_shard(
    path: str | Path, examples: Iterable[Example], features: Schema = COMPETITION
) -> None:
    """Write a shard to `path` atomically; raises `StorageError`, as for a full disk."""
    try:
        with storage.replacing(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
            for example in examples:
                writer.write(records.serialize(example, features))
    except tf.errors.OpError as error:
        raise storage.cannot_write(path, error) from error


def folder(root: str | Path, size: int, split: str) -> str:
    """The folder with the shards of one split and image size."""
    return f"{str(root).rstrip('/')}/tfrecords-jpeg-{size}x{size}/{split}"


def shard_name(number: int, size: int, count: int) -> str:
    """`NN-SxS-COUNT.tfrec`, as the competition names its files."""
    return f"{number:02d}-{size}x{size}-{count}.tfrec"


def described(megabytes: Sequence[float]) -> str:
    """How many shards there are, and their sizes: `16 shards of 3.9 to 4.1 MB`."""
    smallest, largest = f"{min(megabytes):.1f}", f"{max(megabytes):.1f}"
    sizes = smallest if smallest == largest else f"{smallest} to {largest}"
    count = "1 shard" if len(megabytes) == 1 else f"{len(megabytes):,} shards"
    return f"{count} of {sizes} MB"


def shard_count(path: str) -> int:
    """The number of images in a file, which a shard's name declares; others are counted."""
    match = _SHARD.search(str(path))
    return int(match["count"]) if match else records.count(str(path))


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


def sizes(root: str | Path) -> list[int]:
    """The image sizes of the dataset under `root`, ascending."""
    if not tf.io.gfile.isdir(str(root)):
        return []
    matches = map(_FOLDER.match, tf.io.gfile.listdir(str(root)))
    return sorted(int(match[1]) for match in matches if match)


def shard_paths(root: str | Path, size: int, split: str) -> list[str]:
    """The shards of a split, sorted; none if there is no such split."""
    place = folder(root, size, split)
    names = tf.io.gfile.listdir(place) if tf.io.gfile.isdir(place) else ()
    return sorted(
        f"{place}/{name}" for name in names if name.endswith(".tfrec") and not is_junk(name)
    )


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


class Sample(NamedTuple):
    """A few images to look at: uint8 (n, size, size, 3), and int64 labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


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
            others = sorted({file.split for file in files} - {split}) or ["no other"]
            raise DataError(
                f"{root} has no {split} photos, and {', '.join(others)} ones: add TFRecords, "
                f"such as {folder(root, record_size or size, split)}/*.tfrec"
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

    def labels(self) -> np.ndarray:
        """int64 labels (-1 for none), in the files' order, without a look at images and ids."""
        label = self.features.label
        parsing = {label: self.features.parsing()[label]}
        batches = self.records().batch(4096).with_options(records.untuned())
        rows = [tf.io.parse_example(batch, parsing)[label].numpy() for batch in batches]
        return np.concatenate(rows)

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

    def sample(self, which: int | Sequence[int]) -> Sample:
        """The first `which` images, or those at the given positions, in that order."""
        positions = range(min(which, self.count)) if isinstance(which, int) else which
        numbered = enumerate(islice(self.examples(), max(positions) + 1))
        chosen = {at: example for at, example in numbered if at in positions}
        for example in chosen.values():
            if problem := fault(example, self.record_size):
                raise DataError(
                    f"{Path(self.paths[0]).parent}: the image with id {example.id} cannot be "
                    f"shown: {problem}; make its file again, or download it again"
                )
        images = [decoded(chosen[at].image, self.record_size, self.size) for at in positions]
        return Sample(np.stack(images), np.array([chosen[at].label for at in positions]))
