"""Training photos from additional sources: classes matched by name, twins left out.

Public datasets that people add to a competition often contain its test photos. A score from those
says nothing about new photos, so they are found by fingerprint, counted, and left out.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from petals import storage
from petals.data import shards, writing
from petals.data.duplicates import Fingerprints, twins_of
from petals.data.records import Example
from petals.data.shards import Split
from petals.data.source import Source
from petals.errors import DataError, listed
from petals.progress import ShowProgress

QUALITY = 95  # of JPEGs that are made anew because their source has other sizes
TEST_SET = 0.5  # if this share of a source's photos is in the test split, it is the test set itself


@dataclass(frozen=True)
class Addition:
    """What one source adds: its images in the main source's label order, without twins.

    `twins`: for each image that is left out its id, the main split that has its twin, and that id.
    """

    source: str
    images: int
    twins: Sequence[tuple[str, str, str]]
    paths: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        """The number of images that it adds."""
        return self.images - len(self.twins)

    def summary(self) -> dict[str, Any]:
        """For metrics.json."""
        twins = Counter(split for _, split, _ in self.twins)
        return {"source": self.source, "images": self.images, "added": self.added, "twins": twins}

    def __str__(self) -> str:
        line = f"{self.source}: {self.added:,} of {self.images:,} photos added"
        return line + "".join(
            f"; {n:,} are also in {split}" for split, n in self.summary()["twins"].items()
        )


def more_to_train_on(
    others: Sequence[Source],
    names: Sequence[str],
    splits: Mapping[str, Split],
    train: Split,
    cache: Path,
    progress: ShowProgress | None = None,
) -> list[Addition]:
    """The labelled images of other sources, prepared for training together with the main one.

    `names`: the main source's classes; `splits`: its train, val and test; `train`: the photos that
    they are added to, whose size and features their records get. Images that have a twin
    in one of them are left out. What remains is written under `cache`, once. Raises `DataError` for
    a class that the main source lacks, and for a source that is the test set itself.
    """
    additions = []
    for source in others:
        size = train.record_size or train.size
        own = source.splits(size)
        own.pop("test", None)
        labels = _matched(source, names)
        parts = [split.fingerprint() for split in (*splits.values(), *own.values())]
        key = repr((parts, labels, size, train.record_size, train.features))
        key = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
        folder = cache / "extra" / key
        storage.write_once(
            folder, partial(_write, str(source), own, labels, splits, train, progress)
        )
        values = json.loads((folder / "addition.json").read_text("utf-8"))
        paths = tuple(map(str, sorted(folder.glob("*.tfrec"))))
        additions.append(Addition(paths=paths, **values))
    return additions


def _matched(source: Source, names: Sequence[str]) -> list[int]:
    """For each label of the source, the main source's label of the same name.

    A source that names no classes is taken to have the main source's labels, and it is said so.
    """
    labels = {_key(name): label for label, name in enumerate(names)}
    own = source.class_names
    strange = [name for name in own if _key(name) not in labels]
    if not strange:
        return [labels[_key(name)] for name in own]
    if source.is_numbered and max(map(int, own)) < len(names):
        print(f"{source} names no classes: its labels are taken as those of the first source")
        return [int(name) for name in own]
    raise DataError(
        f"{source} has classes that the first source lacks: {listed(strange)}. Rename them "
        "in its classes.json, or leave them out of it"
    )


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _write(
    source: str,
    own: Mapping[str, Split],
    labels: Sequence[int],
    splits: Mapping[str, Split],
    train: Split,
    progress: ShowProgress | None,
    folder: Path,
) -> None:
    """The images of a source that have no twin, and `addition.json`; labels as in `labels`."""
    for split in own.values():
        split.labels_and_ids(len(labels))
    # In the order of what matters: of several twins the first one counts.
    main = Fingerprints.of(dict(reversed([*splits.items()])), progress)
    photos = Fingerprints.of(own, progress)
    twin = twins_of(photos, main)
    twins = [
        (str(photos.ids[i]), str(main.splits[twin[i]]), str(main.ids[twin[i]]))
        for i in np.flatnonzero(twin >= 0)
    ]
    in_test = sum(split == "test" for _, split, _ in twins)
    if in_test >= TEST_SET * len(photos):
        raise DataError(
            f"{source} is the test set: {in_test:,} of its {len(photos):,} photos are in the test "
            "split of the first source, so a score would say nothing about new photos. Leave it out"
        )
    examples = chain.from_iterable(map(_at_its_size, own.values()))
    kept = (
        replace(example, label=labels[label])
        for example, label, place in zip(examples, photos.labels, twin, strict=True)
        if place < 0
    )
    count = len(photos) - len(twins)
    writing.write_shards(folder, train.record_size, count, kept, train.features)
    values = {"source": source, "images": len(photos), "twins": twins}
    storage.write_json(folder / "addition.json", values)


def _at_its_size(split: Split) -> Iterator[Example]:
    """The images of a split, as JPEGs of the split's size where its records have another."""
    for example in split.examples():
        if split.record_size == split.size:
            yield example
        else:
            pixels = shards.decoded(example.image, split.record_size, split.size)
            yield replace(example, image=tf.io.encode_jpeg(pixels, quality=QUALITY).numpy())
