"""The file that a competition scores."""

import csv
from pathlib import Path

import numpy as np
import tensorflow as tf

from petals import storage
from petals.errors import DataError


def write_submission(
    path: str | Path, ids: np.ndarray, probabilities: np.ndarray, sample: str | Path | None = None
) -> None:
    """`submission.csv` with header `id,label`, one row per test image.

    With a `sample_submission.csv`, the rows follow its order and the ids must match: otherwise
    raises `DataError`, before anything is written.
    """
    labels = dict(zip(ids.tolist(), probabilities.argmax(axis=1).tolist(), strict=True))
    if len(labels) != len(ids):
        raise DataError(f"{len(ids) - len(labels)} test ids occur twice, so no submission is valid")
    order = list(labels)
    if sample is not None and tf.io.gfile.exists(str(sample)):
        with tf.io.gfile.GFile(str(sample)) as file:
            order = [row["id"] for row in csv.DictReader(file.read().splitlines())]
        missing, extra = set(order) - set(labels), set(labels) - set(order)
        if missing or extra:
            raise DataError(
                f"the test images are not those of {sample}: {len(missing)} of its ids were not "
                f"predicted, {len(extra)} predicted ids are not in it"
            )
    storage.write_csv(path, ("id", "label"), [(id_, labels[id_]) for id_ in order])
