"""Cross-validation: divide training and validation images into K stratified parts.

An image's part depends only on its id and its class, so that every run divides the images in the
same way at any image size, and the out-of-fold predictions of K runs cover each image once. Similar
images stay together: a fold does not validate on a photo whose twin is in its training set.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from petals import storage
from petals.data import writing
from petals.data.duplicates import Fingerprints, find_pairs
from petals.data.shards import Split
from petals.errors import DataError

TOGETHER = 1  # folds: train on training and validation images, and validate on none


def divided(
    train: Split, val: Split | None, folds: int, fold: int, cache: Path
) -> tuple[Split, Split]:
    """The splits of one fold: all parts except `fold`, and that part.

    `val`: None if all labelled images are in `train`. `fold` counts from 0. `folds=TOGETHER`
    returns both splits merged, and `val` unchanged, although its images are then trained on;
    without `val` it returns `train` twice. The parts are written once, under `cache`, for all
    folds. Raises `DataError` if ids occur twice or a part would be empty.
    """
    if folds == TOGETHER:
        if val is None:
            return train, train
        if train.complete and val.complete:
            both = replace(train, paths=train.paths + val.paths, count=train.count + val.count)
            return both, val
    labelled = {"train": train} if val is None else {"train": train, "val": val}
    prints = "-".join(split.fingerprint() for split in labelled.values())
    key = f"{prints}-{folds}-twins together"
    place = cache / "folds" / hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
    storage.write_once(place, partial(_write, labelled, folds))
    parts = [sorted(map(str, (place / str(n)).glob("*.tfrec"))) for n in range(folds)]
    if folds == TOGETHER and val is not None:
        return train.holding(parts[0]), val
    rest = chain.from_iterable(part for number, part in enumerate(parts) if number != fold)
    return train.holding(rest), train.holding(parts[fold])


def assigned(labels: np.ndarray, ids: np.ndarray, folds: int) -> np.ndarray:
    """int64 (n,): the part of each image. In each class, part sizes differ by at most one image."""
    hashes = [hashlib.blake2b(id_.encode(), digest_size=8).digest() for id_ in ids.tolist()]
    order = sorted(range(len(ids)), key=lambda i: (labels[i], hashes[i]))
    part = np.empty(len(ids), np.int64)
    # Counting across classes distributes the remainders evenly.
    part[order] = np.arange(len(ids)) % folds
    return part


def _write(labelled: Mapping[str, Split], folds: int, folder: Path) -> None:
    prints = Fingerprints.of(labelled)
    ids = prints.ids
    if twice := len(ids) - len(set(ids.tolist())):
        raise DataError(
            f"{twice} ids occur twice in train and val, so folds would share images: see "
            "tools/make_tfrecords.py inspect"
        )
    twins, group = find_pairs(prints)
    part = assigned(prints.labels, ids, folds)[group]  # so part sizes differ by more than an image
    if twins:
        print(f"  {len(twins)} pairs of images look alike and stay together in a fold")
    counts = np.bincount(part, minlength=folds).tolist()
    if not all(counts):
        raise DataError(f"{len(ids)} images cannot make {folds} folds: choose fewer folds")
    size = labelled["train"].record_size
    for number, count in enumerate(counts):
        examples = chain.from_iterable(split.examples() for split in labelled.values())
        own = (example for example, at in zip(examples, part, strict=True) if at == number)
        writing.write_shards(folder / str(number), size, count, own)
