"""The files of a dataset, their splits, and the labels, ids and pictures in them.

A dataset is a folder with `tfrecords-jpeg-SxS/{train,val,test}/NN-SxS-COUNT.tfrec`, as in the
competition. COUNT is the number of images in such a *shard*.

A record is a `tf.train.Example` with `image` (bytes, RGB JPEG of S x S pixels), `id` (bytes) and,
except in the test split, `class` (int64).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from PIL import Image

from petals import storage
from petals.data import layout, photo_files
from petals.errors import DataError
from petals.junk import is_junk

SPLITS = ("train", "val", "test")
UNLABELLED = -1  # the label of an image whose class is unknown
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "id": tf.io.FixedLenFeature([], tf.string),
    "class": tf.io.FixedLenFeature([], tf.int64, default_value=UNLABELLED),
}
SHARD = 800  # images per file, about as many as in the competition
_SHARD = re.compile(r"(?P<number>\d+)-(?P<size>\d+)x(?P=size)-(?P<count>\d+)\.tfrec$")
_FOLDER = re.compile(r"tfrecords-jpeg-(\d+)x\1/?$")
HEADER = struct.Struct("<QI")  # a record: length, its CRC, the data, the data's CRC


@dataclass(frozen=True)
class Example:
    """One image: JPEG bytes, the id, and the label; the test split is unlabelled."""

    image: bytes
    id: str
    label: int = UNLABELLED


def serialize(example: Example) -> bytes:
    """The record's bytes."""
    record = tf.train.Example()
    feature = record.features.feature
    feature["image"].bytes_list.value.append(example.image)
    feature["id"].bytes_list.value.append(example.id.encode())
    if example.label != UNLABELLED:
        feature["class"].int64_list.value.append(example.label)
    return record.SerializeToString(deterministic=True)


def deserialize(record: bytes) -> Example:
    """The inverse of `serialize`; raises `DataError` if the record has another format."""
    try:
        example = tf.train.Example.FromString(record)
    except Exception as error:  # protobuf's DecodeError differs between its implementations
        raise DataError(f"not a tf.train.Example ({error})") from None
    feature = example.features.feature
    images = feature["image"].bytes_list.value
    ids = feature["id"].bytes_list.value
    labels = feature["class"].int64_list.value
    if len(images) != 1 or len(ids) != 1 or len(labels) > 1:
        raise DataError(
            "a record has one image, one id and at most one class; this one has "
            f"{len(images)} of image, {len(ids)} of id and {len(labels)} of class"
        )
    label = labels[0] if labels else UNLABELLED
    return Example(images[0], ids[0].decode("utf-8", "backslashreplace"), label)


def is_decoded(image: bytes) -> bool:
    """Whether the pipeline decodes an image as it is meant to be seen.

    That is so of JPEGs, and of PNGs and GIFs that are `photo_files.is_plain`.
    """
    kind = photo_files.format_of(image)
    if kind not in ("a PNG", "a GIF"):
        return kind == "a JPEG"
    try:
        with Image.open(io.BytesIO(image)) as opened:
            return photo_files.is_plain(opened)
    except Exception:  # Pillow's decoders raise OSError, SyntaxError, struct.error ...
        return False


def fault(example: Example, size: int, num_classes: int = 0) -> str:
    """Why an image of `size` pixels cannot be used, "" if it can; with 0 classes for any label."""
    if num_classes and not 0 <= example.label < num_classes:
        return f"label {example.label} is not in 0..{num_classes - 1}"
    if not is_decoded(example.image):
        return unreadable(example.image)
    try:
        height, width, _ = tf.io.decode_jpeg(example.image, channels=3).shape
    except (tf.errors.InvalidArgumentError, ValueError):  # of an animation
        return "its image cannot be decoded"
    return "" if height == width == size else f"image of {width} x {height} pixels"


def unreadable(image: bytes) -> str:
    """Why an image that `is_decoded` does not take cannot be read as it is."""
    kind = photo_files.format_of(image)
    if kind in ("a PNG", "a GIF"):
        return f"its image is {kind} with transparency, several frames or 16 bits a value"
    return f"its image is {kind}, not a JPEG, PNG or GIF" if kind else "its image cannot be decoded"


def write_shard(path: str | Path, examples: Iterable[Example]) -> None:
    """Write a shard to `path` atomically; raises `StorageError`, as for a full disk."""
    try:
        with storage.replacing(path) as part, tf.io.TFRecordWriter(str(part)) as writer:
            for example in examples:
                writer.write(serialize(example))
    except tf.errors.OpError as error:
        raise storage.cannot_write(path, error) from error


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


def read_shard(path: str | Path) -> Iterator[Example]:
    """The examples of a shard in order; raises `DataError` that names the record that is bad."""
    number = 0
    try:
        records = tf.data.TFRecordDataset(str(path)).with_options(untuned())
        for record in records.as_numpy_iterator():
            yield deserialize(record)
            number += 1
    except tf.errors.DataLossError as error:
        raise DataError(
            f"{path}: record {number} is damaged: {reason(error)}; make the file again or download "
            "it again"
        ) from None
    except DataError as error:
        raise DataError(f"{path}: record {number}: {error}") from None


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
    """The number of images that a shard's name declares; raises `DataError` for another name."""
    if not (match := _SHARD.search(str(path))):
        raise DataError(f"{path} is not named NN-SxS-COUNT.tfrec, so its images can't be counted")
    return int(match["count"])


