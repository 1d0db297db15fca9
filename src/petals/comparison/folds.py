"""The runs of all folds of one recipe, joined into one run that was validated on every image."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from petals.comparison.finished_run import FinishedRun
from petals.settings import fold_of

OWN = ("validation", "output")  # parameters in which the runs of one cross-validation differ
SUMS = ("seconds",)
MEANS = ("first_epoch_seconds", "later_epoch_seconds", "images_per_second")


def joined(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs, with each complete cross-validation among them as one.

    Complete: one run per fold, with every other parameter the same. Where a fold is missing the
    runs stay as they are; of two runs of one fold the last by name counts.
    """
    groups: dict[tuple[int, str], dict[int, FinishedRun]] = defaultdict(dict)
    alone, whole = [], []
    for run in sorted(runs, key=lambda run: run.name):
        if fold := fold_of(str(run.parameter("validation"))):
            recipe = {k: v for k, v in run.metrics["parameters"].items() if k not in OWN}
            groups[fold[1], json.dumps(recipe, sort_keys=True)][fold[0]] = run
        else:
            alone.append(run)
    for (folds, _), members in groups.items():
        if len(members) == folds and _disjoint(list(members.values())):
            whole.append(_join([members[fold] for fold in sorted(members)]))
        else:
            alone += members.values()
    return [*whole, *alone]


def _disjoint(members: Sequence[FinishedRun]) -> bool:
    ids = [id_ for run in members for id_ in run.ids.tolist()]
    widths = {run.probabilities.shape[1] for run in members}
    return len(set(ids)) == len(ids) and len(widths) == 1


def _join(members: Sequence[FinishedRun]) -> FinishedRun:
    first = members[0]
    metrics: dict[str, Any] = dict(first.metrics)
    for names, mean in ((SUMS, sum), (MEANS, fmean)):
        for name in names:
            values = [run.metrics.get(name) for run in members]
            measured = [value for value in values if value is not None]
            metrics[name] = mean(measured) if len(measured) == len(members) else None
    metrics["parameters"] = {**first.metrics["parameters"], "validation": "folds"}
    ids, labels, probabilities = (
        np.concatenate([getattr(run, name) for run in members])
        for name in ("ids", "labels", "probabilities")
    )
    return replace(
        first,
        name=f"{first.name} to {members[-1].name} ({len(members)} folds)",
        path=Path(),
        metrics=metrics,
        ids=ids,
        labels=labels,
        probabilities=probabilities,
        members=tuple(members),
    )
