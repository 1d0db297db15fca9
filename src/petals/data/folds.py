"""Cross-validation: training and validation images divided anew into K parts, class by class.

The part of an image follows from its id and its class, so that every run divides the images
alike, at any size: the out-of-fold predictions of K runs cover each image once. Images that look
alike stay together: a fold does not validate on a photo whose twin it was trained on.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np
import tensorflow as tf
from filelock import FileLock

from petals import storage
from petals.data import shards, tfrecords
from petals.data.duplicates import Fingerprints, find_pairs
from petals.data.splits import Split
from petals.errors import DataError

TOGETHER = 1  # folds: training and validation images are both trained on, and none validates
SHARD = 800  # images a file, as the competition has them


def divided(train: Split, val: Split, folds: int, fold: int, cache: Path) -> tuple[Split, Split]:
    """The splits of one fold: all parts but `fold`, and that part.

    `folds`: `TOGETHER` gives both splits together, and `val` as it was, whose images are then
    trained on; `fold` counts from 0. The parts are written once, under `cache`, for all folds.
    Raises `DataError` where ids occur twice or a part would be empty.
    """
    if folds == TOGETHER and train.complete and val.complete:
        return Split(train.paths + val.paths, train.size, train.count + val.count), val
    parts = _parts(train, val, folds, cache)
    if folds == TOGETHER:
        return parts[0], val
    rest = [part for number, part in enumerate(parts) if number != fold]
    paths = tuple(path for part in rest for path in part.paths)
    return Split(paths, train.size, sum(part.count for part in rest)), parts[fold]


def assigned(labels: np.ndarray, ids: np.ndarray, folds: int) -> np.ndarray:
    """int64 (n,): the part of each image. In each class the parts differ by one image at most."""
    hashes = [hashlib.blake2b(id_.encode(), digest_size=8).digest() for id_ in ids.tolist()]
    order = sorted(range(len(ids)), key=lambda i: (labels[i], hashes[i]))
    part = np.empty(len(ids), np.int64)
    # Counting on from class to class spreads what classes have left over.
    part[order] = np.arange(len(ids)) % folds
    return part


def with_their_twins(part: np.ndarray, twins: Iterable[tuple[int, int]]) -> np.ndarray:
    """int64 (n,): the parts, with each image moved to that of its first twin.

    `twins`: pairs of positions, also over several steps. Parts differ by what has moved.
    """
    first = np.arange(len(part))

    def root(image: int) -> int:
        while first[image] != image:
            image = int(first[image])
        return image

    for one, other in twins:
        low, high = sorted((root(one), root(other)))
        first[high] = low
    return part[[root(image) for image in range(len(part))]]


def _parts(train: Split, val: Split, folds: int, cache: Path) -> list[Split]:
    name = f"{train.fingerprint()}-{val.fingerprint()}-{folds}-twins together"
    place = cache / "folds" / hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{place}.lock"):
            if not place.is_dir():
                _write(train, val, folds, place)
    except OSError as error:
        raise storage.cannot_write(place, error) from error
    found = []
    for number in range(folds):
        paths = tuple(str(path) for path in sorted((place / str(number)).glob("*.tfrec")))
        found.append(Split(paths, train.size, sum(map(tfrecords.shard_count, paths))))
    return found


def _write(train: Split, val: Split, folds: int, place: Path) -> None:
    columns = [shards.labels_and_ids(split) for split in (train, val)]
    labels, ids = (np.concatenate(pair) for pair in zip(*columns, strict=True))
    if twice := len(ids) - len(set(ids.tolist())):
        raise DataError(
            f"{twice} ids occur twice in train and val, so folds would share images: see "
            "tools/make_tfrecords.py inspect"
        )
    prints = Fingerprints.of({"train": train, "val": val})
    twins = [(pair.first, pair.second) for pair in find_pairs(prints)]
    part = with_their_twins(assigned(labels, ids, folds), twins)
    if twins:
        print(f"  {len(twins)} pairs of images look alike and stay together in a fold")
    counts = np.bincount(part, minlength=folds)
    if not counts.all():
        raise DataError(f"{len(ids)} images cannot make {folds} folds: take fewer")
    half = place.with_name(f".{place.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    try:
        writers = [_writer(half / str(n), train.size, int(count)) for n, count in enumerate(counts)]
        records = (r for split in (train, val) for r in split.records().as_numpy_iterator())
        with shards.naming_damaged_files(train.paths + val.paths):
            for number, record in zip(part.tolist(), records, strict=True):
                next(writers[number]).write(record)
        for writer in writers:
            writer.close()
        half.rename(place)
    except tf.errors.OpError as error:
        raise storage.cannot_write(place, error) from error
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _writer(folder: Path, size: int, count: int) -> Generator[tf.io.TFRecordWriter]:
    """For each of `count` records the writer of the shard that it belongs to."""
    folder.mkdir(parents=True)
    files = -(-count // SHARD)
    for number in range(files):
        own = count * (number + 1) // files - count * number // files
        name = tfrecords.shard_name(number, size, own)
        with tf.io.TFRecordWriter(str(folder / name)) as writer:
            for _ in range(own):
                yield writer
