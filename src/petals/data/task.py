"""Whether labelled photos are a task, and what makes a score mean less than it seems to."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from petals.data.shards import Split
from petals.errors import DataError, listed

MOST_COPIES = 0.1  # of the training photos, of which nothing is said


def task_warnings(train: Split, val: Split | None, names: Sequence[str]) -> list[str]:
    """A line for each property of the photos that makes a score mean less than it seems to.

    `train` and `val`: what is trained and validated on, `val` None if nothing is; `names`: the
    classes in label order. Raises `DataError` where a score would mean nothing: one class, photos
    that are all the same.
    """
    train_labels, _ = train.labels_and_ids()
    _refuse(train, train_labels, names)
    lines = [*_of_names(names), *_of_train(train, train_labels, names)]
    if val is not None and val is not train:
        lines += _of_val(train, val, names)
    return lines


def _refuse(train: Split, labels: np.ndarray, names: Sequence[str]) -> None:
    present = np.unique(labels).tolist()
    if len(present) == 1:
        raise DataError(
            f"all {train.count:,} training photos are of one class ({names[present[0]]}): there is "
            "nothing to tell apart, and any model would score 1. Add photos of other classes, or "
            "raise limit if it is set"
        )
    if train.count > 1 and len(np.unique(train.digests())) == 1:
        raise DataError(
            f"all {train.count:,} training photos are the same picture: make the records again"
        )


def _of_names(names: Sequence[str]) -> list[str]:
    folded = [" ".join(name.casefold().split()) for name in names]
    counts = Counter(folded)
    same = [name for name, key in zip(names, folded, strict=True) if counts[key] > 1]
    return [f"{listed(same)}: two classes have this name"] if same else []


def _of_train(train: Split, labels: np.ndarray, names: Sequence[str]) -> list[str]:
    lines = []
    counts = np.bincount(labels, minlength=len(names))
    absent = [names[label] for label in np.flatnonzero(counts == 0).tolist()]
    if train.count < len(names):
        lines.append(f"fewer training photos than classes: {train.count:,} for {len(names):,}")
    if absent:
        lines.append(
            f"{len(absent):,} of {len(names):,} classes have no training photo, so no photo is "
            f"recognised as one of them: {listed(absent)}"
        )
    digests, first, copies = np.unique(train.digests(), return_index=True, return_counts=True)
    if MOST_COPIES * train.count < train.count - len(digests):
        lines.append(f"only {len(digests):,} of {train.count:,} training photos differ")
    if copies.max() > 1:
        label_of = dict(zip(digests.tolist(), labels[first].tolist(), strict=True))
        pairs = zip(train.digests().tolist(), labels.tolist(), strict=True)
        two = {digest for digest, label in pairs if label_of[digest] != label}
        if two:
            lines.append(f"{len(two):,} pictures are in train under two classes")
    return lines


def _of_val(train: Split, val: Split, names: Sequence[str]) -> list[str]:
    lines = []
    labels, _ = val.labels_and_ids()
    counts = np.bincount(labels, minlength=len(names))
    if counts.max() == 1:
        lines.append(
            f"validation has one photo a class at most, {val.count:,} in all: a single answer "
            f"changes the accuracy by {1 / val.count:.3f}"
        )
    absent = [names[label] for label in np.flatnonzero(counts == 0).tolist()]
    if absent:
        lines.append(
            f"{len(absent):,} of {len(names):,} classes have no validation photo, so the scores "
            f"say nothing about them: {listed(absent)}"
        )
    in_train = int(np.isin(val.digests(), train.digests()).sum())
    if in_train:
        lines.append(
            f"{in_train:,} of {val.count:,} validation photos are also in train, so the scores are "
            "too good"
        )
    return lines
