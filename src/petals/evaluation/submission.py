"""The file that a competition scores."""

from pathlib import Path

import numpy as np

from petals import storage


def write_submission(path: str | Path, ids: np.ndarray, probabilities: np.ndarray) -> None:
    """`submission.csv` with header `id,label`, one row per test image."""
    rows = zip(ids.tolist(), probabilities.argmax(axis=1).tolist(), strict=True)
    storage.write_csv(path, ("id", "label"), rows)
