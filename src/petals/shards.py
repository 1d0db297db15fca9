"""What the shards of a split hold: how many images, their labels, a few of them to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from petals import tfrecords
from petals.errors import DataError

FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "id": tf.io.FixedLenFeature([], tf.string),
    "class": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
}


@dataclass(frozen=True)
class Split:
    """The shards of one split at one image size, and how many images of them are used.

    `skip`: images of the first shard that are left out before those.
    """

    paths: tuple[str, ...]
    size: int
    count: int
    skip: int = 0

    @classmethod
    def find(cls, root: str, size: int, split: str, limit: int = 0) -> Split:
        """The split under `root`; at most `limit` images of it (0 = all)."""
        paths = tuple(tfrecords.shards(root, size, split))
        count = sum(map(tfrecords.shard_count, paths))
        if count == 0:
            raise DataError(f"the {split} shards of {root} hold no images, by their names")
        return cls(paths, size, min(limit, count) if limit else count)

    @property
    def complete(self) -> bool:
        """Whether all images of the shards are used."""
        return self.count == sum(map(tfrecords.shard_count, self.paths))

    def fingerprint(self) -> str:
        """A hash of the content, for keys of what is computed from it."""
        begin = f"{self.skip}+" if self.skip else ""
        return f"{tfrecords.fingerprint(self.paths)}-{begin}{self.count}"

    def part(self, index: int, of: int) -> Split:
        """One of `of` parts in order, which differ by an image at most: a host reads its own.

        Only the shards that it needs are in it. Raises `DataError` for fewer images than parts.
        """
        if self.count < of:
            raise DataError(f"{self.count} images for {of} hosts: use fewer hosts, or more data")
        begin, end = (self.skip + self.count * number // of for number in (index, index + 1))
        paths, skip, at = [], 0, 0
        for path in self.paths:
            before, at = at, at + tfrecords.shard_count(path)
            if before < end and at > begin:
                skip = skip if paths else begin - before
                paths.append(path)
        return Split(tuple(paths), self.size, end - begin, skip)

    def records(self) -> tf.data.Dataset:
        """The serialized examples, in the files' order."""
        records = tf.data.TFRecordDataset(list(self.paths))
        return records.skip(self.skip).take(self.count)


def labels_and_ids(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """int64 labels (-1 where the split has none) and ids (str), in `ordered`'s order."""
    records = split.records().batch(1024)
    wanted = {name: FEATURES[name] for name in ("class", "id")}
    with naming_damaged_files(split.paths):
        parsed = list(records.map(lambda r: tf.io.parse_example(r, wanted)).as_numpy_iterator())
    read = sum(len(batch["id"]) for batch in parsed)
    if read != split.count:
        raise DataError(
            f"{split.paths[0]} and its siblings hold {read} images where their names say "
            f"{split.count}: see tools/make_tfrecords.py inspect"
        )
    ids = np.concatenate([batch["id"] for batch in parsed]).astype(str)
    return np.concatenate([batch["class"] for batch in parsed]), ids


@dataclass(frozen=True)
class Sample:
    """A few images to look at: uint8 (n, size, size, 3) and int64 labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


def sample(split: Split, which: int | Sequence[int]) -> Sample:
    """The first `which` images of a split, or those at the given positions, in that order."""
    positions = list(range(min(which, split.count))) if isinstance(which, int) else list(which)
    wanted = {int(position) for position in positions}
    found: dict[int, tuple[np.ndarray, int]] = {}
    at = -split.skip
    for path in split.paths:
        count = tfrecords.shard_count(path)
        if wanted & set(range(at, at + count)):
            for number, example in enumerate(tfrecords.read_shard(path), at):
                if number in wanted:
                    image = tf.io.decode_jpeg(example.image, channels=3).numpy()
                    found[number] = (image, -1 if example.label is None else example.label)
        at += count
        if len(found) == len(wanted):
            break
    images = [found[int(position)][0] for position in positions]
    labels = [found[int(position)][1] for position in positions]
    return Sample(np.stack(images), np.array(labels, np.int64))


@contextmanager
def naming_damaged_files(paths: Sequence[str], num_classes: int = 2**31) -> Iterator[None]:
    """Turn tf.data's report of a bad record or image into one that names the file.

    Raises `DataError`. The files are only searched once something has gone wrong.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        from petals import inspection

        found = inspection.damage(paths, num_classes)
        if not found:
            raise
        raise DataError(
            f"{found[0]}; make the file again, or set on_corrupt='skip' to train without its "
            "damaged images"
        ) from error
