"""Whether a task is one that a score can tell something about. No TensorFlow here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from petals.errors import DataError

SPLIT_NAMES = {"train", "training", "val", "valid", "validation", "test", "testing"}
LISTED = 5  # class names in a sentence


def weaknesses(train_labels: np.ndarray, val_labels: np.ndarray, names: Sequence[str]) -> list[str]:
    """Sentences on what a reader of the scores must know; the log and the report begin with them.

    `train_labels` and `val_labels`: int (n,) positions in `names`. Raises `DataError` for a task
    whose score would be perfect or meaningless whatever was trained: a single class, or classes
    that are named after splits.
    """
    trained = np.bincount(train_labels, minlength=len(names))
    validated = np.bincount(val_labels, minlength=len(names))
    if np.count_nonzero(trained) < 2:
        found = ", ".join(names[label] for label in np.flatnonzero(trained).tolist()) or "none"
        raise DataError(
            f"all training photos are of one class ({found}), so any model is always right: give "
            "photos of two classes or more, with a folder for each class"
        )
    if SPLIT_NAMES.issuperset(name.lower() for name in names):
        raise DataError(
            f"the classes are named {', '.join(names)}, which are names of splits: name the folder "
            "above them as data, or give each class a folder of its own"
        )
    lines = []
    if len(train_labels) < len(names):
        lines.append(
            f"There are {len(names)} classes, but only {len(train_labels)} photos to train on."
        )
    if missing := [name for name, count in zip(names, trained, strict=True) if not count]:
        lines.append(
            f"{_listed(missing)} of {len(names)} classes without a photo to train on: the model "
            "never answers with them, and their F1 is 0 where they have validation photos."
        )
    if missing := [name for name, count in zip(names, validated, strict=True) if not count]:
        lines.append(
            f"{_listed(missing)} of {len(names)} classes without a validation photo: the scores "
            "say nothing about them."
        )
    if len(val_labels) and validated.max() == 1:
        lines.append(
            "No class has more than one validation photo, so each photo decides the F1 of its "
            "class: the scores are rough, whatever their digits."
        )
    return lines


def _listed(names: Sequence[str]) -> str:
    """`3 (a, b, c)`, with the first names only where there are many."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{len(names)} ({', '.join(names[:LISTED])}{more})"
