"""Submit a result to its competition and wait for the score."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import CapacityError, NetworkError, OutputsError, RefusedError
from kernelkit.kaggle.context.kaggle_context import KaggleContext
from kernelkit.kaggle.exchange import blob_upload, transfers
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.runs.submitted import DIFFERENT, NOT_COMPARED, SAME
from kernelkit.shown import duration
from kernelkit.submissions.attempt import NOT_SCORED, Attempt
from kernelkit.submissions.standing import Standing, tell_standing
from kernelkit.terminal.events import PROGRESS, WARNING, Event

SCORE = Event("score", quiet=True, boxed=True)
SKIPPED = Event("skipped")
HIDDEN = "scored, but the score is not shown"  # until the deadline of some competitions
LOOK_SECONDS = 5.0  # between searches for a submission whose answer was lost
SETTLE_SECONDS = 60.0  # an interrupted request arrives within this time, if at all
CLOCKS_APART = 60.0  # seconds that the clocks of Kaggle's machines may differ
NOTEBOOKS_ONLY = ("notebook", "kernel", "code competition")  # words in Kaggle's refusal of a file


def in_utc(date: datetime.datetime) -> datetime.datetime:
    """A date of Kaggle's in UTC, which it is in where it has no zone."""
    if date.tzinfo is None:
        return date.replace(tzinfo=datetime.UTC)
    return date.astimezone(datetime.UTC)


