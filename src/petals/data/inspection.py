"""Check a dataset: read every record, decode every image and list the problems."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import cpu_count
from pathlib import Path

import numpy as np
from PIL import Image

from petals.data import shards, tfrecords
from petals.data.shards import Split
from petals.data.source import Source
from petals.errors import DataError
from petals.progress import ShowProgress


@dataclass
class Shard:
    """The actual contents of one file, as opposed to what its name declares."""

    path: str
    bytes: int = 0
    images: int = 0
    labels: Counter[int] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class Health:
    """The health of one split at one size: its shards and their problems."""

    split: str
    size: int
    shards: list[Shard]

    @property
    def images(self) -> int:
        """Images read."""
        return sum(shard.images for shard in self.shards)

    @property
    def labels(self) -> Counter[int]:
        """Images by label."""
        return sum((shard.labels for shard in self.shards), Counter())

    @property
    def problems(self) -> list[str]:
        """One line for each problem."""
        return [line for shard in self.shards for line in shard.problems]

    def __str__(self) -> str:
        sizes = np.array([shard.bytes for shard in self.shards]) / 1e6
        line = (
            f"{self.size} px {self.split}: {self.images:,} images in {len(self.shards)} shards "
            f"of {_range(f'{sizes.min():.1f}', f'{sizes.max():.1f}', ' MB')}"
        )
        if self.labels:
            counts = self.labels.values()
            line += (
                f"; {len(self.labels)} classes of {_range(f'{min(counts):,}', f'{max(counts):,}')}"
            )
        return "\n".join([line, *(f"  problem: {problem}" for problem in self.problems)])


def _range(least: str, most: str, unit: str = "") -> str:
    return f"{least} to {most}{unit}" if least != most else f"{least}{unit} each"


def inspect(root: str | Path, progress: ShowProgress | None = None) -> list[Health]:
    """Read every shard under `root`. Raises `DataError` when there are none.

    The problems it finds are damaged and truncated records, counts that differ from the file's
    name, labels out of range, images that do not decode or have another size, and repeated ids.
    """
    root = str(root)
    if not (sizes := shards.sizes(root)):
        raise DataError(f"{root} has no tfrecords-jpeg-SxS folder")
    num_classes = len(Source(root, "folder").class_names)
    return [
        Health(name, size, _shards(name, paths, size, num_classes, progress))
        for size in sizes
        for name, paths in shards.shards_by_split(root, size).items()
    ]


def inspect_split(
    name: str, split: Split, num_classes: int, progress: ShowProgress | None = None
) -> Health:
    """Read the shards with a split's images: all shards unless the split is limited."""
    counts = np.cumsum([shards.shard_count(path) for path in split.paths])
    needed = 1 + int(np.searchsorted(counts, split.count))
    paths = split.paths[:needed]
    return Health(name, split.size, _shards(name, paths, split.size, num_classes, progress))


def _shards(
    name: str, paths: Sequence[str], size: int, num_classes: int, progress: ShowProgress | None
) -> list[Shard]:
    shards, ids = [], set[str]()
    with ThreadPoolExecutor(cpu_count()) as pool:
        for path in paths:
            shard = _shard(path, size, num_classes, pool)
            twice = len(shard.ids) - len(set(shard.ids) - ids)
            if twice:
                shard.problems.append(f"{path}: {twice} ids occur a second time")
            ids.update(shard.ids)
            shards.append(shard)
            if progress:
                progress(f"inspecting {name}", len(shards), len(paths))
    return shards


def _shard(path: str, size: int, num_classes: int, pool: ThreadPoolExecutor) -> Shard:
    import tensorflow as tf

    shard = Shard(path, bytes=tf.io.gfile.stat(path).length)
    examples: list[tfrecords.Example] = []
    try:
        examples.extend(tfrecords.read_shard(path))
    except DataError as error:
        shard.problems.append(str(error))
    faults = pool.map(lambda example: _fault(example, size, num_classes), examples)
    for number, (example, fault) in enumerate(zip(examples, faults, strict=True)):
        shard.ids.append(example.id)
        if fault:
            shard.problems.append(f"{path}: record {number} (id {example.id}): {fault}")
        elif example.label is not None:
            shard.labels[example.label] += 1
    shard.images = len(examples)
    declared = shards.shard_count(path)
    if declared != len(examples):
        shard.problems.append(f"{path}: {len(examples)} records, its name says {declared}")
    return shard


def _fault(example: tfrecords.Example, size: int, num_classes: int) -> str:
    if example.label is not None and not 0 <= example.label < num_classes:
        return f"label {example.label} is not in 0..{num_classes - 1}"
    try:
        with Image.open(io.BytesIO(example.image)) as image:
            if image.size != (size, size):
                return f"image of {image.width} x {image.height} pixels"
            image.load()
    except Exception as error:  # Pillow's decoders raise several kinds
        return f"image does not decode ({error})"
    return ""
