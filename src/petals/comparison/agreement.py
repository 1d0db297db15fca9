"""Two models on the same photos: where both, one or neither of them is right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from petals.comparison.runs import FinishedRun
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.data.source import find_source
from petals.errors import DataError

BOTH, FIRST, SECOND, NEITHER = "both correct", "only 1 correct", "only 2 correct", "neither correct"


@dataclass(frozen=True)
class Agreement:
    """Two runs that were validated on the same photos."""

    first: FinishedRun
    second: FinishedRun

    @classmethod
    def of(cls, runs: Sequence[FinishedRun]) -> Agreement:
        """The best run of at least two, and the run that is right most often where it is wrong."""
        best = max(runs, key=lambda run: run.macro_f1)
        others = [run for run in runs if run is not best]
        return cls(best, max(others, key=lambda run: int((run.right & ~best.right).sum())))

    @cached_property
    def positions(self) -> Mapping[str, np.ndarray]:
        """Positions (int64) in the validation set, by which of the two runs was right."""
        first = self.first.right
        second = self.second.right
        parts = {
            BOTH: first & second,
            FIRST: first & ~second,
            SECOND: ~first & second,
            NEITHER: ~first & ~second,
        }
        return {name: np.flatnonzero(part) for name, part in parts.items()}

    @property
    def chance(self) -> float:
        """The probability, 0 to 1, of a split at least as uneven if both models were equally good.

        From the exact McNemar test.
        """
        few, many = sorted((len(self.positions[FIRST]), len(self.positions[SECOND])))
        total = few + many
        tail = sum(math.comb(total, k) for k in range(few + 1))
        return min(1.0, 2 * tail / 2**total)

    def surest(
        self, part: str, photos: Split, names: Sequence[str], most: int
    ) -> tuple[np.ndarray, list[str]]:
        """The photos of a part of which the runs are most confident, with captions.

        uint8 (at most `most`, size, size, 3), from `photos`; a caption has the class and both
        predictions.
        """
        chosen = self.positions[part]
        sure = sum(run.probabilities.max(axis=1)[chosen] for run in (self.first, self.second))
        chosen = chosen[np.argsort(-sure, kind="stable")][:most]
        captions = []
        for i in chosen:
            truth = names[self.first.labels[i]]
            lines = [truth]
            for number, run in enumerate((self.first, self.second), 1):
                guess = names[run.probabilities[i].argmax()]
                shown = "✓" if guess == truth else guess
                lines.append(f"{number}: {shown}")
            captions.append("\n".join(lines))
        place = {id_: at for at, id_ in enumerate(photos.labels_and_ids()[1].tolist())}
        return sample_of(photos, [place[id_] for id_ in self.first.ids[chosen]]).images, captions


def find_photos(run: FinishedRun, data: str = "") -> tuple[Split, Sequence[str]]:
    """The photos that a run was validated on, among others, and the names of their classes.

    `data`: as the notebooks' parameter of that name; "" = the run's own. Raises `DataError` if the
    photos are not there.
    """
    size = int(run.metrics["data"].get("image_size") or 0)
    source = find_source((data or str(run.parameter("data"))).split(",")[0], size)
    labelled = source.splits(size)
    labelled.pop("test", None)
    if run.parameter("validation") == "val":
        labelled.pop("train")
    # Of another validation, any of the labelled images may be part.
    paths = [path for own in labelled.values() for path in own.paths]
    if not paths:
        raise DataError(f"{source} has no validation photos")
    split = next(iter(labelled.values())).holding(paths)
    absent = set(run.ids.tolist()) - set(split.labels_and_ids()[1].tolist())
    if absent or len(source.class_names) != run.probabilities.shape[1]:
        raise DataError(f"{source} does not contain the photos that the runs were validated on")
    return split, source.class_names
