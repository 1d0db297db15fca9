"""More photos to train on, from other sources: classes matched by name, twins left out.

Public sets that people add to a competition often hold its test photos. A score that comes from
those says nothing of new photos, so they are found by fingerprint, counted, and left out.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from filelock import FileLock

from petals import storage
from petals.data import tfrecords
from petals.data.duplicates import Fingerprints, twins_of
from petals.data.source import Source
from petals.data.splits import Split
from petals.errors import DataError

LABELLED = ("train", "val")
AGAINST = ("test", "val", "train")  # a twin in several splits counts for the first
TEST_SET = 0.5  # of a source's photos in the test split: it is the test set, and not more data
SHARD = 800  # images a file
NAMED = 5  # twins that a line names

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Addition:
    """What one source adds: its images in the main source's label order, without twins.

    `twins`: for each of the main splits pairs of ids, of an image here and of its twin there.
    """

    source: str
    images: int
    paths: tuple[str, ...] = ()
    twins: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    @property
    def added(self) -> int:
        """The number of images that it adds."""
        return sum(map(tfrecords.shard_count, self.paths))

    def __str__(self) -> str:
        line = f"{self.source}: {self.added:,} of {self.images:,} photos added"
        for split, pairs in self.twins.items():
            if pairs:
                names = ", ".join(own for own, _ in pairs[:NAMED])
                more = ", …" if pairs[NAMED:] else ""
                line += f"; {len(pairs):,} are in {split} too and left out ({names}{more})"
        return line

    def summary(self) -> dict[str, object]:
        """For metrics.json."""
        counts = {split: len(pairs) for split, pairs in self.twins.items()}
        return {
            "source": self.source,
            "images": self.images,
            "added": self.added,
            "twins": counts,
        }


def more_to_train_on(
    others: Sequence[Source],
    names: Sequence[str],
    splits: Mapping[str, Split],
    *,
    cache: Path,
    progress: Progress | None = None,
) -> list[Addition]:
    """The labelled images of other sources, made fit for training with the main one's.

    `names`: the main source's classes; `splits`: its train, val and test, which are looked at
    whole. Images of which train, val or test holds a twin are left out. What remains is written
    under `cache`, once. Raises `DataError` for a class that the main source lacks, and for a source
    that is the test set itself.
    """
    size = splits["train"].size
    splits = {
        name: Split(split.paths, size, sum(map(tfrecords.shard_count, split.paths)))
        for name, split in splits.items()
    }
    found: dict[str, Fingerprints] = {}

    def main(split: str) -> Fingerprints:
        if split not in found:
            found[split] = Fingerprints.of({split: splits[split]}, progress)
        return found[split]

    additions = []
    for source in others:
        own = _labelled(source, size)
        to = _matched(source, names)
        parts = [split.fingerprint() for split in (*splits.values(), *own.values())]
        key = hashlib.blake2b(repr((parts, to)).encode(), digest_size=12).hexdigest()
        place = cache / "extra" / key
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{place}.lock"):
                if not place.is_dir():
                    _write(source, own, to, main, place, progress)
        except OSError as error:
            raise storage.cannot_write(place, error) from error
        additions.append(_read(place))
    return additions


def extended(train: Split, additions: Sequence[Addition]) -> Split:
    """The training split with what was added, which stands before it."""
    paths = tuple(path for addition in additions for path in addition.paths)
    count = sum(addition.added for addition in additions)
    return Split(paths + train.paths, train.size, count + train.count) if count else train


def write_twins(path: Path, additions: Sequence[Addition]) -> None:
    """A CSV of all twins: source, id, split and twin."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["source", "id", "split", "twin"])
    for addition in additions:
        for split, pairs in addition.twins.items():
            writer.writerows([addition.source, own, split, twin] for own, twin in pairs)
    storage.write_text(path, text.getvalue())


def _labelled(source: Source, size: int) -> dict[str, Split]:
    found, why = {}, None
    for name in LABELLED:
        try:
            found[name] = Split.find(source.root, size, name)
        except DataError as error:
            why = why or error
    if not found and why:
        raise why
    return found


def _matched(source: Source, names: Sequence[str]) -> list[int]:
    """For each label of the source the main one's label of the same name."""
    at = {_key(name): label for label, name in enumerate(names)}
    own = source.class_names
    if strange := [name for name in own if _key(name) not in at]:
        more = f" and {len(strange) - 3} more" if strange[3:] else ""
        raise DataError(
            f"{source} has classes that the first source lacks: {', '.join(strange[:3])}{more}. "
            "Rename them in its classes.json, or leave them out of it"
        )
    return [at[_key(name)] for name in own]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _write(
    source: Source,
    own: Mapping[str, Split],
    to: Sequence[int],
    main: Callable[[str], Fingerprints],
    place: Path,
    progress: Progress | None,
) -> None:
    prints = Fingerprints.of(own, progress)
    keep = np.ones(len(prints), bool)
    pairs: dict[str, list[tuple[str, str]]] = {}
    for split in AGAINST:
        twin = np.where(keep, twins_of(prints, main(split)), -1)
        there = np.flatnonzero(twin >= 0)
        keep[there] = False
        pairs[split] = [(str(prints.ids[i]), str(main(split).ids[twin[i]])) for i in there]
    of_test = len(pairs["test"])
    if of_test >= TEST_SET * len(prints):
        raise DataError(
            f"{source} is the test set: {of_test:,} of its {len(prints):,} photos are in the test "
            "split of the first source. Leave it out"
        )
    half = place.with_name(f".{place.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    try:
        size = next(iter(own.values())).size
        total, examples = int(keep.sum()), _kept(own, to, keep)
        files = -(-total // SHARD)
        for number in range(files):
            count = total * (number + 1) // files - total * number // files
            path = half / tfrecords.shard_name(number, size, count)
            tfrecords.write_shard(path, (next(examples) for _ in range(count)))
        addition = Addition(str(source), len(prints), (), pairs)
        storage.write_json(half / "addition.json", asdict(addition))
        half.rename(place)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _kept(
    own: Mapping[str, Split], to: Sequence[int], keep: np.ndarray
) -> Iterator[tfrecords.Example]:
    at = 0
    for split in own.values():
        for path in split.paths:
            for example in tfrecords.read_shard(path):
                if example.label is None or not 0 <= example.label < len(to):
                    raise DataError(
                        f"{path}: {example.id} has the label {example.label}, and its "
                        f"classes.json {len(to)} names"
                    )
                if keep[at]:
                    yield tfrecords.Example(example.image, example.id, to[example.label])
                at += 1


def _read(place: Path) -> Addition:
    values = json.loads((place / "addition.json").read_text(encoding="utf-8"))
    paths = tuple(str(path) for path in sorted(place.glob("*.tfrec")))
    twins = {
        split: [(own, twin) for own, twin in pairs] for split, pairs in values["twins"].items()
    }
    return Addition(values["source"], values["images"], paths, twins)