def is_shard(path: str) -> bool:
    """Whether a file is named as a shard, so that its images can be counted."""
    return bool(_SHARD.search(path))


def write_shards(folder: Path, size: int, total: int, examples: Iterable[Example]) -> None:
    """Write `total` examples to files of about equal length, of at most `SHARD` images each."""
    rest = iter(examples)
    files = -(-total // SHARD)
    for number in range(files):
        count = total * (number + 1) // files - total * number // files
        write_shard(folder / shard_name(number, size, count), islice(rest, count))


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


def best_records(root: str | Path, size: int, split: str) -> int:
    """Pixels a side of the records of a split from which images of `size` pixels are made.

    The smallest that are not smaller, or else the largest there are; 0 if there is no such split.
    """
    there = {own for own in sizes(root) if shard_paths(root, own, split)}
    return layout.nearest_size(there, size) if there else 0


def decoded(jpeg: Any, record_size: int, size: int) -> tf.Tensor:
    """uint8 (size, size, 3) of a JPEG of `record_size` pixels a side.

    libjpeg decodes a half, a quarter or an eighth of the pixels in a fraction of the time; the
    largest of these that does not fall below `size` is resized: by the mean over areas to make it
    smaller, by bilinear interpolation to make it larger.
    """
    if record_size == size:
        return tf.ensure_shape(tf.io.decode_jpeg(jpeg, channels=3), (size, size, 3))
    fraction = next(part for part in (8, 4, 2, 1) if -(-record_size // part) >= size or part == 1)
    side = -(-record_size // fraction)  # libjpeg rounds up
    pixels = tf.io.decode_jpeg(jpeg, channels=3, ratio=fraction)
    pixels = tf.ensure_shape(pixels, (side, side, 3))
    if side == size:
        return pixels
    method = tf.image.ResizeMethod.AREA if side > size else tf.image.ResizeMethod.BILINEAR
    resized = tf.image.resize(pixels, (size, size), method=method)
    return tf.cast(tf.round(resized), tf.uint8)


class Sample(NamedTuple):
    """A few images to look at: uint8 (n, size, size, 3), and int64 labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Split:
    """The shards of train, val or test, and how many of their images are used.

    `size`: pixels a side of the images as a network gets them; `skip`: the number of images at the
    start of the first shard that are left out; `record_size`: pixels a side of the images in the
    records, which are resized on the way; 0 = `size`.
    """

    paths: tuple[str, ...]
    size: int
    count: int
    skip: int = 0
    record_size: int = 0

    @classmethod
    def of(cls, paths: Iterable[str], size: int, record_size: int = 0) -> Split:
        """All images of these shards."""
        paths = tuple(paths)
        count = sum(map(shard_count, paths))
        return cls(paths, size, count, record_size=record_size or size)

    @classmethod
    def find(cls, root: str, size: int, split: str, limit: int = 0) -> Split:
        """The split under `root` in the `best_records`; at most `limit` images of it (0 = all).

        Raises `DataError` that names the sizes on disk if there is no such split.
        """
        record_size = best_records(root, size, split) or size
        whole = cls.of(shard_paths(root, record_size, split), size, record_size)
        if not whole.count:
            there = sizes(root)
            if size in there:
                raise DataError(f"no {split} photos in {folder(root, size, split)}: add some")
            listed = ", ".join(map(str, there)) or "none"
            raise DataError(
                f"no images in {folder(root, size, split)}/*.tfrec; {root} has images of these "
                f"sizes: {listed}. None of them is of this split: add photos for this split"
            )
        return whole._between(0, min(limit or whole.count, whole.count))

    @property
    def stored_size(self) -> int:
        """Pixels a side of the images in the records."""
        return self.record_size or self.size

    def holding(self, paths: Iterable[str]) -> Split:
        """All images of other shards, of the same sizes."""
        return Split.of(paths, self.size, self.stored_size)

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
                while len(header := file.read(HEADER.size)) == HEADER.size:
                    file.seek(HEADER.unpack(header)[0], os.SEEK_CUR)
                    digest.update(header + file.read(4))
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
        records = tf.data.TFRecordDataset(list(self.paths))
        return records.skip(self.skip).take(self.count)

    def examples(self) -> Iterator[Example]:
        """The images in the files' order; raises `DataError` that names a damaged file."""
        examples = chain.from_iterable(map(read_shard, self.paths))
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
            if not is_decoded(example.image):
                place = Path(self.paths[0]).parent
                raise DataError(
                    f"{place}: image {example.id}: {unreadable(example.image)}. Make it again, or "
                    "let data=FOLDER?image=image convert all of them"
                )
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
            if problem := fault(example, self.stored_size):
                raise DataError(
                    f"{Path(self.paths[0]).parent}: the image with id {example.id} cannot be "
                    f"shown: {problem}; make its file again, or download it again"
                )
        images = [decoded(chosen[at].image, self.stored_size, self.size) for at in positions]
        return Sample(np.stack(images), np.array([chosen[at].label for at in positions]))
