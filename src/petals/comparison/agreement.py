"""Two models on the same photos: where both, one or neither of them is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from petals.comparison.finished_run import FinishedRun, positions
from petals.data import classes
from petals.data.shards import Split
from petals.data.source import find_source
from petals.errors import DataError


@dataclass(frozen=True)
class Agreement:
    """Positions (int64) in the validation set, by which of two models was right."""

    both: np.ndarray
    only_first: np.ndarray
    only_second: np.ndarray
    neither: np.ndarray

    @classmethod
    def of(cls, first: FinishedRun, second: FinishedRun) -> Agreement:
        """The agreement of two aligned runs; raises `DataError` if their images differ in order."""
        if not np.array_equal(first.ids, second.ids):
            raise DataError(
                f"{first.name} and {second.name} are not aligned: read them in one call"
            )
        a, b = first.right, second.right
        parts = (a & b, a & ~b, ~a & b, ~a & ~b)
        return cls(*(np.flatnonzero(part) for part in parts))

    @property
    def chance(self) -> float:
        """The probability, 0 to 1, of a split at least as uneven if both models were equally good.

        From the exact McNemar test.
        """
        few, many = sorted((len(self.only_first), len(self.only_second)))
        total = few + many
        tail = sum(math.comb(total, k) for k in range(few + 1))
        return min(1.0, 2 * tail / 2**total)


def most_complementary(runs: Sequence[FinishedRun]) -> tuple[FinishedRun, FinishedRun]:
    """The best run by macro F1, and the run that is right most often where the best is wrong.

    Raises `DataError` if there is only one run.
    """
    if len(runs) < 2:
        raise DataError("there is only one run: two are needed for a comparison")
    best = max(runs, key=lambda run: run.macro_f1)
    others = [run for run in runs if run is not best]
    return best, max(others, key=lambda run: int((run.right & ~best.right).sum()))


def telling(pair: tuple[FinishedRun, FinishedRun], positions: np.ndarray, most: int) -> np.ndarray:
    """int64 (at most `most`,): the positions at which both models are most confident."""
    sure = sum(run.probabilities.max(axis=1)[positions] for run in pair)
    return positions[np.argsort(-sure, kind="stable")][:most]


@dataclass(frozen=True)
class Photos:
    """The photos of the runs' validation set, found by id."""

    names: Sequence[str]
    split: Split | None = None
    missing: str = ""

    def of(self, run: FinishedRun, chosen: np.ndarray) -> np.ndarray:
        """uint8 (n, size, size, 3): the photos at the positions `chosen` of an aligned run.

        Raises `DataError` if the photos are missing.
        """
        if self.split is None:
            raise DataError(self.missing)
        _, ids = self.split.labels_and_ids()
        return self.split.sample(positions(run.ids[chosen], ids)).images


def photos(run: FinishedRun, data: str = "") -> Photos:
    """The photos that a run was validated on; if they cannot be found, `missing` says why.

    `data`: as the notebooks' parameter of that name; "" = the run's own.
    """
    classes_ = run.probabilities.shape[1]
    names = (
        classes.CLASSES
        if classes_ == len(classes.CLASSES)
        else map("class {}".format, range(classes_))
    )
    try:
        size = int(run.metrics["data"]["image_size"])
        source = find_source((data or str(run.parameter("data"))).split(",")[0], size)
        split = Split.find(source.root, size, "val")
        if run.parameter("validation") != "val":  # any of the labelled images may have validated
            train = Split.find(source.root, size, "train")
            split = Split(train.paths + split.paths, size, train.count + split.count)
        absent = set(run.ids.tolist()) - set(split.labels_and_ids()[1].tolist())
        if absent or len(source.class_names) != classes_:
            raise DataError(f"{source} does not contain the photos that the runs were validated on")
    except (DataError, KeyError, TypeError) as error:
        return Photos(tuple(names), missing=f"no pictures: {error}")
    return Photos(source.class_names, split)
