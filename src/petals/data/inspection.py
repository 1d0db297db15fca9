"""Check a dataset: read every record, decode every image and list the problems."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import cpu_count
from pathlib import Path

import tensorflow as tf

from petals.data import damage, layout, records, shards, writing
from petals.data.records import UNLABELLED, Example
from petals.data.shards import Split
from petals.data.source import Source
from petals.errors import DataError
from petals.progress import ShowProgress


@dataclass
class Health:
    """The actual contents of one split at one size, as opposed to what its files' names declare.

    `size`: pixels a side, 0 for any shape.

    `labels`: images by label; `problems`: one line for each.
    """

    split: str
    size: int
    images: int = 0
    megabytes: list[float] = field(default_factory=list)
    labels: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        held = writing.described(self.megabytes)
        size = f"{self.size} px" if self.size else "any size,"
        line = f"{size} {self.split}: {self.images:,} images in {held}"
        if counts := self.labels.values():
            each = f"{min(counts):,}"
            if max(counts) > min(counts):
                each += f" to {max(counts):,}"
            line += f"; {len(counts)} classes with {each} images each"
        return "\n".join([line, *(f"  problem: {problem}" for problem in self.problems)])


def inspect(root: str | Path, progress: ShowProgress | None = None) -> list[Health]:
    """Read every shard under `root`. Raises `DataError` when there are none.

    Where no classes are known, any label is right.
    """
    source = Source(str(root), "folder")
    sizes = layout.sizes(root) or [1]  # one that is never decoded
    num_classes = len(source.known_classes)
    return [
        inspect_split(name, split, num_classes, progress)
        for size in sizes
        for name, split in source.splits(size).items()
    ]


def inspect_split(
    name: str, split: Split, num_classes: int, progress: ShowProgress | None = None
) -> Health:
    """Read the shards of a split.

    The problems it finds are damaged and truncated records, counts that differ from the file's
    name, labels that are missing or out of range, images that do not decode or have another size,
    and repeated ids.
    """
    health = Health(name, split.record_size)
    ids = Counter[str]()
    classes = 0 if name == "test" else num_classes
    with ThreadPoolExecutor(cpu_count()) as pool:
        for path in split.paths:
            health.megabytes.append(tf.io.gfile.stat(path).length / 1e6)
            examples: list[Example] = []
            try:
                examples.extend(records.read(path, split.features))
            except DataError as error:
                health.problems.append(str(error))
            faults = pool.map(lambda e: damage.fault(e, split.record_size, classes), examples)
            for number, (example, fault) in enumerate(zip(examples, faults, strict=True)):
                if fault:
                    health.problems.append(f"{path}: record {number} (id {example.id}): {fault}")
                elif name != "test" and example.label != UNLABELLED:
                    health.labels[example.label] += 1
            health.images += len(examples)
            ids.update(example.id for example in examples)
            declared = shards.shard_count(path)
            if declared != len(examples):
                health.problems.append(f"{path}: {len(examples)} records, its name says {declared}")
            if progress:
                progress(f"inspecting {name}", len(health.megabytes), len(split.paths))
    if twice := [id_ for id_, count in ids.items() if count > 1]:
        health.problems.append(f"{len(twice):,} ids occur more than once, such as {min(twice)}")
    return health
