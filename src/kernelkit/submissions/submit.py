"""Submit a result to its competition and wait for the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit.errors import CapacityError, NetworkError, OutputsError, RefusedError
from kernelkit.kaggle_api import transfers
from kernelkit.kaggle_api.client import Kaggle, Kernel
from kernelkit.kaggle_api.retries import Failure, FailureKind
from kernelkit.project import find_project
from kernelkit.shown import duration
from kernelkit.workspace.context import PushContext

ENDINGS = (".csv", ".parquet", ".zip", ".tar.gz")  # of files that competitions accept
SERVICE = "competitions"
HIDDEN = "scored, but the score is not shown"  # until the deadline of some competitions
LOOK_SECONDS = 5.0  # between searches for a submission whose answer was lost
SETTLE_SECONDS = 60.0  # an interrupted request arrives within this time, if at all
NOTEBOOKS_ONLY = ("notebook", "kernel", "code competition")  # words in Kaggle's refusal of a file


@dataclass(frozen=True)
class Result:
    """What to submit: a file, or the kernel's version if the competition accepts only notebooks.

    `kernel` is None for a run that was not pushed.
    """

    competition: str
    message: str
    file: Path
    kernel: Kernel | None = None
    version: int = 0


@dataclass(frozen=True)
class EarlierTry:
    """The notes of an earlier attempt: its submission, or those that existed before it."""

    submission: int | None = None
    submissions_before: Sequence[int] | None = None


def output_of(folder: Path) -> Path:
    """The file in a run's folder to submit.

    That is the one that `[tool.kernelkit]` names, or the only `submission` with one of the endings.
    Raises `OutputsError` if there is none or more than one.
    """
    named = find_project(Path.cwd()).submission
    names = [named] if named else [f"submission{ending}" for ending in ENDINGS]
    there = [name for name in names if (folder / name).is_file()]
    if not there:
        raise OutputsError(f"no {names[0]} in {folder}: the run has nothing to submit")
    if len(there) > 1:
        raise OutputsError(
            f"{folder} holds {' and '.join(there)}: say which to submit, with submission = "
            f'"{there[0]}" below [tool.kernelkit] in pyproject.toml'
        )
    return folder / there[0]


def submit(
    context: PushContext,
    kaggle: Kaggle,
    result: Result,
    earlier: EarlierTry | None = None,
    note: Callable[..., None] = lambda **_: None,
) -> str:
    """Submit a result and wait for its public score; returns it as Kaggle formats it.

    `note` is called with `submissions_before` and `message` before submitting, with
    `submission` afterwards, and with `score` at the end. A submission that an `earlier` attempt
    made, or may have made, is looked for and not made again.

    Raises `CapacityError` when today's submissions are used up, `RefusedError` for a submission
    that Kaggle cannot score, `NetworkError` when no score comes in time.
    """
    reference = _submitted_earlier(kaggle, result, earlier or EarlierTry())
    if reference is None:
        reference = _submit_once(kaggle, result, note)
    note(submission=reference)
    score = _wait(context, kaggle, result, reference)
    note(score=score or HIDDEN)
    context.events(
        "score",
        f"{score or HIDDEN} in {result.competition} (submission {reference})",
        score=score,
        submission=reference,
    )
    return score


def _submitted_earlier(kaggle: Kaggle, result: Result, earlier: EarlierTry) -> int | None:
    """The submission of an earlier attempt, if any, after waiting for requests in flight."""
    if earlier.submission is not None or earlier.submissions_before is None:
        return earlier.submission
    before = set(earlier.submissions_before)
    return _look(kaggle, lambda: max(_references(kaggle, result) - before, default=None))


def _submit_once(kaggle: Kaggle, result: Result, note: Callable[..., None]) -> int:
    """Submit the file, or the kernel's version if Kaggle refuses a file; returns the number."""
    limits = kaggle.repeated("GetSubmissionLimits", SERVICE, competition_name=result.competition)
    if limits.num_total and not limits.num_allowed_now:
        raise CapacityError(
            f"{result.competition} accepts no more submissions today: submit tomorrow"
        )
    before = _references(kaggle, result, all_messages=True)
    note(submissions_before=sorted(before), submission=None, message=result.message, score=None)
    fields = {"competition_name": result.competition, "file_name": result.file.name}
    try:
        token = transfers.upload(kaggle, result.file, "StartSubmissionUpload", SERVICE, **fields)
        return _create(kaggle, result, before, "CreateSubmission", blob_file_tokens=token)
    except Failure as failure:
        refusal = failure.message.lower()
        only_notebooks = failure.kind is FailureKind.REFUSED and any(
            word in refusal for word in NOTEBOOKS_ONLY
        )
        if result.kernel is None or not only_notebooks:
            raise
        return _create(
            kaggle,
            result,
            before,
            "CreateCodeSubmission",
            file_name=result.file.name,
            kernel_owner=result.kernel.owner,
            kernel_slug=result.kernel.slug,
            kernel_version=result.version,
        )


