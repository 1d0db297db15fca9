"""A run read back from its folder, or a cross-validation read back from several."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from petals.errors import DataError
from petals.evaluation.metrics import Scores


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: `metrics` as in metrics.json; `history`: one dict of floats per epoch.

    `ids` (n,) str, `labels` (n,) int64 and `probabilities` float32 (n, classes) are those of the
    validation set. `members`: the runs of all folds if this stands for a cross-validation, whose
    validation images are those of all members, each predicted by the member that did not train on
    it.
    """

    name: str
    path: Path
    metrics: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    ids: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    members: tuple[FinishedRun, ...] = ()

    @property
    def macro_f1(self) -> float:
        """Macro F1 on the validation set, 0 to 1, computed from the predictions."""
        return Scores.of(self.labels, self.probabilities).macro_f1

    @property
    def right(self) -> np.ndarray:
        """bool (n,): which validation images were classified correctly."""
        return self.probabilities.argmax(axis=1) == self.labels

    def parameter(self, name: str) -> Any:
        """The value of a parameter of the run's notebook; None if it has no such parameter."""
        return self.metrics["parameters"].get(name)

    def test_predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Test ids (n,) str and probabilities float32 (n, classes); the mean over folds.

        Raises `DataError` if the run did not keep them, or if members predicted different images.
        """
        if self.members:
            return mean_predictions([(member, 1.0) for member in self.members])
        try:
            stored = arrays(self.path / "test_predictions.npz", ("ids", "probabilities"))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{self.name} has no test probabilities ({error}): run it again with this version "
                "of the kit, or submit a single run"
            ) from None
        return stored["ids"].astype(str), stored["probabilities"]


def mean_predictions(
    weighted: Sequence[tuple[FinishedRun, float]],
) -> tuple[np.ndarray, np.ndarray]:
    """Test ids (n,) str and the weighted mean of runs' test probabilities (n, classes).

    Raises `DataError` if a run did not keep its own, or if the runs' test images differ.
    """
    first, ids = weighted[0][0], weighted[0][0].test_predictions()[0]
    total: Any = 0.0
    for run, weight in weighted:
        own_ids, rows = run.test_predictions()
        if set(own_ids) != set(ids):
            raise DataError(f"{run.name} and {first.name} predicted different test images")
        total = total + weight * rows[positions(ids, own_ids)]
    return ids, total / sum(weight for _, weight in weighted)


def positions(ids: np.ndarray, among: np.ndarray) -> list[int]:
    """The position of each of the `ids` among others; raises `KeyError` for one that is missing."""
    at = {id: position for position, id in enumerate(among.tolist())}
    return [at[id] for id in ids.tolist()]


def arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; raises `KeyError` for one that it lacks."""
    # A file that numpy opens itself stays open if it turns out to be damaged.
    with path.open("rb") as file, np.load(file) as stored:
        return {name: stored[name] for name in names}
