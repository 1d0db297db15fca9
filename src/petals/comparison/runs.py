"""Finished runs: read back from their folders, joined by folds, and ranked."""

from __future__ import annotations

import json
import os
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import escape, glob
from pathlib import Path
from typing import Any

import numpy as np

from petals.errors import DataError, listed
from petals.evaluation.intervals import Intervals
from petals.evaluation.metrics import Scores
from petals.kaggle import mounts, on_kaggle, runs_folder
from petals.settings import fold_of
from petals.tables import Table

AUTO = "auto"
LEFT_BY_A_RUN = ("metrics.json", "val_predictions.npz")
TEST_PREDICTIONS = "test_predictions.npz"
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

    @cached_property
    def intervals(self) -> Intervals:
        """The intervals of the scores, computed from the predictions."""
        return Intervals.of(self.labels, self.probabilities)

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

    @property
    def has_all_test_photos(self) -> bool:
        """Whether it predicted all test photos: `limit` leaves some out, and data may have none."""
        if self.members:
            return all(member.has_all_test_photos for member in self.members)
        if not (self.path / TEST_PREDICTIONS).is_file():
            return False
        # Runs of earlier versions do not say it.
        return bool(self.metrics["data"].get("test_complete", not self.parameter("limit")))

    def test_predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Test ids (n,) str, ascending, and probabilities float32 (n, classes); the folds' mean.

        Raises `DataError` if the run did not keep them, or if members predicted different images.
        """
        if self.members:
            return mean_predictions([(member, 1.0) for member in self.members])
        try:
            ids, probabilities = _arrays(self.path / TEST_PREDICTIONS, "probabilities")
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
    one run. Scores on different images cannot be compared: of the groups of runs that were
    validated on the same ones, only that with the most images is returned; of equals, that with the
    most runs. Raises `DataError` if no run can be read.
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
    whole, repeated = joined(runs)
    skipped += repeated
    for run in whole:
        groups[run.photos].append(run)
    comparable, *others = sorted(
        groups.values(), key=lambda group: (len(group[0].ids), len(group)), reverse=True
    )
    for group in others:
        skipped += [_why_not_compared(run, comparable[0]) for run in group]
    return sorted(comparable, key=lambda run: -run.macro_f1), skipped


def _why_not_compared(run: FinishedRun, best: FinishedRun) -> str:
    if np.array_equal(run.ids, best.ids):
        return f"{run.name}: validated on the photos of {best.name}, with other labels or classes"
    classes = run.probabilities.shape[1]
    trial = f", as limit={run.parameter('limit')} says" if run.parameter("limit") else ""
    return (
        f"{run.name}: validated on {len(run.ids):,} other photos of {classes} classes{trial}, and "
        f"{best.name} on {len(best.ids):,}; to compare such runs, name them in runs=..."
    )


def _folders(pattern: str) -> list[Path]:
    """The folders with a file of a run; a session may mount an input in two places."""
    parts = pattern.split(",")
    if pattern == AUTO:
        here = f"{escape(str(mounts()))}/**" if on_kaggle() else f"{escape(str(runs_folder()))}/*"
        parts = [here]
    folders: set[Path] = set()
    for part in parts:
        found = glob(part.strip(), recursive=True)  # noqa: PTH207 - takes absolute globs
        folders.update(Path(match).resolve() for match in found)
    return sorted(
        folder for folder in folders if any((folder / name).is_file() for name in LEFT_BY_A_RUN)
    )


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


def joined(runs: Sequence[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    """The runs, with each complete cross-validation joined into one, and a line for each left out.

    It is complete if every fold has a run, all other parameters are the same, and the folds divide
    the same photos. Else its runs stay single, and a line says why. Of a fold that ran twice, the
    run that ended last counts, and a line says so.
    """
    recipes: dict[tuple[int, str], dict[int, list[FinishedRun]]] = {}
    result = []
    for run in sorted(runs, key=lambda run: (str(run.metrics.get("ended") or ""), run.name)):
        fold = fold_of(str(run.parameter("validation")))
        if not fold:
            result.append(run)
            continue
        number, folds = fold
        recipe = {k: v for k, v in run.metrics["parameters"].items() if k not in OWN}
        key = folds, json.dumps(recipe, sort_keys=True)
        recipes.setdefault(key, {}).setdefault(number, []).append(run)
    lines = []
    for (folds, _), members in recipes.items():
        last = [members[number][-1] for number in sorted(members)]
        lacking = [f"fold:{n}/{folds}" for n in range(1, folds + 1) if n not in members]
        if lacking or not _divide_the_same_photos(last):
            if len(last) > 1:  # a single one needs no others
                lines.append(f"{listed([run.name for run in last])}: {_why_single(lacking)}")
            result += [run for number in sorted(members) for run in members[number]]
            continue
        result.append(_join(last))
        lines += [
            f"{run.name}: {run.parameter('validation')} ran again as {again.name}, which counts"
            for *earlier, again in members.values()
            for run in earlier
        ]
    return result, lines


def _why_single(lacking: Sequence[str]) -> str:
    if not lacking:
        return "compared as single runs, since their folds are not of the same photos"
    return f"compared as single runs, since no run with the same parameters has {listed(lacking)}"


def _divide_the_same_photos(folds: Sequence[FinishedRun]) -> bool:
    """Whether runs of all folds validated on different photos of the same labelled ones."""
    ids = np.concatenate([run.ids for run in folds])
    counts = [run.metrics["data"] for run in folds]
    totals = {(data.get("train") or 0) + (data.get("val") or 0) for data in counts}
    classes = {run.probabilities.shape[1] for run in folds}
    return len(set(ids.tolist())) == len(ids) and len(totals) == len(classes) == 1


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
                "95 %": run.intervals.text("macro_f1"),
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
