"""A split: the shards of train, val or test at one image size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import tensorflow as tf

from petals.data import tfrecords
from petals.errors import DataError


@dataclass(frozen=True)
class Split:
    """The shards of one split at one image size, and how many images of them are used.

    `skip`: the number of images at the start of the first shard that are left out.
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
        """A hash of the content, for the keys of caches that are computed from it."""
        begin = f"{self.skip}+" if self.skip else ""
        return f"{tfrecords.fingerprint(self.paths)}-{begin}{self.count}"

    def part(self, index: int, of: int) -> Split:
        """Part `index` of `of` parts in order; each host reads its own part.

        The parts' sizes differ by one image at most, and a part holds only the shards it needs.
        Raises `DataError` for fewer images than parts.
        """
        if self.count < of:
            raise DataError(f"{self.count} images for {of} hosts: use fewer hosts, or more data")
        begin, end = (self.skip + self.count * number // of for number in (index, index + 1))
        paths: list[str] = []
        skip, at = 0, 0
        for path in self.paths:
            before, at = at, at + tfrecords.shard_count(path)
            if before < end and at > begin:
                skip = skip if paths else begin - before
                paths.append(path)
        return Split(tuple(paths), self.size, end - begin, skip)

    def by_folder(self) -> list[Split]:
        """The images of each folder that the shards lie in, as a split; in the same order.

        Of a cross-validation each part has a folder of its own, and so has each further source.
        """
        found, skip, left = [], self.skip, self.count
        for _, group in groupby(self.paths, lambda path: path.rpartition("/")[0]):
            paths = tuple(group)
            count = min(sum(map(tfrecords.shard_count, paths)) - skip, left)
            found.append(Split(paths, self.size, count, skip))
            skip, left = 0, left - count
        return [split for split in found if split.count]

    def batch_size(self, most: int) -> int:
        """The images at once in a pass over the split: `most`, or the next power of two to all.

        A batch is filled up with black images, which cost as much as others; and splits of about
        the same size share a program.
        """
        return min(most, 1 << (self.count - 1).bit_length())

    def records(self) -> tf.data.Dataset:
        """The serialized examples, in the files' order."""
        records = tf.data.TFRecordDataset(list(self.paths))
        return records.skip(self.skip).take(self.count)
