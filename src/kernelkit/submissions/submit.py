"""Enter a result into its competition and wait for the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit.errors import CapacityError, NetworkError, OutputsError, RefusedError
from kernelkit.kaggle_api import uploads
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import Kernel
from kernelkit.workspace.context import PushContext

SUBMISSION = "submission.csv"
POLL_SECONDS = 15.0
SETTLE_SECONDS = 60.0  # from a request that was cut off to its arrival, at the longest
NOTEBOOKS_ONLY = ("notebook", "kernel", "code competition")  # in a refusal of a file


@dataclass(frozen=True)
class Score:
    """A scored submission: its number at Kaggle, and the public score as Kaggle writes it."""

    reference: int
    public: str


@dataclass(frozen=True)
class EarlierTry:
    """What an earlier try to submit noted: the submission it made, or those there were before."""

    submission: int | None
    submissions_before: Sequence[int] | None


def tell_score(context: PushContext, competition: str, score: Score) -> None:
    """Show the score that a submission got."""
    context.events(
        "score",
        f"{score.public} in {competition} (submission {score.reference})",
        score=score.public,
        submission=score.reference,
    )


def submit(
    kaggle: Kaggle,
    competition: str,
    message: str,
    *,
    folder: Path,
    kernel: Kernel | None,
    version: int,
    seconds: float,
    poll: float = POLL_SECONDS,
    earlier: EarlierTry | None = None,
    note: Callable[..., None] = lambda **_: None,
) -> Score:
    """Submit the folder's `submission.csv`, or the kernel's version where only that counts.

    `kernel` is None for a run that was not pushed, which has a file alone. `note` is called with
    `submissions_before` ahead of the entering and with `submission` after it; with an `earlier`
    try that was cut off between the two, what that one entered is taken up and nothing else made.

    Waits at most `seconds` for the score. Raises `OutputsError` without a file to submit,
    `CapacityError` when today's submissions are used up, `RefusedError` for a submission that
    Kaggle cannot score, `NetworkError` when no score comes.
    """
    file = folder / SUBMISSION
    if not file.is_file():
        raise OutputsError(f"no {SUBMISSION} in {folder}: the run left nothing to submit")
    try:
        if earlier and (reference := _entered(kaggle, competition, message, earlier)):
            note(submission=reference)
            return _wait(kaggle, reference, seconds, poll)
        _check_limit(kaggle, competition)
        known = _references(kaggle, competition)
        note(submissions_before=sorted(known))

        def once(create: Callable[[], Any]) -> int:
            return _once(kaggle, competition, message, known, create)

        try:
            reference = once(lambda: _send_file(kaggle, competition, message, file))
        except Failure as failure:
            refusal = failure.message.lower()
            if (
                kernel is None
                or failure.kind is not FailureKind.REFUSED
                or not any(w in refusal for w in NOTEBOOKS_ONLY)
            ):
                raise
            pushed = kernel
            reference = once(lambda: _send_version(kaggle, competition, message, pushed, version))
        note(submission=reference)
        return _wait(kaggle, reference, seconds, poll)
    except Failure as failure:
        raise failure.error() from None


def _entered(kaggle: Kaggle, competition: str, message: str, earlier: EarlierTry) -> int | None:
    """The submission that an earlier try made, if any; what was on its way has arrived by then."""
    if earlier.submission is not None or earlier.submissions_before is None:
        return earlier.submission
    kaggle.retries.clock.sleep(SETTLE_SECONDS)
    new = _references(kaggle, competition, message) - set(earlier.submissions_before)
    return max(new, default=None)


def _check_limit(kaggle: Kaggle, competition: str) -> None:
    from kagglesdk.competitions.types.competition_api_service import ApiGetSubmissionLimitsRequest

    request = ApiGetSubmissionLimitsRequest()
    request.competition_name = competition
    api = kaggle.connection.services.competitions.competition_api_client
    limits = kaggle.repeated("GetSubmissionLimits", lambda: api.get_submission_limits(request))
    if limits.num_total and not limits.num_allowed_now:
        raise CapacityError(f"{competition} takes no more submissions today: submit tomorrow")


def _send_file(kaggle: Kaggle, competition: str, message: str, file: Path) -> Any:
    """Upload the file and enter it; only the entering must not happen twice."""
    from kagglesdk.competitions.types.competition_api_service import (
        ApiCreateSubmissionRequest,
        ApiStartSubmissionUploadRequest,
    )

    api = kaggle.connection.services.competitions.competition_api_client
    start = ApiStartSubmissionUploadRequest()
    start.competition_name, start.file_name = competition, file.name
    start.content_length = file.stat().st_size
    start.last_modified_epoch_seconds = int(file.stat().st_mtime)
    place = kaggle.repeated("StartSubmissionUpload", lambda: api.start_submission_upload(start))
    uploads.send(kaggle, place.create_url, file)
    request = ApiCreateSubmissionRequest()
    request.competition_name, request.blob_file_tokens = competition, place.token
    request.submission_description = message
    return kaggle.connection.ask("CreateSubmission", lambda: api.create_submission(request))


def _send_version(
    kaggle: Kaggle, competition: str, message: str, kernel: Kernel, version: int
) -> Any:
    from kagglesdk.competitions.types.competition_api_service import ApiCreateCodeSubmissionRequest

    request = ApiCreateCodeSubmissionRequest()
    request.competition_name, request.file_name = competition, SUBMISSION
    request.kernel_owner, request.kernel_slug = kernel.owner, kernel.slug
    request.kernel_version, request.submission_description = version, message
    api = kaggle.connection.services.competitions.competition_api_client
    return kaggle.connection.ask(
        "CreateCodeSubmission", lambda: api.create_code_submission(request)
    )


def _once(
    kaggle: Kaggle,
    competition: str,
    message: str,
    known: set[int],
    create: Callable[[], Any],
) -> int:
    """The number of one new submission, made once though its answer may be lost."""
    try:
        answer = create()
    except Failure as failure:
        if not failure.is_transient or failure.method == uploads.METHOD:
            raise
        kaggle.retries.clock.sleep(5.0)
        new = _references(kaggle, competition, message) - known
        if new:
            return max(new)
        raise
    if not answer.ref:
        raise RefusedError(f"Kaggle did not take the submission: {answer.message or 'no reason'}")
    return int(answer.ref)


def _references(kaggle: Kaggle, competition: str, message: str | None = None) -> set[int]:
    """The latest submissions' numbers, all or those with this message."""
    from kagglesdk.competitions.types.competition_api_service import ApiListSubmissionsRequest

    request = ApiListSubmissionsRequest()
    request.competition_name, request.page = competition, 1
    api = kaggle.connection.services.competitions.competition_api_client
    answer = kaggle.repeated("ListSubmissions", lambda: api.list_submissions(request))
    return {
        submission.ref
        for submission in answer.submissions or []
        if message is None or submission.description == message
    }


def _wait(kaggle: Kaggle, reference: int, seconds: float, poll: float) -> Score:
    from kagglesdk.competitions.types.competition_api_service import ApiGetSubmissionRequest

    request = ApiGetSubmissionRequest()
    request.ref = reference
    api = kaggle.connection.services.competitions.competition_api_client
    clock = kaggle.retries.clock
    end = clock.now() + seconds
    while clock.now() < end:
        submission = kaggle.repeated("GetSubmission", lambda: api.get_submission(request), end)
        state = submission.status.name.lower()
        if state == "complete":
            return Score(reference, submission.public_score or "")
        if state == "error":
            raise RefusedError(
                f"Kaggle cannot score it: {submission.error_description or 'no reason'}"
            )
        clock.sleep(poll)
    raise NetworkError(f"submission {reference} has no score yet: see the competition's page")
