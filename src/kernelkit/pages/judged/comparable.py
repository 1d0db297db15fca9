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
class Judged(Evaluation):
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


def judged(folder: Path, metrics: Metrics, measure: str, ended: ending.Ending) -> Judged:
    """What is judged of the run in a folder, with its score by this measure."""
    measured = Evaluation.of(folder, metrics, measure)
    score = measured.metrics.get(measure, math.nan)
    return Judged(**vars(measured), folder=folder, score=score, reached_end=ended.reached)


def runs_beside(folder: Path, shown: Shown) -> list[Judged]:
    """The runs in the folder above that this one can be compared with, in the order of their ends.

    They are of the same notebook or the same sweep, reached their ends, were validated on the same
    data, and have a score if this one has.
    """
    here = folder.resolve()
    mine, own = _known(here, shown.score, run_folder.written(here))
    in_a_sweep = trail.sweep_of(folder) is not None
    found = []
    for other in here.parent.iterdir():
        if other == here or not run_folder.is_run(other):
            continue
        identity, measured = _known(other, shown.score, run_folder.written(other))
        alike = measured.content == own.content and measured.scored == own.scored
        if measured.reached_end and alike and (in_a_sweep or (any(mine) and identity == mine)):
            found.append(measured)
    return sorted(found, key=lambda run: run.when)


def last_before(run: Judged, others: Sequence[Judged]) -> Judged | None:
    """The last of the others that ended before this one; None without one."""
    earlier = [other for other in others if other.when <= run.when]
    return earlier[-1] if earlier else None


def best(runs: Sequence[Judged], shown: Shown) -> Judged:
    """The one of at least one run with the best score."""
    choose = min if shown.minimize else max
    return choose(runs, key=lambda run: run.score)


def is_better(score: float, than: float, shown: Shown) -> bool:
    """Whether a score is better than another one."""
    return score < than if shown.minimize else score > than


def is_noise(run: Judged, other: Judged) -> bool | None:
    """Whether chance alone could make the difference of two scores; None if that is not known."""
    if not run.interval or not other.interval:
        return None
    # Half widths of two intervals add up as those of independent errors do. Scores on the same
    # photos are not independent, so a difference beyond this is safely more than noise.
    halves = [(high - low) / 2 for low, high in (run.interval, other.interval)]
    noise = math.hypot(*halves)
    return abs(run.score - other.score) <= noise if noise else None


@functools.lru_cache(maxsize=10_000)
def _known(folder: Path, measure: str, _written: float) -> tuple[tuple[object, ...], Judged]:
    """What tells a run's notebook, and what it measured; read once while many reports are made.

    `_written`: when its newest file was written, in seconds since 1970.
    """
    metrics = Metrics.of_run(folder, measure)
    ended = ending.of_run(folder, metrics)
    return _identity(folder), judged(folder, metrics, measure, ended)


def _identity(folder: Path) -> tuple[object, ...]:
    """What tells the runs of one notebook, at home or on Kaggle, from those of another."""
    push = claims.owner_of(folder)
    pushed = (push.kernel, push.rehearsal) if push else ("", None)
    return run_state.read(folder).notebook, *pushed
