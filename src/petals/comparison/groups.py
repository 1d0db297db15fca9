"""Which runs can be compared, and how they are named; the folds of one recipe as one run."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from petals.comparison.finished_run import FinishedRun, positions
from petals.settings import fold_of

MOST_NAMED = 4  # parameters in a name
_MADE_UP = re.compile(r"[0-9a-f]{12}|.+-\d{4}-\d{6}(-\d+)?")  # a sweep's id, a name with a time
OWN = ("validation", "output")  # parameters in which the runs of one cross-validation differ
SUMS = ("seconds",)
ARRAYS = ("ids", "labels", "probabilities")
MEANS = ("first_epoch_seconds", "later_epoch_seconds", "images_per_second")


def largest(runs: Sequence[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    """The largest group of runs validated on the same photos, and a line about each other run.

    Scores on different photos cannot be compared. Among groups of the same size, the one with more
    photos is chosen. The arrays of the runs are in the same order.
    """
    groups: dict[tuple, list[FinishedRun]] = defaultdict(list)
    for run in runs:
        order = np.argsort(run.ids)
        key = (tuple(run.ids[order]), tuple(run.labels[order]), run.probabilities.shape[1])
        groups[key].append(run)
    key = max(groups, key=lambda key: (len(groups[key]), len(key[0])))
    others = [
        f"{run.name}: validated on {len(run.ids):,} other photos of "
        f"{run.probabilities.shape[1]} classes; to compare such runs, name them in runs=..."
        for other in groups
        if other != key
        for run in groups[other]
    ]
    comparable = []
    for run in groups[key]:
        places = positions(groups[key][0].ids, run.ids)
        comparable.append(replace(run, **{name: getattr(run, name)[places] for name in ARRAYS}))
    return comparable, others


def named(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs, named by what differs between them if a folder's name is a hash or a time.

    A name that a person chose stays. So does the folder's name if two runs would get the same name.
    """
    parameters = dict.fromkeys(name for run in runs for name in run.metrics["parameters"])
    differ = [name for name in differing(runs, tuple(parameters)) if name != "output"]
    names = [_name(run, differ) for run in runs]
    for name in [name for name, runs_of_it in Counter(names).items() if runs_of_it > 1]:
        alike = [n for n, other in enumerate(names) if other == name]
        own = differing([runs[n] for n in alike], differ[MOST_NAMED:])
        for n in alike:  # by what differs among these few, too
            names[n] = _name(runs[n], [*differ[:MOST_NAMED], *own], MOST_NAMED + len(own))
    counts = Counter(names)
    return [
        replace(run, name=name) if counts[name] == 1 else run
        for run, name in zip(runs, names, strict=True)
    ]


def differing(runs: Sequence[FinishedRun], names: Sequence[str]) -> list[str]:
    """The parameters among `names` whose values differ between the runs."""
    return [name for name in names if len({repr(run.parameter(name)) for run in runs}) > 1]


def _name(run: FinishedRun, differ: Sequence[str], most: int = MOST_NAMED) -> str:
    if not differ or not _MADE_UP.fullmatch(run.path.resolve().name):
        return run.name
    settings = " ".join(f"{name}={_text(run.parameter(name))}" for name in differ[:most])
    return settings + (f" and {len(differ) - most} more" if len(differ) > most else "")


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def joined(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs, with each complete cross-validation among them joined into one run.

    It is complete if every fold has a run and all other parameters are the same. If a fold is
    missing, its runs stay single. If a fold has two runs, the last by name counts.
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
        runs_of_it = [members[fold] for fold in sorted(members)]
        ids = np.concatenate([run.ids for run in runs_of_it])
        classes = {run.probabilities.shape[1] for run in runs_of_it}
        if len(members) == folds and len(set(ids)) == len(ids) and len(classes) == 1:
            whole.append(_join(runs_of_it))
        else:
            alone += runs_of_it
    return [*whole, *alone]


def _join(members: Sequence[FinishedRun]) -> FinishedRun:
    first = members[0]
    metrics: dict[str, Any] = dict(first.metrics)
    for names, mean in ((SUMS, sum), (MEANS, fmean)):
        for name in names:
            values = [run.metrics.get(name) for run in members]
            measured = [value for value in values if value is not None]
            metrics[name] = mean(measured) if len(measured) == len(members) else None
    metrics["parameters"] = {**first.metrics["parameters"], "validation": "folds"}
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(run, name) for run in members]) for name in ARRAYS
    }
    return replace(
        first,
        name=f"{first.name} to {members[-1].name} ({len(members)} folds)",
        path=Path(),
        metrics=metrics,
        members=tuple(members),
        **arrays,
    )
