"""Which configurations are best, and which runs keep their large files for that."""

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

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
    """The best setting of the runs with a score on the data that most were validated on.

    None without a score, and where no two settings were validated on the same data.
    """
    of_setting: dict[str, list[ShownRun]] = defaultdict(list)
    for run in scored(page):
        setting = {name: value for name, value in run.parameters.items() if name != naming.SEED}
        of_setting[json.dumps(setting)].append(run)
    of_data: dict[str, list[Best]] = defaultdict(list)
    for text, own in of_setting.items():
        mean = Best(
            naming.setting_text(json.loads(text)),
            statistics.fmean(run.metrics[page.shown.score] for run in own),
            not any(run.unverified for run in own),
        )
        of_data[own[0].content].append(mean)
    compared = max(of_data.values(), key=len, default=[])
    if not compared or len(compared) == 1 < len(of_setting):
        return None
    choose = min if page.shown.minimize else max
    return choose(compared, key=lambda mean: mean.score)


def keep_best(page: RunsPage, counts: Mapping[str, int]) -> None:
    """Keep large files, such as trained models, only of the best runs: {file name: runs}.

    An unfinished run, or one without a score, keeps its files.
    """
    score, minimize = page.shown.score, page.shown.minimize
    done = [run for run in scored(page) if run.state == sweep_folder.DONE]
    ranked = sorted(done, key=lambda run: run.metrics[score], reverse=not minimize)
    for name, count in counts.items():
        for run in ranked[count:]:
            sweep_folder.remove(page.folder / run.id / name)


def scored(page: RunsPage) -> list[ShownRun]:
    """The runs with a score: those that ended, and those that their time limit stopped."""
    return [run for run in page.runs if page.shown.score in run.metrics]
