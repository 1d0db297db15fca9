"""Finished runs: read back from their folders, joined by folds, and ranked."""

from __future__ import annotations

import json
import os
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape, glob
from pathlib import Path
from typing import Any

import numpy as np

from petals.errors import DataError
from petals.evaluation.metrics import Scores
from petals.kaggle import mounts, on_kaggle, runs_folder
from petals.settings import fold_of
from petals.tables import Table

AUTO = "auto"
LEFT_BY_A_RUN = ("metrics.json", "val_predictions.npz")
DAMAGE = (OSError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile)
# Parameters in which runs of one recipe may differ
OWN = ("validation", "output")


@dataclass(frozen=True)
class FinishedRun:
    """A finished run; `metrics` as in metrics.json.

    `ids` (n,) str in ascending order, `labels` (n,) int64 and `probabilities` float32 (n, classes)
    are those of the validation set. `members`: the runs of all folds if this stands for a
    cross-validation, whose validation images are those of all members, each predicted by the member
    that did not train on it.
    """

    name: str
    path: Path
    metrics: Mapping[str, Any]
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

    @property
    def photos(self) -> tuple[Any, ...]:
        """What runs need to have in common to be comparable: ids, labels, number of classes."""
        return (*self.ids.tolist(), *self.labels.tolist(), self.probabilities.shape[1])

    def parameter(self, name: str) -> Any:
        """The value of a parameter of the run's notebook; None if it has no such parameter."""
        return self.metrics["parameters"].get(name)

    def test_predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Test ids (n,) str, ascending, and probabilities float32 (n, classes); the folds' mean.

        Raises `DataError` if the run did not keep them, or if members predicted different images.
        """
        if self.members:
            return mean_predictions([(member, 1.0) for member in self.members])
        try:
            ids, probabilities = _arrays(self.path / "test_predictions.npz", "probabilities")
        except DAMAGE as error:
            raise DataError(
                f"{self.name} has no test probabilities ({error}): run it again, or name the other "
                "runs in runs=..."
            ) from None
        return ids, probabilities


def mean_predictions(
    weighted: Sequence[tuple[FinishedRun, float]],
) -> tuple[np.ndarray, np.ndarray]:
    """Test ids (n,) str, ascending, and the weighted mean of test probabilities (n, classes).

    Raises `DataError` if a run did not keep its own, or if the runs' test images differ.
    """
    predictions = [run.test_predictions() for run, _ in weighted]
    ids = predictions[0][0]
    if not all(np.array_equal(ids, other) for other, _ in predictions):
        names = ", ".join(run.name for run, _ in weighted)
        raise DataError(f"these runs predicted different test images: {names}")
    weights = [weight for _, weight in weighted]
    return ids, np.average([rows for _, rows in predictions], axis=0, weights=weights)


def read(pattern: str) -> tuple[list[FinishedRun], list[str]]:
    """The runs in all folders that match, best first, and a line for each that cannot be compared.

    `pattern`: globs of run folders, separated by commas; `**` matches folders at any depth. "auto"
    means `runs/*` of the repository, and on Kaggle every attached output that contains a run.
    Folders without any file of a run are ignored, and the runs of all folds of one recipe become
    one run. Scores on different images cannot be compared: only the largest group of runs that were
    validated on the same ones is returned. Raises `DataError` if no run can be read.
    """
    folders = _folders(pattern)
    common = os.path.commonpath([folder.parent for folder in folders] or [Path("/")])
    runs, skipped = [], []
    for folder in folders:
        name = folder.relative_to(common).as_posix()
        try:
            runs.append(_read(folder, name))
        except FileNotFoundError as error:
            missing = Path(error.filename).name
            skipped.append(f"{name}: no {missing}, so the run did not finish")
        except DAMAGE as error:
            skipped.append(f"{name}: damaged: {error!r}")
    if not runs:
        attach = "attach kernels whose last version left a run: kernel_sources in the metadata"
        make = "make one with kernelkit run notebooks/02_train.py"
        lines = [f"no run in {pattern!r} (from {Path.cwd()})", *skipped]
        raise DataError("\n  ".join([*lines, attach if on_kaggle() else make]))
    groups: dict[tuple[Any, ...], list[FinishedRun]] = defaultdict(list)
    for run in joined(runs):
        groups[run.photos].append(run)
    comparable, *others = sorted(
        groups.values(), key=lambda group: (len(group), len(group[0].ids)), reverse=True
    )
    skipped += [
        f"{run.name}: validated on {len(run.ids):,} other photos of {run.probabilities.shape[1]} "
        "classes; to compare such runs, name them in runs=..."
        for group in others
        for run in group
    ]
    return sorted(comparable, key=lambda run: -run.macro_f1), skipped


def _folders(pattern: str) -> list[Path]:
    """The folders with a file of a run; a session may mount an input in two places."""
    place = f"{escape(str(mounts()))}/**" if on_kaggle() else f"{escape(str(runs_folder()))}/*"
    folders = {
        Path(match).resolve()
        for part in ([place] if pattern == AUTO else pattern.split(","))
        for match in glob(part.strip(), recursive=True)  # noqa: PTH207 - takes absolute globs
    }
    return sorted(f for f in folders if any((f / name).is_file() for name in LEFT_BY_A_RUN))


def _read(folder: Path, name: str) -> FinishedRun:
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
    if not all(isinstance(metrics[name], dict) for name in ("parameters", "device", "data")):
        raise ValueError("metrics.json is not that of a run")
    ids, labels, rows = _arrays(folder / "val_predictions.npz", "labels", "probabilities")
    file = "val_predictions.npz"
    if not len(ids):
        raise ValueError(f"{file} has no images")
    if len(set(ids.tolist())) < len(ids):
        raise ValueError(f"{file} contains an id twice")
    if not np.isfinite(rows).all():
        raise ValueError(f"{file} contains probabilities that are not finite")
    if not 0 <= labels.min() <= labels.max() < rows.shape[1]:
        raise ValueError(f"{file} contains labels outside its classes")
    return FinishedRun(name, folder, metrics, ids, labels.astype(np.int64), rows)


def _arrays(path: Path, *names: str) -> tuple[np.ndarray, ...]:
    """The ids of an .npz file in ascending order, and its arrays of these names, in that order."""
    # A file that numpy opens itself stays open if it turns out to be damaged.
    with path.open("rb") as file, np.load(file) as stored:
        ids = stored["ids"].astype(str)
        arrays = [stored[name] for name in names]
    if {len(array) for array in arrays} != {len(ids)}:
        raise ValueError(f"{path.name} contains arrays of different lengths")
    order = np.argsort(ids)
    return ids[order], *(array[order] for array in arrays)


def joined(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs, with each complete cross-validation among them joined into one run.

    It is complete if every fold has a run and all other parameters are the same. If a fold is
    missing, its runs stay single. If a fold has two runs, the last by name counts.
    """
    recipes: dict[tuple[int, str], dict[int, FinishedRun]] = defaultdict(dict)
    result = []
    for run in sorted(runs, key=lambda run: run.name):
        if fold := fold_of(str(run.parameter("validation"))):
            recipe = {k: v for k, v in run.metrics["parameters"].items() if k not in OWN}
            recipes[fold[1], json.dumps(recipe, sort_keys=True)][fold[0]] = run
        else:
            result.append(run)
    for (folds, _), members in recipes.items():
        group = [members[fold] for fold in sorted(members)]
        ids = np.concatenate([run.ids for run in group])
        classes = {run.probabilities.shape[1] for run in group}
        whole = len(group) == folds and len(set(ids)) == len(ids) and len(classes) == 1
        result += [_join(group)] if whole else group
    return result


