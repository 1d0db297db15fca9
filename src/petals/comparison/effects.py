"""The effect of a setting on the score, from runs that differ only in that setting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from petals.comparison.finished_run import FinishedRun
from petals.comparison.groups import differing
from petals.tables import Table

AXES: dict[str, tuple[str, ...]] = {
    "image size": ("image_size",),
    "backbone": ("backbone", "fine_tune"),
    "head": ("head", "views"),
    "augmentation": ("augment", "mix"),
    "regularisation": ("dropout", "label_smoothing", "weight_decay"),
    "learning rate": ("schedule", "learning_rate"),
}
# Runs that differ only in these have the same recipe.
NO_MATTER = (
    "seed",
    "output",
    "data",
    "accelerator",
    "dtype",
    "time_limit",
    "resume",
)
NOISE = 0.008  # the difference in macro F1 between repeats of one recipe in public notebooks


@dataclass(frozen=True)
class Effect:
    """The effect of one axis: `groups` of runs whose other settings are all equal.

    Each group is {setting: [macro F1 of its runs]}. If no two runs differ in this axis alone,
    `fair` is False, and the only group contains all runs. `numbers`: {setting: its value} if the
    axis is a single number, else empty.
    """

    axis: str
    fair: bool
    groups: tuple[dict[str, list[float]], ...]
    numbers: dict[str, float]

    @property
    def settings(self) -> list[str]:
        """The settings in ascending order: numbers by value, others by their mean score."""
        means = self._means
        return sorted(means, key=lambda setting: self.numbers.get(setting, means[setting]))

    @property
    def best(self) -> str:
        """The setting with the highest mean score."""
        return max(self._means, key=self._means.__getitem__)

    @property
    def _means(self) -> dict[str, float]:
        scores: dict[str, list[float]] = defaultdict(list)
        for group in self.groups:
            for setting, values in group.items():
                scores[setting] += values
        return {setting: fmean(values) for setting, values in scores.items()}

    @property
    def largest_difference(self) -> float:
        """The largest difference in macro F1 between two settings' means in the same group."""
        means = [[fmean(values) for values in group.values()] for group in self.groups]
        return max(max(values) - min(values) for values in means)


def effect(runs: Sequence[FinishedRun], axis: str) -> Effect | None:
    """The effect of an axis; None if all runs have the same setting.

    Raises `KeyError` for an axis that is not in `AXES`.
    """
    names = differing(runs, AXES[axis])
    if not names:
        return None
    alike: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    everything: dict[str, list[float]] = defaultdict(list)
    numbers: dict[str, float] = {}
    for run in runs:
        setting = ", ".join(_message(name, run.parameter(name)) for name in names)
        alike[_all_else(run, axis)][setting].append(run.macro_f1)
        everything[setting].append(run.macro_f1)
        if len(names) == 1 and type(value := run.parameter(names[0])) in (int, float):
            numbers[setting] = value
    numbers = numbers if numbers.keys() == everything.keys() else {}
    fair = [dict(group) for group in alike.values() if len(group) > 1]
    return Effect(axis, bool(fair), tuple(fair) or (dict(everything),), numbers)


def _all_else(run: FinishedRun, axis: str) -> str:
    others = {
        name: value
        for name, value in run.metrics["parameters"].items()
        if name not in AXES[axis] and name not in NO_MATTER
    }
    if "weights" in others:  # each backbone has its own file: only having none is a difference
        others["weights"] = others["weights"] != "none"
    return repr(sorted(others.items()))


def _message(name: str, value: Any) -> str:
    if isinstance(value, str) and name in ("backbone", "schedule"):
        return value
    if isinstance(value, float):
        value = float(f"{value:.4g}")  # a search proposes sixteen digits
    return f"{name} {value}"


def summary(effects: Sequence[Effect]) -> Table:
    """A row for each setting: its runs, their mean macro F1 and its deviation, the comparison."""
    rows = []
    for effect in effects:
        for number, group in enumerate(effect.groups, 1):
            for setting, values in sorted(group.items(), key=lambda item: -fmean(item[1])):
                rows.append(
                    {
                        "axis": effect.axis,
                        "comparison": number if effect.fair else "not alone",
                        "setting": setting,
                        "runs": len(values),
                        "macro F1": fmean(values),
                        "±": stdev(values) if len(values) > 1 else None,
                    }
                )
    return Table.of(rows)


def verdict(effect: Effect) -> dict[str, str]:
    """The row of an axis in a table that concludes no more than the runs show."""
    if not effect.fair:
        follows = "nothing: no two runs differ only in it"
    elif effect.largest_difference <= NOISE:
        follows = f"nothing: repeats of one recipe differ by ± {NOISE}"
    else:
        repeats = min(len(values) for group in effect.groups for values in group.values())
        follows = "it matters" if repeats >= 3 else "a hint: fewer than 3 repeats of each setting"
    return {
        "axis": effect.axis,
        "largest difference": f"{effect.largest_difference:.3f}",
        "best": effect.best,
        "what follows": follows,
    }
