"""The verdict on a run, which its report begins with: what its score is worth, and what to do next.

It rests on what the run wrote: `metrics.json` with the score, its interval (`intervals`), what
guessing would reach (`chance`), `warnings` and why it `stopped`; `history.csv`; and on the other
runs beside it that were validated on the same data.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.pages import trail
from kernelkit.runs import history, kit_folder, proved, run_folder
from kernelkit.shown import Shown

FLATTERED_FROM = 5  # runs, of which the best is flattered by the choice
LATE_SHARE = 0.2  # of the epochs: a score that peaks in the last of them may go on rising
FEWEST_EPOCHS = 5  # below so many, a curve's end says nothing


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first.

    score     the score with its interval, how it compares with chance, whether it is verified
    compared  how it compares with other runs, each with the address of a report, if there is one
    doubts    what looks wrong, the gravest first
    next_step one line: what to do next
    """

    score: str = ""
    compared: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    next_step: str = ""


@dataclass(frozen=True)
class Measured:
    """A run's score, the ends of its interval if it wrote one, and what it was validated on.

    `unverified`: why the score is not proved to be this run's, "" if it is.
    """

    folder: Path
    score: float
    interval: tuple[float, float] | None
    data: str
    written: float
    unverified: str


def of_run(folder: Path, place: Path, shown: Shown, failure: str = "") -> Verdict:
    """The verdict on the run in a folder, for a page that stands in `place`.

    `failure`: why the notebook did not reach its end, "" if it did.
    """
    metrics = run_folder.metrics(folder) or {}
    doubts = _doubts(folder, metrics, failure)
    run = _measured(folder, metrics, shown.score)
    if run is None:
        return Verdict(doubts=tuple(doubts), next_step=_next(doubts, metrics, failure=failure))
    others = [other for other in _beside(folder, shown) if other.data == run.data]
    chance = run_folder.numbers(run_folder.part(metrics, "chance")).get(shown.score)
    above_chance = _above_chance(run, chance, shown)
    if not above_chance:
        doubts.insert(0, "The score is no better than guessing. Look at the labels and the data.")
    rises = _still_rises(folder, shown)
    return Verdict(
        score=_score(run, chance, shown),
        compared=tuple(_compared(run, others, place, shown)),
        doubts=tuple(doubts),
        next_step=_next(doubts, metrics, failure=failure, rises=rises, guessing=not above_chance),
    )


def _measured(folder: Path, metrics: run_folder.Metrics, measure: str) -> Measured | None:
    score = run_folder.numbers(metrics).get(measure)
    if score is None:
        return None
    return Measured(
        folder=folder,
        score=score,
        interval=run_folder.interval(metrics, measure),
        data=run_folder.data_name(metrics),
        written=run_folder.written(folder),
        unverified=proved.doubt(folder, run_folder.METRICS),
    )


def _beside(folder: Path, shown: Shown) -> list[Measured]:
    """The other runs of the same notebook in the folder above, in the order of their ends."""
    here = folder.resolve()
    mine = _identity(here)
    in_a_sweep = trail.sweep_of(folder) is not None
    found = []
    for path in here.parent.glob(f"*/{run_folder.METRICS}"):
        if path.parent == here:
            continue
        try:
            written = path.stat().st_mtime_ns
        except OSError:  # it has just gone
            continue
        identity, measured = _known(path.parent, shown.score, written)
        if measured is not None and (in_a_sweep or identity == mine):
            found.append(measured)
    return sorted(found, key=lambda run: run.written)


@functools.lru_cache(maxsize=10_000)
def _known(folder: Path, measure: str, _written: int) -> tuple[tuple[object, ...], Measured | None]:
    """What tells a run's notebook, and what it measured; read once while many reports are made.

    `_written`: when its `metrics.json` was written, in nanoseconds.
    """
    return _identity(folder), _measured(folder, run_folder.metrics(folder) or {}, measure)


def _identity(folder: Path) -> tuple[object, ...]:
    """What tells the runs of one notebook, at home or on Kaggle, from those of another."""
    state = kit_folder.read_json(folder, kit_folder.STATE)
    push = kit_folder.read_json(folder, kit_folder.MARKER)
    return state.get("notebook"), push.get("kernel"), push.get("rehearsal")


