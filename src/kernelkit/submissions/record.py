"""The record of submissions: what was submitted, from which run, and what it reached.

Each stands in the ledger, so that `status --all` lists them, and in its run's folder, whose report
shows them.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import CapacityError, OutputsError, RefusedError
from kernelkit.kaggle.context.kaggle_context import KaggleContext
from kernelkit.runs.submitted import Submitted
from kernelkit.scores.metrics import Metrics
from kernelkit.submissions.submission import Submission, in_utc


@dataclass(frozen=True)
class Origin:
    """The push that a result is from: its `owner/slug/N`, its git commit and its parameters."""

    push: str
    git: str
    parameters: Mapping[str, Any]


def submit_and_keep(
    submission: Submission,
    folder: Path,
    origin: Origin | None,
    enter: Callable[[str, dict[str, Any]], object],
) -> str:
    """Submit a result, and keep what came of it in the ledger and in the folder of its run.

    `enter` puts a submission's key and fields into the ledger. A result of no push has no
    `origin`: its commit and parameters are those of the run's `metrics.json`.

    Returns the score, "" if Kaggle shows none. What Kaggle has but cannot score, or has with other
    bytes, is kept too. Raises what `Submission.submit` raises.
    """
    try:
        score = submission.submit()
    except (RefusedError, OutputsError) as error:
        if submission.attempt.submission is not None:
            kept = _submitted(submission, folder, origin, problem=str(error))
            _keep(submission.context, folder, kept, enter)
        if not isinstance(error, CapacityError):  # a `RefusedError` before anything was sent
            submission.note_refused()
        raise
    kept = _submitted(submission, folder, origin, score=score)
    _keep(submission.context, folder, kept, enter)
    submission.note_score(score)  # last: a command that is killed before goes on from here
    return score


def _keep(
    context: KaggleContext,
    folder: Path,
    submitted: Submitted,
    enter: Callable[[str, dict[str, Any]], object],
) -> None:
    from kernelkit.pages.one_run import push_report  # not needed by most commands

    enter(submitted.key, asdict(submitted))
    with context.alone_in(folder):  # another command may keep one of the same run
        push_report.keep_submission(folder, submitted, context.events)


def _submitted(
    submission: Submission,
    folder: Path,
    origin: Origin | None,
    *,
    score: str = "",
    problem: str = "",
) -> Submitted:
    """What was submitted and what came of it, as it is kept."""
    origin = origin or _of_run(folder)
    standing = submission.standing
    # Kaggle's clock, since two commands may keep one submission: it has to have one time.
    made = submission.made or datetime.datetime.now(datetime.UTC)
    return Submitted(
        competition=submission.competition,
        reference=submission.attempt.submission or 0,
        message=submission.attempt.message or submission.message,
        file=submission.file.name,
        sha256=files.sha256_of(submission.file),
        when=in_utc(made).isoformat(timespec="seconds"),
        run=str(folder),
        push=origin.push,
        git=origin.git,
        parameters=dict(origin.parameters),
        score=score,
        rank=standing.rank if standing else None,
        teams=standing.teams if standing else None,
        problem=problem,
        rehearsal=submission.context.rehearsal,
        compared=submission.attempt.compared,
    )


def _of_run(folder: Path) -> Origin:
    """The origin of a result of no push, as its run's measures have it."""
    written = Metrics.of_run(folder)
    return Origin("", written.git.sha[:12], written.parameters)
