"""Two models on the same photos: where both are right, only one is, or neither."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from petals.comparison.finished_run import FinishedRun
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
        """Of two aligned runs; raises `DataError` when their images are not in one order."""
        if not np.array_equal(first.ids, second.ids):
            raise DataError(f"{first.name} and {second.name} are not aligned: read them together")
        a, b = first.right, second.right
        parts = (a & b, a & ~b, ~a & b, ~a & ~b)
        return cls(*(np.flatnonzero(part) for part in parts))

    @property
    def chance(self) -> float:
        """The probability of so uneven a split if both were equally good (exact McNemar test)."""
        few, many = sorted((len(self.only_first), len(self.only_second)))
        total = few + many
        tail = sum(math.comb(total, k) for k in range(few + 1))
        return min(1.0, 2 * tail / 2**total)


def most_complementary(runs: Sequence[FinishedRun]) -> tuple[FinishedRun, FinishedRun]:
    """The best run, and of the others the one that is right most often where it is wrong.

    Raises `DataError` when there is only one.
    """
    if len(runs) < 2:
        raise DataError("only one run: two models are needed to stand side by side")
    best = max(runs, key=lambda run: run.macro_f1)
    others = [run for run in runs if run is not best]
    return best, max(others, key=lambda run: int((run.right & ~best.right).sum()))


def telling(pair: tuple[FinishedRun, FinishedRun], positions: np.ndarray, most: int) -> np.ndarray:
    """The positions on which both are most confident, each of its own answer."""
    sure = sum(run.probabilities.max(axis=1)[positions] for run in pair)
    return positions[np.argsort(-sure, kind="stable")][:most]


@dataclass(frozen=True)
class Photos:
    """The validation photos behind the runs, found by id."""

    names: Sequence[str]
    split: Split | None = None
    missing: str = ""

    def of(self, run: FinishedRun, positions: np.ndarray) -> np.ndarray:
        """uint8 (n, size, size, 3) photos at positions of an aligned run.

        Raises `DataError` where there are none.
        """
        if self.split is None:
            raise DataError(self.missing)
        _, ids = self.split.labels_and_ids()
        at = {id_: place for place, id_ in enumerate(ids.tolist())}
        return self.split.sample([at[run.ids[i]] for i in positions]).images


def photos(run: FinishedRun, data: str = "") -> Photos:
    """Where a run's photos are; when they are not there, `missing` says why.

    `data`: as in the notebooks' parameter; "" = what the run was given.
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
            raise DataError(f"{source} does not hold the photos that the runs were validated on")
    except (DataError, KeyError, TypeError) as error:
        return Photos(tuple(names), missing=f"no pictures: {error}")
    return Photos(source.class_names, split)
