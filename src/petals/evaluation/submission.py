"""The file that a competition scores."""

from pathlib import Path

import numpy as np

from petals import storage
from petals.data.dataset import submission_order


def write_submission(
    path: str | Path, ids: np.ndarray, probabilities: np.ndarray, sample: str | Path | None = None
) -> None:
    """`submission.csv` with header `id,label`, one row per test image.

    With a `sample_submission.csv`, the rows follow its order and the ids must match: otherwise
    raises `DataError`, before anything is written.
    """
    order = submission_order(ids.tolist(), sample)
    labels = dict(zip(ids.tolist(), probabilities.argmax(axis=1).tolist(), strict=True))
    storage.write_csv(path, ("id", "label"), [(id_, labels[id_]) for id_ in order])
