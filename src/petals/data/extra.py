"""Training photos from additional sources: classes matched by name, twins left out.

Public datasets that people add to a competition often contain its test photos. A score from those
says nothing about new photos, so they are found by fingerprint, counted, and left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache as cached
from functools import partial
from pathlib import Path

import numpy as np

from petals import storage
from petals.data import shards, tfrecords
from petals.data.duplicates import Fingerprints, twins_of
from petals.data.shards import Split
from petals.data.source import Source
from petals.errors import DataError
from petals.progress import ShowProgress

LABELLED = ("train", "val")
AGAINST = ("test", "val", "train")  # a twin in several splits counts only for the first
TEST_SET = 0.5  # if this share of a source's photos is in the test split, it is the test set itself
NAMED = 5  # twins to name in a line


@dataclass(frozen=True)
class Addition:
    """What one source adds: its images in the main source's label order, without twins.

    `twins`: for each main split, pairs of ids: the image in the source and its twin.
    """

    source: str
    images: int
    paths: tuple[str, ...] = ()
    twins: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    @property
    def added(self) -> int:
        """The number of images that it adds."""
        return sum(map(shards.shard_count, self.paths))

    def __str__(self) -> str:
        line = f"{self.source}: {self.added:,} of {self.images:,} photos added"
        for split, pairs in self.twins.items():
            if pairs:
                names = ", ".join(own for own, _ in pairs[:NAMED])
                more = ", …" if pairs[NAMED:] else ""
                line += f"; {len(pairs):,} are also in {split} and left out ({names}{more})"
        return line

    def summary(self) -> dict[str, object]:
        """For metrics.json."""
        twins = {split: len(pairs) for split, pairs in self.twins.items()}
        return {"source": self.source, "images": self.images, "added": self.added, "twins": twins}


def more_to_train_on(
    others: Sequence[Source],
    names: Sequence[str],
    splits: Mapping[str, Split],
    cache: Path,
    progress: ShowProgress | None = None,
) -> list[Addition]:
    """The labelled images of other sources, prepared for training together with the main one.

    `names`: the main source's classes; `splits`: its train, val and test. Images that have a twin
    in one of them are left out, whether a limit leaves out the twin or not. What remains is
    written under `cache`, once. Raises `DataError` for a class that the main source lacks, and
    for a source that is the test set itself.
    """
    whole = {name: Split.of(split.paths, split.size) for name, split in splits.items()}
    additions = []

    @cached
    def prints(split: str) -> Fingerprints:
        return Fingerprints.of({split: whole[split]}, progress)

    for source in others:
        own, labels = _labelled(source, splits["train"].size), _matched(source, names)
        parts = [split.fingerprint() for split in (*whole.values(), *own.values())]
        key = hashlib.blake2b(repr((parts, labels)).encode(), digest_size=12).hexdigest()
        folder = cache / "extra" / key
        storage.write_once(folder, partial(_write, source, own, labels, prints, progress))
        values = json.loads((folder / "addition.json").read_text(encoding="utf-8"))
        paths = tuple(map(str, sorted(folder.glob("*.tfrec"))))
        additions.append(Addition(paths=paths, **values))
    return additions


def extended(train: Split, additions: Sequence[Addition]) -> Split:
    """The training split, preceded by the added images."""
    paths = tuple(path for addition in additions for path in addition.paths)
    count = sum(addition.added for addition in additions)
    return Split(paths + train.paths, train.size, count + train.count) if count else train


def write_twins(path: Path, additions: Sequence[Addition]) -> None:
    """A CSV of all twins: source, id, split and twin."""
    rows = [
        (addition.source, own, split, twin)
        for addition in additions
        for split, pairs in addition.twins.items()
        for own, twin in pairs
    ]
    storage.write_csv(path, ("source", "id", "split", "twin"), rows)


def _labelled(source: Source, size: int) -> dict[str, Split]:
    """The labelled splits of a source; raises `DataError` if it has none."""
    splits, errors = {}, []
    for name in LABELLED:
        try:
            splits[name] = Split.find(source.root, size, name)
        except DataError as error:
            errors.append(error)
    if not splits:
        raise errors[0]
    return splits


def _matched(source: Source, names: Sequence[str]) -> list[int]:
    """For each label of the source, the main source's label of the same name."""
    labels = {_key(name): label for label, name in enumerate(names)}
    own = source.class_names
    if strange := [name for name in own if _key(name) not in labels]:
        more = f" and {len(strange) - 3} more" if strange[3:] else ""
        raise DataError(
            f"{source} has classes that the first source lacks: {', '.join(strange[:3])}{more}. "
            "Rename them in its classes.json, or leave them out of it"
        )
    return [labels[_key(name)] for name in own]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _write(
    source: Source,
    own: Mapping[str, Split],
    labels: Sequence[int],
    prints: Callable[[str], Fingerprints],
    progress: ShowProgress | None,
    folder: Path,
) -> None:
    """The images of a source that have no twin, and `addition.json`; labels as in `labels`."""
    photos = Fingerprints.of(own, progress)
    keep = np.ones(len(photos), bool)
    twins = {}
    for split in AGAINST:
        there = prints(split)
        twin = np.where(keep, twins_of(photos, there), -1)
        keep &= twin < 0
        twins[split] = [
            (str(photos.ids[i]), str(there.ids[twin[i]])) for i in np.flatnonzero(twin >= 0)
        ]
    if len(twins["test"]) >= TEST_SET * len(photos):
        raise DataError(
            f"{source} is the test set: {len(twins['test']):,} of its {len(photos):,} photos are "
            "in the test split of the first source, so a score would say nothing about new photos. "
            "Leave it out"
        )
    size, examples = next(iter(own.values())).size, _kept(own, labels, keep)
    for number, count in enumerate(shards.shard_counts(int(keep.sum()))):
        path = folder / shards.shard_name(number, size, count)
        tfrecords.write_shard(path, (next(examples) for _ in range(count)))
    values = {"source": str(source), "images": len(photos), "twins": twins}
    storage.write_json(folder / "addition.json", values)


def _kept(
    own: Mapping[str, Split], labels: Sequence[int], keep: np.ndarray
) -> Iterator[tfrecords.Example]:
    """The images to keep, with the main source's labels."""
    paths = [path for split in own.values() for path in split.paths]
    examples = ((path, example) for path in paths for example in tfrecords.read_shard(path))
    for (path, example), keeps in zip(examples, keep, strict=True):
        if example.label is None or not 0 <= example.label < len(labels):
            raise DataError(
                f"{path}: {example.id} has the label {example.label}, and its classes.json "
                f"{len(labels)} names"
            )
        if keeps:
            yield tfrecords.Example(example.image, example.id, labels[example.label])