def _join(members: Sequence[FinishedRun]) -> FinishedRun:
    first = members[0]
    ids = np.concatenate([run.ids for run in members])
    order = np.argsort(ids)
    metrics = {
        **first.metrics,
        "seconds": sum(run.metrics.get("seconds") or 0 for run in members),
        "parameters": {**first.metrics["parameters"], "validation": "folds"},
    }
    return replace(
        first,
        name=f"{first.name} to {members[-1].name} ({len(members)} folds)",
        metrics=metrics,
        ids=ids[order],
        labels=np.concatenate([run.labels for run in members])[order],
        probabilities=np.concatenate([run.probabilities for run in members])[order],
        members=tuple(members),
    )


def ranking(runs: Sequence[FinishedRun]) -> Table:
    """A row for each run, in the given order: scores, the parameters that differ, size and times.

    Times by epoch are those of the last phase; of a cross-validation, those of its first fold.
    """
    names = dict.fromkeys(name for run in runs for name in run.metrics["parameters"])
    differing = [
        name
        for name in names
        if name != "output" and len({repr(run.parameter(name)) for run in runs}) > 1
    ]
    rows = []
    for run in runs:
        device = run.metrics["device"]
        rows.append(
            {
                "run": run.name,
                "macro F1": run.macro_f1,
                "accuracy": float(run.right.mean()),
                **{name: run.parameter(name) for name in differing},
                "parameters": run.metrics.get("total_params"),
                "trainable": run.metrics.get("trainable_params"),
                "minutes": (run.metrics.get("seconds") or 0) / 60,
                "first epoch, s": run.metrics.get("first_epoch_seconds"),
                "later epochs, s": run.metrics.get("later_epoch_seconds"),
                "images/s": run.metrics.get("images_per_second"),
                "device": f"{device.get('replicas', 1)} × {device.get('name', '?')}",
            }
        )
    return Table(rows)
