"""The verdict on a run, which its report begins with: what its score is worth, and what to do next.

It rests on what the run wrote: `metrics.json` with the score, its interval (`intervals`), what
guessing would reach (`chance`), `warnings` and why it `stopped`; `history.csv`; and on the other
runs that it is `comparable` with.
"""

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit import project
from kernelkit.pages.judged.comparable import (
    JudgedRun,
    best,
    is_better,
    is_noise,
    judge,
    last_before,
    runs_beside,
)
from kernelkit.pages.shared import ending, naming, trail
from kernelkit.runs import claims, run_folder, submitted
from kernelkit.scores import history
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved
from kernelkit.shown import Shown, measure
from kernelkit.terminal import safe_text

MOST_WARNINGS, LONGEST_DOUBT = 20, 1_000  # lines, characters
FEWEST_EPOCHS = 5  # below so many, a run at chance may only be short
_PLANNED = re.compile("early.?stop", re.IGNORECASE)  # of training that ended as it should


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first.

    score     the score's interval and how it compares with chance; or why there is none
    compared  how it compares with other runs, each with the address of a report, if there is one
    doubts    what looks wrong, the gravest first
    next_step one line: what to do next
    last      the run before this one that it is compared with; None without one
    """

    score: str = ""
    compared: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    next_step: str = ""
    last: Path | None = None


def of_run(folder: Path, place: Path, shown: Shown, ended: ending.Ending) -> Verdict:
    """The verdict on the run in a folder, for a page that stands in `place`; `ended`: how it ended.

    A run that did not reach its end is compared with none.
    """
    metrics = Metrics.of_run(folder, shown.score)
    run = judge(folder, metrics, shown.score, ended)
    others = runs_beside(folder, shown) if ended.reached else []
    last = last_before(run, others)
    guessing, advice = _guessing(run, shown)
    doubts = [guessing] if guessing else []
    doubts += _doubts(run, metrics)
    next_step = _after_its_end(metrics, ended) or advice
    if run.scored:
        score = _score(run, shown)
        compared = _compared(run, others, place, shown)
        if doubts and not next_step:
            next_step = "Resolve what looks wrong before you compare this score with others."
        next_step = next_step or _after_a_sound_run(run, others, shown)
    else:
        score, mend = _without_score(folder, metrics, shown)
        compared = []
        next_step = next_step or mend
    return Verdict(
        score=score,
        compared=tuple(compared),
        doubts=tuple(doubts),
        next_step=next_step,
        last=last.folder if last else None,
    )


def _without_score(folder: Path, metrics: Metrics, shown: Shown) -> tuple[str, str]:
    """Why a run has no score, and what to do about that; both are empty outside a run."""
    if not run_folder.is_run(folder):
        return "", ""
    if not (folder / run_folder.METRICS).is_file():
        if not shown.score:
            return "", ""
        return f"No score: there is no metrics.json, and no printed line has {shown.score}", ""
    if metrics.is_damaged:
        return "No score: metrics.json cannot be read", "Write one JSON object with the scores."
    if not shown.score:
        todo = "Name the measure to judge runs by: score in [tool.kernelkit.shown]."
        return "No score: pyproject.toml names no measure to judge runs by", todo
    if shown.score not in metrics.values:
        todo = "Write it, or name another measure: score in [tool.kernelkit.shown]."
        return f"No score: metrics.json has no {shown.score}", todo
    if metrics.data.val == 0:
        return "No score: there was nothing to validate on", ""
    return f"No score: {shown.score} in metrics.json is not a number", ""


def _guessing(run: JudgedRun, shown: Shown) -> tuple[str, str]:
    """What to say, and to do, of a score that guessing could reach; both are empty if it could not.

    They are empty, too, if it is not known what guessing reaches.
    """
    chance = run.chance
    if not run.scored or chance is None:
        return "", ""
    if run.score == chance or is_better(chance, run.score, shown):
        words = "The score is no better than guessing."
        epochs = len(next(iter(history.read(run.folder).values()), ()))
        if 0 < epochs < FEWEST_EPOCHS:
            advice = "It trained for few epochs: train longer. If that does not help, check"
            return words, f"{advice} some photos or rows against their labels."
        return words, "Check some photos or rows against their labels before you train again."
    low, high = run.interval or (run.score, run.score)
    worst = high if shown.minimize else low
    if is_better(worst, chance, shown):
        return "", ""
    words = "The score could be luck: its interval includes what guessing reaches."
    return words, "Validate on more photos or rows: these are too few to tell it from guessing."


def _score(run: JudgedRun, shown: Shown) -> str:
    """What to know of a score beside its number, which has a card; "" if nothing is."""
    words = []
    if run.interval:
        low, high = [measure(shown.score, end) for end in run.interval]
        words.append(f"{100 * run.level:g} % interval {low} to {high}")
    if run.chance is not None:
        words.append(f"guessing reaches {measure(shown.score, run.chance)}")
    sentence = "; ".join(words)
    return sentence[:1].upper() + sentence[1:]


def _compared(
    run: JudgedRun, others: Sequence[JudgedRun], place: Path, shown: Shown
) -> list[tuple[str, str]]:
    """Sentences on the last run before this one, and on the best of the others."""
    if not others:
        return []
    lines = []
    last = last_before(run, others)
    if last:
        lines.append(_against("the last comparable run", run, last, place, shown))
    best_other = best(others, shown)
    if not last or best_other.score != last.score:
        lines.append(_against("the best other run", run, best_other, place, shown))
    return lines


def _against(
    which: str, run: JudgedRun, other: JudgedRun, place: Path, shown: Shown
) -> tuple[str, str]:
    """A sentence on how a run compares with another one, and the address of that one's report."""
    link = trail.link(run_folder.report_place(other.folder), place)
    name = f"{which}, {_name(other)}"
    if other.unverified:
        name = proved.marked(name)
    if measure(shown.score, run.score) == measure(shown.score, other.score):
        return f"The same score as {name}.", link
    size = measure(shown.score, abs(run.score - other.score))
    word = "better" if is_better(run.score, other.score, shown) else "worse"
    noise = {True: ", which could be noise", False: ", which is more than noise", None: ""}
    return f"{size} {word} than {name}{noise[is_noise(run, other)]}.", link


