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
    """A finished run: `metrics` as in metrics.json; history: one dict of floats per epoch.

    ids (n,) str, labels (n,) int64 and probabilities float32 (n, classes) are of the
    validation set. `members`: the runs of all folds, where this stands for a cross-validation: its
    validation images are those of all members, each told by the member that had not seen it.
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
        """On the validation set, computed from the predictions."""
        return Scores.of(self.labels, self.probabilities).macro_f1

    @property
    def right(self) -> np.ndarray:
        """bool (n,): which validation images were classified right."""
        return self.probabilities.argmax(axis=1) == self.labels

    def parameter(self, name: str) -> Any:
        """A parameter of the run's notebook; None where it had none of that name."""
        return self.metrics["parameters"].get(name)

    def test_predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Test ids (n,) and probabilities (n, classes), of folds their mean.

        Raises `DataError` when they are not kept, or when members predicted different images.
        """
        if self.members:
            return mean_predictions([(member, 1.0) for member in self.members])
        try:
            stored = arrays(self.path / "test_predictions.npz", ("ids", "probabilities"))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{self.name} keeps no test probabilities ({error}): run it again with this "
                "version of the kit, or submit a single run"
            ) from None
        return stored["ids"].astype(str), stored["probabilities"]


def mean_predictions(
    weighted: Sequence[tuple[FinishedRun, float]],
) -> tuple[np.ndarray, np.ndarray]:
    """Test ids (n,) and the weighted mean of runs' test probabilities (n, classes).

    Raises `DataError` when a run keeps none, or the runs' test images differ.
    """
    first, ids = weighted[0][0], weighted[0][0].test_predictions()[0]
    total: Any = 0.0
    for run, weight in weighted:
        own_ids, rows = run.test_predictions()
        at = {id_: place for place, id_ in enumerate(own_ids.tolist())}
        if set(at) != set(ids.tolist()):
            raise DataError(f"{run.name} and {first.name} predicted different test images")
        total = total + weight * rows[[at[id_] for id_ in ids.tolist()]]
    return ids, total / sum(weight for _, weight in weighted)


def arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; raises `KeyError` for one that it lacks."""
    # A file that numpy opens itself stays open when it turns out to be damaged
    with path.open("rb") as file, np.load(file) as stored:
        return {name: stored[name] for name in names}
