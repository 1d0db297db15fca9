"""The runs that a report compares its own with, and whether chance could make their difference."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.pages.shared import ending, trail
from kernelkit.runs import claims, run_folder, run_state
from kernelkit.scores.evaluation import Evaluation
from kernelkit.scores.metrics import Metrics
from kernelkit.shown import Shown


@dataclass(frozen=True)
class JudgedRun(Evaluation):
    """A run that is judged: what it measured, and its score (nan if it has none).

    `reached_end`: whether all of its notebook ran.
    """

    folder: Path = Path()
    score: float = math.nan
    reached_end: bool = False

    @property
    def scored(self) -> bool:
        """Whether it has a score."""
        return not math.isnan(self.score)


def judge(folder: Path, metrics: Metrics, measure: str, ended: ending.Ending) -> JudgedRun:
    """The run in a folder, with its score by this measure."""
    measured = Evaluation.of(folder, metrics, measure)
    score = measured.metrics.get(measure, math.nan)
    return JudgedRun(**vars(measured), folder=folder, score=score, reached_end=ended.reached)


def runs_beside(folder: Path, shown: Shown) -> list[JudgedRun]:
    """The runs in the folder above that this one can be compared with, in the order of their ends.

    They are of the same notebook or the same sweep, reached their ends, were validated on the same
    data, and have a score if this one has.
    """
    here = folder.resolve()
    in_a_sweep = trail.sweep_of(folder) is not None
    notebook, run = _known(here, shown.score, run_folder.written(here))
    if notebook is None and not in_a_sweep:
        return []
    found = []
    for other in here.parent.iterdir():
        if other == here or not run_folder.is_run(other):
            continue
        its_notebook, its_run = _known(other, shown.score, run_folder.written(other))
        is_of_same = in_a_sweep or its_notebook == notebook
        is_alike = its_run.content == run.content and its_run.scored == run.scored
        if is_of_same and is_alike and its_run.reached_end:
            found.append(its_run)
    return sorted(found, key=lambda run: run.when)


def last_before(run: JudgedRun, others: Sequence[JudgedRun]) -> JudgedRun | None:
    """The last of the others that ended before this one; None without one."""
    earlier = [other for other in others if other.when <= run.when]
    return earlier[-1] if earlier else None


def best(runs: Sequence[JudgedRun], shown: Shown) -> JudgedRun:
    """The one of at least one run with the best score."""
    choose = min if shown.minimize else max
    return choose(runs, key=lambda run: run.score)


def is_better(score: float, than: float, shown: Shown) -> bool:
    """Whether a score is better than another one."""
    return score < than if shown.minimize else score > than


def is_noise(run: JudgedRun, other: JudgedRun) -> bool | None:
    """Whether chance alone could make the difference of two scores; None if that is not known."""
    if not run.interval or not other.interval:
        return None
    # Half widths of two intervals add up as those of independent errors do. Scores on the same
    # photos are not independent, so a difference beyond this is safely more than noise.
    noise = math.hypot(_half_width(run.interval), _half_width(other.interval))
    if not noise:
        return None
    return abs(run.score - other.score) <= noise


def _half_width(interval: tuple[float, ...]) -> float:
    low, high = interval
    return (high - low) / 2


@functools.lru_cache(maxsize=10_000)
def _known(folder: Path, measure: str, _written: float) -> tuple[object, JudgedRun]:
    """What tells a run's notebook, and the run; read once while many reports are made.

    `_written`: when its newest file was written, in seconds since 1970.
    """
    metrics = Metrics.of_run(folder, measure)
    ended = ending.of_run(folder, metrics)
    return _notebook(folder), judge(folder, metrics, measure, ended)


def _notebook(folder: Path) -> object:
    """What runs of one notebook have in common, at home or on Kaggle; None if it is not known."""
    notebook = run_state.read(folder).notebook
    push = claims.owner_of(folder)
    if push:
        return notebook, push.kernel, push.rehearsal
    return notebook or None