def _name(run: JudgedRun) -> str:
    return safe_text.plain(naming.run_name(run.folder)[0])


def _doubts(run: JudgedRun, metrics: Metrics) -> list[str]:
    """What looks wrong, the gravest first.

    The page already says above that a run did not finish.
    """
    doubts = []
    if metrics.is_out_of_time:
        doubts.append("The run was stopped by its time limit.")
    elif metrics.stopped and not _PLANNED.search(metrics.stopped):
        doubts.append(f"Training was stopped: {metrics.stopped}.")
    else:
        doubts += _diverged(run.folder)
    warnings = list(dict.fromkeys(map(str, metrics.warnings)))
    doubts += warnings[:MOST_WARNINGS]
    more = len(warnings) - MOST_WARNINGS
    if more > 0:
        doubts.append(f"{more:,} more warnings are in {run_folder.METRICS}.")
    if run.unverified:
        doubts.append(f"Its measures are {proved.NOT_VERIFIED}: {run.unverified}.")
    return [safe_text.plain(doubt)[:LONGEST_DOUBT] for doubt in doubts]


def _diverged(folder: Path) -> list[str]:
    """A sentence on the first loss that was no finite number when training ended; empty without."""
    for name, texts in history.read(folder).items():
        values = history.numbers(texts)
        has_end = bool(texts[-1]) and len(values) == len(texts)
        if "loss" not in name.lower() or not has_end:
            continue
        finite = [epoch for epoch, value in enumerate(values, 1) if math.isfinite(value)]
        last = finite[-1] if finite else 0
        if last < len(values):
            return [f"Training diverged: {name} is not a number from epoch {last + 1} on."]
    return []


def _after_its_end(metrics: Metrics, ended: ending.Ending) -> str:
    """What to do after a run that did not finish, or only a part of it; "" after another."""
    if ended.error and not ended.interrupted:
        return "Fix what failed, then run it again."
    if not ended.reached:
        return "Run it again: only a part of the notebook ran."
    if metrics.is_out_of_time:
        return "Continue it: repeat the command; for a push, add --continue."
    return ""


def _after_a_sound_run(run: JudgedRun, others: Sequence[JudgedRun], shown: Shown) -> str:
    """What to do after a run with a score and without doubts.

    No run is recommended whose measures are not verified, though it is compared.
    """
    if trail.sweep_of(run.folder):
        return "Compare it with the other runs on the page of its sweep."
    proven = [other for other in others if not other.unverified]
    if proven:
        other = best(proven, shown)
        name = _name(other)
        noise = is_noise(run, other)
        if noise:
            return f"Repeat this run and {name} with another seed before you choose between them."
        if noise is False and is_better(other.score, run.score, shown):
            return f"Begin from the parameters of {name}, which is clearly better."
    home = project.find_project(run.folder)
    if _may_be_submitted(run.folder, home):
        return f"Submit it: kernelkit submit {shlex.quote(home.name(run.folder))}"
    return "Change one thing and compare; another seed shows the noise."


def _may_be_submitted(folder: Path, home: project.Project) -> bool:
    """Whether a run is a push's, left what its project submits, and was not submitted yet."""
    push = claims.owner_of(folder)
    if push is None or push.rehearsal or submitted.read(folder):
        return False
    return bool(run_folder.submissions(folder, home.submission))