def _above_chance(run: Measured, chance: object, shown: Shown) -> bool:
    """Whether even the worse end of the interval beats guessing; true if that is not known."""
    if not isinstance(chance, int | float):
        return True
    low, high = run.interval or (run.score, run.score)
    return high < chance if shown.minimize else low > chance


def _score(run: Measured, chance: object, shown: Shown) -> str:
    label, text = shown.texts({shown.score: run.score})[shown.score]
    words = f"{label} {text}"
    if run.interval:
        low, high = [shown.texts({shown.score: end})[shown.score][1] for end in run.interval]
        words += f", 95 % interval {low} to {high}"
    if isinstance(chance, int | float):
        words += f"; guessing reaches {shown.texts({shown.score: chance})[shown.score][1]}"
    if run.unverified:
        words += f"; {proved.NOT_VERIFIED}: {run.unverified}"
    return words


def _compared(
    run: Measured, others: Sequence[Measured], place: Path, shown: Shown
) -> list[tuple[str, str]]:
    """Sentences on the last run before this one, and on the best of the others."""
    lines = []
    earlier = [other for other in others if other.written <= run.written]
    if earlier:
        lines.append(_against("the last run", run, earlier[-1], place, shown))
    if others:
        choose = min if shown.minimize else max
        best = choose(others, key=lambda other: other.score)
        if not earlier or best.folder != earlier[-1].folder:
            lines.append(_against("the best other run", run, best, place, shown))
        count = len(others) + 1
        better = run.score < best.score if shown.minimize else run.score > best.score
        if better and count >= FLATTERED_FROM:
            text = f"It is the best of {count} runs, so its score is probably slightly too high: "
            lines.append((text + "another seed or validation set is likely to score lower.", ""))
    return lines


def _against(
    which: str, run: Measured, other: Measured, place: Path, shown: Shown
) -> tuple[str, str]:
    difference = run.score - other.score
    link = trail.link(run_folder.report_place(other.folder), place)
    name = f"{which}, {other.folder.name}"
    if other.unverified:
        name += f" ({proved.NOT_VERIFIED})"
    if difference == 0:
        return f"The same score as {name}.", link
    word = "above" if difference > 0 else "below"
    size = shown.texts({shown.score: abs(difference)})[shown.score][1]
    noise = ""
    if run.interval and other.interval:
        # Half widths of two intervals add up as those of independent errors do. Scores on the same
        # photos are not independent, so a difference beyond this is safely more than noise.
        halves = [(high - low) / 2 for low, high in (run.interval, other.interval)]
        inside = abs(difference) <= math.hypot(*halves)
        noise = ", which could be noise" if inside else ", which is more than noise"
    return f"{size} {word} {name}{noise}.", link


def _doubts(folder: Path, metrics: run_folder.Metrics, failure: str) -> list[str]:
    """What looks wrong, the gravest first."""
    doubts = []
    if failure:
        doubts.append("The notebook did not finish.")
    stopped = metrics.get("stopped")
    if stopped == run_folder.OUT_OF_TIME:
        doubts.append("The run was stopped by its time limit.")
    elif stopped:
        doubts.append(f"Training was stopped: {stopped}.")
    warnings = metrics.get("warnings")
    if isinstance(warnings, list):
        doubts += [str(line) for line in warnings]
    unverified = proved.doubt(folder, run_folder.METRICS)
    if unverified:
        doubts.append(f"Its measures are {proved.NOT_VERIFIED}: {unverified}.")
    return doubts


def _still_rises(folder: Path, shown: Shown) -> bool:
    """Whether the validation score was best at the very end of training."""
    _, values = history.curve(folder, shown.score, ())
    if len(values) < FEWEST_EPOCHS:
        return False
    best = min(values) if shown.minimize else max(values)
    late = max(1, round(LATE_SHARE * len(values)))
    return best in values[-late:] and best not in values[:-late]


def _next(
    doubts: Sequence[str],
    metrics: run_folder.Metrics,
    *,
    failure: str = "",
    rises: bool = False,
    guessing: bool = False,
) -> str:
    if failure:
        return "Fix the cell that failed, then run it again."
    if metrics.get("stopped") == run_folder.OUT_OF_TIME:
        return "Continue it: repeat the command; for a push, add --continue."
    if guessing:
        return "Check some photos or rows against their labels before you train again."
    if doubts:
        return "Resolve what looks wrong before you compare this score with others."
    if rises:
        return "The best epoch was one of the last: more epochs may raise the score."
    return ""
