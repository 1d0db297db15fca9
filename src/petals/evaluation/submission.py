"""The file that a competition scores."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from petals import storage


def write_submission(
    path: str | Path,
    ids: np.ndarray,
    probabilities: np.ndarray,
    submitted: Sequence[str] | None = None,
) -> None:
    """`submission.csv` with header `id,label`, one row per test image.

    A label is the position of the class, from 0. `submitted`: what stands for each position
    instead, such as the numbers of a CSV that begins with 1 (`petals.data.source.Source`).
    """
    labels = probabilities.argmax(axis=1).tolist()
    if submitted:
        labels = [submitted[label] for label in labels]
    storage.write_csv(path, ("id", "label"), zip(ids.tolist(), labels, strict=True))