def _create(kaggle: Kaggle, result: Result, before: set[int], method: str, **fields: Any) -> int:
    """Make exactly one submission, even if Kaggle's answer is lost or is about an older one.

    Raises `Failure` if it is unknown whether it was made: the next attempt looks for it first.
    """
    fields |= {"competition_name": result.competition, "submission_description": result.message}
    try:
        answer = kaggle.once(method, SERVICE, **fields)
        if not answer.ref:
            raise RefusedError(
                f"Kaggle did not take the submission: {answer.message or 'no reason'}"
            )
        if answer.ref not in before:
            return int(answer.ref)
        lost = Failure(FailureKind.MALFORMED, method, "the answer names an earlier submission")
    except Failure as failure:
        if not failure.is_transient:
            raise
        lost = failure
    made = _look(kaggle, lambda: max(_references(kaggle, result) - before, default=None))
    if made is None:
        raise lost
    return made


def _look(kaggle: Kaggle, find: Callable[[], int | None]) -> int | None:
    """The result of `find`, repeated until requests in flight must have arrived."""
    clock = kaggle.retries.clock
    end = clock.now() + SETTLE_SECONDS
    while True:
        clock.sleep(LOOK_SECONDS)
        if (reference := find()) is not None or clock.now() > end:
            return reference


def _references(kaggle: Kaggle, result: Result, *, all_messages: bool = False) -> set[int]:
    """The numbers of the latest submissions: all, or those that may be this result's."""
    answer = kaggle.repeated(
        "ListSubmissions", SERVICE, competition_name=result.competition, page=1
    )
    listed = answer.submissions or []
    return {submission.ref for submission in listed if all_messages or _may_be(submission, result)}


def _may_be(submission: Any, result: Result) -> bool:
    """Whether a submission on Kaggle is consistent with what was sent."""
    message = (submission.description or "").strip()
    of_file = submission.file_name in ("", result.file.name)
    return of_file and result.message.strip().startswith(message)


def _wait(context: PushContext, kaggle: Kaggle, result: Result, reference: int) -> str:
    """The public score as Kaggle formats it; empty if it shows none."""
    clock, timing = kaggle.retries.clock, context.timing
    start = reported = clock.now()
    end = start + (timing.rerun_seconds if result.kernel else timing.score_seconds)
    while clock.now() < end:
        submission = kaggle.repeated("GetSubmission", SERVICE, end, ref=reference)
        state = submission.status.name.lower()
        if submission.ref != reference or not _may_be(submission, result):
            state = "another submission's"
        if state == "error" or (state == "complete" and submission.error_description):
            raise RefusedError(
                f"Kaggle cannot score it: {submission.error_description or 'no reason'}"
            )
        if state == "complete":
            return submission.public_score or ""
        if clock.now() - reported > timing.patience.slow_poll:
            reported = clock.now()
            context.events(
                "progress", f"submission {reference}: {state}, {duration(reported - start)}"
            )
        early = clock.now() - start < timing.patience.quick_for
        clock.sleep(timing.patience.poll if early else timing.patience.slow_poll)
    raise NetworkError(f"submission {reference} has no score yet: see the competition's page")
