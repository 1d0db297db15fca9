"""Hidden test data for a rehearsal: training images recorded again as a test set, answers apart.

python -m petals.prepare.hidden_data PUBLIC HIDDEN ANSWERS ROWS

PUBLIC is a folder of the competition's files, HIDDEN an empty one. Of every class the same share of
the training images gets new ids and no label, and goes to the test shards, in each size that there
is; the other training images and all validation images stay. ANSWERS becomes a CSV file of `id` and
`label`. ROWS is the number of hidden images, 0 for a default: four times as many as the public
test set has, but at most a fifth of the training images.
"""

import argparse
import hashlib
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from petals import storage
from petals.data import layout, records, shards, writing
from petals.data.records import Example
from petals.data.shards import Split
from petals.errors import DataError, PetalsError

SEED = 0
MORE = 4  # times the images of the public test set, by default
SHARE = 5  # at most one training image in so many, by default
SAMPLE = "sample_submission.csv"
LABELS = ("id", "label")
ID_CHARACTERS = 9  # as the competition's ids have


def make(public: Path, hidden: Path, answers: Path, rows: int = 0) -> int:
    """Write the hidden folder and its answers; returns the number of hidden images.

    Raises `DataError` if the public folder has no training images, fewer than are asked for, or
    not the same ones in all sizes.
    """
    sizes = layout.sizes(public)
    if not sizes:
        raise DataError(f"{public} has no tfrecords-jpeg-SxS folder to take training images from")
    labels = _labels(public, sizes[0])
    tested = sum(map(shards.shard_count, writing.shard_paths(public, sizes[0], "test")))
    wanted = rows or min(MORE * max(tested, 1), len(labels) // SHARE)
    if not 0 < wanted < len(labels):
        raise DataError(
            f"{public} has {len(labels):,} training images: too few for {wanted:,} hidden ones and "
            "something to train on"
        )
    new_ids = _new_ids(_choose(labels, wanted), _known_ids(public, sizes[0], labels))
    for size in sizes:
        _write_size(public, hidden, size, new_ids)
    _link_others(public, hidden)
    storage.write_csv(hidden / SAMPLE, LABELS, [(new, 0) for new in new_ids.values()])
    solved = [(new, labels[old]) for old, new in new_ids.items()]
    storage.write_csv(answers, LABELS, solved)
    return len(new_ids)


def _labels(public: Path, size: int) -> dict[str, int]:
    """{id: label} of the training images, in the files' order."""
    split = Split.find(str(public), size, "train")
    labels, ids = split.labels_and_ids()
    return {str(one): int(label) for one, label in zip(ids, labels, strict=True)}


def _known_ids(public: Path, size: int, labels: Mapping[str, int]) -> set[str]:
    known = set(labels)
    for name in ("val", "test"):
        for path in writing.shard_paths(public, size, name):
            known |= {example.id for example in records.read(path)}
    return known


def _choose(labels: Mapping[str, int], wanted: int) -> list[str]:
    """The ids of the images that become hidden, the same share of each class, shuffled."""
    rng = random.Random(SEED)
    by_class: dict[int, list[str]] = {}
    for one, label in labels.items():
        by_class.setdefault(label, []).append(one)
    ranked = []
    for own in by_class.values():
        rng.shuffle(own)
        ranked += [((place + rng.random()) / len(own), one) for place, one in enumerate(own)]
    chosen = [one for _, one in sorted(ranked)[:wanted]]
    rng.shuffle(chosen)
    return chosen


def _new_ids(chosen: Sequence[str], known: set[str]) -> dict[str, str]:
    """{id: new id}, of characters as the competition's."""
    taken = set(known)
    new_ids = {}
    for old in chosen:
        digest = hashlib.sha256(f"{SEED} {old}".encode()).hexdigest()
        length = ID_CHARACTERS
        while digest[:length] in taken:
            length += 1
        new_ids[old] = digest[:length]
        taken.add(digest[:length])
    return new_ids


def _write_size(public: Path, hidden: Path, size: int, new_ids: Mapping[str, str]) -> None:
    """Write the training and test shards of one size, and link the validation shards."""
    train = Split.of(writing.shard_paths(public, size, "train"), size)
    found = {}
    for example in train.examples():
        if example.id in new_ids:
            found[example.id] = Example(example.image, new_ids[example.id])
    lacking = new_ids.keys() - found.keys()
    if lacking:
        raise DataError(
            f"{writing.folder(public, size, 'train')} lacks {len(lacking):,} images that another "
            f"size has, among them {min(lacking)}: download its files again"
        )
    test = Path(writing.folder(hidden, size, "test"))
    writing.write_shards(test, size, len(found), (found[one] for one in new_ids))
    kept = _without(train, new_ids)
    place = Path(writing.folder(hidden, size, "train"))
    writing.write_shards(place, size, train.count - len(found), kept)
    for path in writing.shard_paths(public, size, "val"):
        _link(Path(path), hidden / Path(path).relative_to(public))
    print(f"{size} x {size} pixels: {len(found):,} hidden images", flush=True)


def _without(train: Split, ids: Mapping[str, str]) -> Iterator[Example]:
    for example in train.examples():
        if example.id not in ids:
            yield example


def _link_others(public: Path, hidden: Path) -> None:
    """Link what is no record: the list of classes, and whatever else lies at the top."""
    for path in sorted(public.iterdir()):
        if path.is_file() and path.name != SAMPLE:
            _link(path, hidden / path.name)


def _link(source: Path, place: Path) -> None:
    """A hard link, or a copy where the file system has none."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), place)
    except OSError:
        shutil.copy2(source, place)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the hidden data that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("public", type=Path)
    parser.add_argument("hidden", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("rows", type=int)
    options = parser.parse_args(arguments)
    try:
        made = make(options.public, options.hidden, options.answers, options.rows)
    except PetalsError as error:
        parser.exit(error.exit_code, f"{error}\n")
    print(f"{made:,} hidden images in all", flush=True)


if __name__ == "__main__":
    main()
