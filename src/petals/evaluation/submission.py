"""The file that a competition scores."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from petals import storage

PARTIAL = ".partial.csv"  # the ending of a submission that lacks test images


def write_submission(
    path: str | Path,
    ids: np.ndarray,
    probabilities: np.ndarray,
    submitted: Sequence[str] | None = None,
    *,
    complete: bool = True,
) -> Path:
    """`submission.csv` with header `id,label`, one row per test image; returns what was written.

    A label is the position of the class, from 0. `submitted`: what stands for each position
    instead, such as the numbers of a CSV that begins with 1 (`petals.data.source.Source`).

    `complete`: whether there is a row for every test image. Else the file is `path` with the ending
    `.partial.csv`, which `kernelkit submit` refuses. An earlier file of the other name is deleted,
    since it would be taken for this one.
    """
    whole = Path(path)
    partial = whole.with_suffix(PARTIAL)
    written, other = (whole, partial) if complete else (partial, whole)
    other.unlink(missing_ok=True)
    labels = probabilities.argmax(axis=1).tolist()
    if submitted:
        labels = [submitted[label] for label in labels]
    storage.write_csv(written, ("id", "label"), zip(ids.tolist(), labels, strict=True))
    return written
