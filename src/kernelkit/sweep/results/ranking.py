"""Which configurations are best, and which runs keep their large files for that.

Scores are compared only where they were measured on the same data.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun
from kernelkit.pages.shared import naming
from kernelkit.sweep import sweep_folder


@dataclass(frozen=True)
class Best:
    """The setting with the best mean score over its seeds, and that mean.

    `verified`: whether the scores of all its runs are.
    """

    setting: str
    score: float
    verified: bool


def best(page: RunsPage) -> Best | None:
    """The best setting on the data on which most settings were validated.

    None without a score, or if there are several settings and no two were validated on the same
    data.
    """
    runs = scored(page)
    score = page.shown.score
    of_data = [_means(own, score) for own in _by_data(runs)]
    compared = max(of_data, key=len, default=[])
    if not compared:
        return None
    if len(compared) == 1 and len(_by_setting(runs)) > 1:
        return None
    choose = min if page.shown.minimize else max
    return choose(compared, key=lambda mean: mean.score)


def keep_best(page: RunsPage, counts: Mapping[str, int]) -> None:
    """Keep large files, such as trained models, only of the best runs on each data set.

    `counts`: {file name: of how many runs it is kept}. An unfinished run, or one without a score,
    keeps its files.
    """
    score, minimize = page.shown.score, page.shown.minimize
    done = [run for run in scored(page) if run.state == sweep_folder.DONE]
    for own in _by_data(done):
        ranked = sorted(own, key=lambda run: run.metrics[score], reverse=not minimize)
        for name, count in counts.items():
            for run in ranked[count:]:
                sweep_folder.remove(page.folder / run.id / name)


def scored(page: RunsPage) -> list[ShownRun]:
    """The runs with a score: those that ended, and those that their time limit stopped."""
    return [run for run in page.runs if page.shown.score in run.metrics]


def _by_data(runs: Iterable[ShownRun]) -> list[list[ShownRun]]:
    """The runs in groups of those that were validated on the same data."""
    groups = defaultdict(list)
    for run in runs:
        groups[run.content].append(run)
    return list(groups.values())


def _by_setting(runs: Iterable[ShownRun]) -> list[list[ShownRun]]:
    """The runs in groups of those whose parameters differ in the seed alone."""
    groups = defaultdict(list)
    for run in runs:
        groups[json.dumps(_setting(run))].append(run)
    return list(groups.values())


def _setting(run: ShownRun) -> dict[str, Any]:
    return {name: value for name, value in run.parameters.items() if name != naming.SEED}


def _means(runs: Iterable[ShownRun], score: str) -> list[Best]:
    """Each setting of these runs with its mean score."""
    means = []
    for own in _by_setting(runs):
        mean = statistics.fmean(run.metrics[score] for run in own)
        is_verified = not any(run.unverified for run in own)
        means.append(Best(naming.setting_text(_setting(own[0])), mean, is_verified))
    return means