@dataclass
class Submission:
    """A result on its way to a competition: a file, or its kernel's version.

    The version is submitted where the competition only accepts notebooks.

    kernel    whose version it is; None for a run that was not pushed
    earlier   the last attempt to submit the same result
    once      go on with `earlier` whatever its message was
    note      called with what becomes known of the attempt, by the names of its fields: before
              anything is sent, afterwards, and by `note_score`, with `rank` and `teams` too
    attempt   what is known so far; none was made until `submit` is called
    standing  the place on the board when the score came
    made      when the submission was made, in UTC, by Kaggle's clock, once Kaggle shows it
    """

    context: KaggleContext
    competition: str
    message: str
    file: Path
    kernel: Kernel | None = None
    version: int = 0
    earlier: Attempt = field(default_factory=Attempt)
    once: bool = False
    note: Callable[..., object] = lambda **_: None
    attempt: Attempt = field(default_factory=Attempt, init=False)
    standing: Standing | None = None
    made: datetime.datetime | None = None

    def submit(self) -> str:
        """Submit the result and wait for its public score; returns it as Kaggle formats it.

        A submission that an earlier attempt made, or may have made, is looked for and not made
        again.

        Raises `CapacityError` when today's submissions are used up, `RefusedError` for a submission
        that Kaggle cannot score, `OutputsError` for one that has other bytes than the file,
        `NetworkError` when no score comes in time or when it is not known whether it arrived.
        """
        if self.once or self.earlier.is_meant_by(self.message):
            self.attempt = self.earlier
        reference = self._find_earlier()
        if reference is None:
            self.attempt = Attempt()
            reference = self._enter()
        elif self.attempt.score:
            words = f"submission {reference} is of this file"
            if not self.once:
                words += ": another --message makes another one"
            self.context.events(SKIPPED, words, submission=reference)
        self._note(submission=reference)
        score = self._score(reference)
        # A file is compared once; if its bytes differed, again, since its score must not count.
        if self.attempt.submitted_sha256 and self.attempt.compared in ("", DIFFERENT):
            self._compare(reference)
        compared = self.attempt.compared
        shown = score or HIDDEN
        doubt = f", {NOT_COMPARED} with the file" if compared == NOT_COMPARED else ""
        self.context.events(
            SCORE,
            f"{shown} in {self.competition} (submission {reference}{doubt})",
            score=score,
            submission=reference,
            compared=compared,
        )
        self.standing = tell_standing(self.context, self.competition)
        return score

    def note_score(self, score: str) -> None:
        """Note what `submit` returned, and the standing: then nothing of it is left to do."""
        self._note(score=score or HIDDEN)
        if self.standing:
            self.note(rank=self.standing.rank, teams=self.standing.teams)

    def note_refused(self) -> None:
        """Note that `submit` found no score of this file's: the same command makes another.

        An earlier submission that has a score takes its place again.
        """
        if self.earlier.score and self.earlier.submission != self.attempt.submission:
            self._note(**asdict(self.earlier))
        else:
            self._note(score=NOT_SCORED)

    def _note(self, **changes: Any) -> None:
        self.attempt = replace(self.attempt, **changes)
        self.note(**changes)

    def _compare(self, reference: int) -> None:
        """Compare the file with what Kaggle holds of it, once, and note the result.

        Raises `OutputsError` if Kaggle holds other bytes: then the score is not the file's.
        """
        held = self._held(reference)
        sent = self.attempt.submitted_sha256
        if held is None:
            self._note(compared=NOT_COMPARED)
            return
        if held == sent:
            self._note(compared=SAME)
            return
        self._note(compared=DIFFERENT)
        raise OutputsError(
            f"submission {reference} is not {self.file.name}: what Kaggle holds has other bytes "
            f"(SHA-256 {held[:12]}, not {sent[:12]}), so its score is not this file's. See "
            "the competition's page, and submit again"
        )

    def _held(self, reference: int) -> str | None:
        """The SHA-256 of what Kaggle holds of a submission; None if it does not give it back."""
        kaggle = self.context.kaggle
        try:
            response = kaggle.competitions.download_submission(reference)
            return transfers.sha256_of(kaggle, response, self.file.stat().st_size)
        except Failure:  # not every competition gives a submission back
            return None

    def _enter(self) -> int:
        """Submit the file, or the kernel's version if Kaggle refuses a file; returns the number."""
        kaggle = self.context.kaggle
        kernel = self.kernel
        limits = kaggle.repeated(
            partial(kaggle.competitions.get_submission_limits, self.competition)
        )
        if limits.num_total and not limits.num_allowed_now:
            raise CapacityError(f"{self.competition} accepts no more submissions before 00:00 UTC")
        before = sorted(submission.ref for submission in self._listed())
        competitions = kaggle.competitions
        try:
            start = partial(competitions.start_submission_upload, self.competition)
            token = blob_upload.upload(kaggle, self.file, start)
            self._begin(before, files.sha256_of(self.file))
            return self._create(
                partial(competitions.create_submission, self.competition, token, self.message)
            )
        except Failure as failure:
            refused = failure.kind is FailureKind.REFUSED
            only_notebooks = any(word in failure.message.lower() for word in NOTEBOOKS_ONLY)
            if kernel is None or not (refused and only_notebooks):
                raise
        self._begin(before, "")
        return self._create(
            partial(
                competitions.create_code_submission,
                self.competition,
                str(kernel),
                self.version,
                self.file.name,
                self.message,
            )
        )

    def _begin(self, before: list[int], sha256: str) -> None:
        """Note the attempt, just before the request that makes the submission."""
        self._note(
            submissions_before=before,
            submitting_since=self.context.kaggle.connection.server_time,
            submission=None,
            message=self.message,
            score=None,
            submitted_sha256=sha256,
            compared="",
        )

    def _create(self, call: Callable[[], Any]) -> int:
        """Send the request that makes the submission, once; returns the submission's number.

        If the answer is lost, has no number or names an older submission, the new one is looked
        for. Raises `Failure` for a request that Kaggle refuses, `RefusedError` for an answer that
        gives a reason instead of a number, and `NetworkError` if it is not known whether the
        submission was made: the same command looks for it first.
        """
        reason = ""
        try:
            answer = call()
        except Failure as failure:
            if not failure.is_transient:
                raise
            lost = failure
        else:
            if answer.ref and self._is_later(answer.ref):
                return int(answer.ref)
            words = "the answer names an earlier submission"
            if not answer.ref:
                words = "the answer names no submission"
                reason = answer.message
            lost = Failure(FailureKind.MALFORMED, "CreateSubmission", words)
        made = self._look()
        if made is None and reason:
            raise RefusedError(f"Kaggle did not take the submission: {reason}")
        if made is None:
            raise lost.advising(self._unknown)
        return made

    def _find_earlier(self) -> int | None:
        """The submission that the attempt made before; None if Kaggle has none of it."""
        kaggle = self.context.kaggle
        reference = self.attempt.submission
        if reference is not None:
            shown = kaggle.if_there(partial(kaggle.competitions.get_submission, reference))
            if shown and shown.ref == reference and self._may_be(shown):
                return reference
        if self.attempt.submissions_before is None:
            return None
        return self._look(self.attempt.submitting_since)

    def _look(self, since: float | None = None) -> int | None:
        """This result's latest submission; None if none was made and none can still arrive.

        Looks again and again for `SETTLE_SECONDS`, in which a request that was interrupted would
        arrive. `since`: when it was sent, by Kaggle's clock, if that was not just now; of the
        seconds then only the rest is waited for. Raises `NetworkError` if Kaggle does not list the
        submissions.
        """
        connection = self.context.kaggle.connection
        clock = self.context.kaggle.retries.clock
        end = clock.now() + SETTLE_SECONDS
        others: set[int] = set()  # submissions of other files
        while True:
            clock.sleep(LOOK_SECONDS)
            try:
                listed = self._listed()
            except (RefusedError, NetworkError) as error:  # the submission may have been made
                raise NetworkError(f"{error}. {self._unknown}") from None
            kaggles_now = connection.server_time
            if since is not None and kaggles_now is not None:
                remaining = since + CLOCKS_APART + SETTLE_SECONDS - kaggles_now
                end = min(end, clock.now() + remaining)
            own = {submission.ref for submission in listed if self._may_be(submission)}
            later = set(filter(self._is_later, own))
            for reference in sorted(later - others, reverse=True):
                if self._has_other_bytes(reference):
                    others.add(reference)
                    continue
                words = f"submission {reference} arrived, although its answer was lost"
                self.context.events(WARNING, words, submission=reference)
                return int(reference)
            if clock.now() > end:
                return None

    def _has_other_bytes(self, reference: int) -> bool:
        """Whether Kaggle gives back another file than the attempt's."""
        sent = self.attempt.submitted_sha256
        return bool(sent) and self._held(reference) not in (None, sent)

    @property
    def _unknown(self) -> str:
        """What to do where it is not known whether Kaggle has the submission."""
        page = f"https://www.kaggle.com/competitions/{self.competition}/submissions"
        return (
            f"It is not known whether {self.competition} has the submission: the same command "
            f"looks for it first; you can also see {page}"
        )

    def _is_later(self, reference: int) -> bool:
        """Whether a submission was made after all that existed before: Kaggle counts upwards."""
        return reference > max(self.attempt.submissions_before or (), default=0)

    def _score(self, reference: int) -> str:
        """The public score as Kaggle formats it, once it is there; empty if it shows none."""
        kaggle, timing = self.context.kaggle, self.context.timing
        clock = kaggle.retries.clock
        patience = timing.patience
        start = clock.now()
        is_file = bool(self.attempt.submitted_sha256)
        end = start + (timing.score_seconds if is_file else timing.rerun_seconds)
        while clock.now() < end:
            # Kaggle may not show it for a moment.
            shown = kaggle.if_there(partial(kaggle.competitions.get_submission, reference), end)
            state = "not shown"
            problem = ""
            if shown and shown.ref == reference and self._may_be(shown):
                self.made = shown.date
                state = shown.status.name.lower()
                problem = shown.error_description
                if state == "error" or (state == "complete" and problem):
                    reason = problem or "no reason"
                    raise RefusedError(f"Kaggle cannot score it: {reason}")
                if state == "complete":
                    return str(shown.public_score)
            passed = clock.now() - start
            text = f"submission {reference}: {state}, {duration(passed)}"
            if problem:
                text = f"{text}: {problem}"
            self.context.events(PROGRESS, text)
            clock.sleep(patience.poll if passed < patience.quick_for else patience.slow_poll)
        raise NetworkError(f"submission {reference} has no score yet: see the competition's page")

    def _listed(self) -> Sequence[Any]:
        """The latest submissions to the competition."""
        kaggle = self.context.kaggle
        answer = kaggle.repeated(partial(kaggle.competitions.list_submissions, self.competition))
        return list(answer.submissions)

    def _may_be(self, submission: Any) -> bool:
        """Whether a submission on Kaggle is consistent with what was sent.

        A description that is only the beginning of the message is, and so is a file without a name.
        """
        message = submission.description.strip()
        of_file = submission.file_name in ("", self.file.name)
        of_message = self.attempt.message.strip().startswith(message)
        return of_file and of_message and not self._is_older(submission)

    def _is_older(self, submission: Any) -> bool:
        """Whether a submission was made before this attempt began, by Kaggle's clock.

        Its number does not always tell: Kaggle lists the latest submissions only.
        """
        since = self.attempt.submitting_since
        if since is None or submission.date is None:
            return False
        made = in_utc(submission.date).timestamp()
        return bool(made < since - CLOCKS_APART)
