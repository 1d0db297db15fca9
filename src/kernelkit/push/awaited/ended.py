"""How a session ended: wait for it while it is queued and running, with a deadline.

The run continues on Kaggle whatever happens here; unless it has ended, every way out says how to
return to it.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from kernelkit import machines
from kernelkit.errors import (
    CredentialsError,
    DeadlineError,
    KernelkitError,
    NetworkError,
    OutputsError,
    RefusedError,
    StillRunningError,
)
from kernelkit.exits.signals import EndedBySignal
from kernelkit.files import from_here
from kernelkit.kaggle.answers import Outputs, Status
from kernelkit.kaggle.context.kaggle_context import RETRYING
from kernelkit.kaggle.exchange import transfers
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.awaited import proof
from kernelkit.push.awaited.live_log import LiveLog
from kernelkit.push.awaited.proof import Proof
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.request import Delivery
from kernelkit.push.sending.sent import Sent
from kernelkit.runs import claims
from kernelkit.runs.claims import Claim
from kernelkit.session.manifest import MANIFEST
from kernelkit.session_records.log import Entry
from kernelkit.session_records.session_manifest import Manifest
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import INTERRUPTED, LOG, PROGRESS, Event

STATE = Event("state")
SET_ASIDE = Event("set aside", colour="yellow")
ENDED = ("complete", "error", "cancel_acknowledged")
SILENT = 60.0  # seconds without a line of the log, after which that is told
SIGN_IN_ENDED = (
    "the sign-in has ended, as that of `kaggle auth login` does within hours: put a token from "
    "https://www.kaggle.com/settings/api, which does not, into ~/.kaggle/access_token"
)


@dataclass(frozen=True)
class FinishedSession:
    """How a session ended, its minutes in the queue and running, and its outputs.

    `manifest` is the session's own, if it wrote one. `problem` is why there are no outputs: Kaggle
    does not list them, or the list is not this push's. `await_end` notes the end in the ledger, and
    then raises the problem.
    """

    state: str
    message: str
    minutes: dict[str, float]
    outputs: Outputs
    manifest: Manifest | None = None
    problem: KernelkitError | None = None

    @property
    def complete(self) -> bool:
        """Whether the notebook finished."""
        return self.state == "complete"


@dataclass(frozen=True)
class Ended:
    """A push whose session is over: how it ended, and the folder that is claimed for its files."""

    sent: Sent
    session: FinishedSession
    folder: Path


def await_end(context: PushContext, sent: Sent, delivery: Delivery) -> Ended:
    """Wait for the end of a push's session, and for Kaggle's list of its files to be its own.

    The folder for the files is claimed first, so that one that is taken is told before hours of
    waiting. An end counts only with proof: the push's number in the log and in the manifest. A
    session that was killed leaves neither, and its files are then unverified.

    Raises `DeadlineError` if the run is still active when the time is over, or `StillRunningError`
    at once if nobody is to wait, `NetworkError` if Kaggle stays silent, `RefusedError` if it no
    longer shows the session, `CredentialsError`, and the session's `problem`. The run continues on
    Kaggle, except after a `problem`, and the message says how to return to it.
    """
    sent, folder = _claim_folder(context, sent, delivery)
    push = sent.push
    number = "" if delivery.unverified else sent.number
    try:
        session = Wait(context, push, number, to_the_end=delivery.wait).run()
    except RefusedError:
        # An end that the ledger has already, from this command or another, is not overwritten.
        now = context.ledger.entry(push) or push
        if now.state in (State.SENT, State.UNFETCHED):
            context.note(push, state=State.LOST)
        raise
    if not delivery.only:  # with some files only, the push stays as it is in the ledger
        push = context.note(push, **session.minutes)
        # The room `delivered` notes a session that failed, once its files are here. A push that
        # Kaggle did not run as requested is FAILED before its session ends, and stays that.
        if session.complete and push.state != State.FAILED:
            push = context.note(push, state=State.UNFETCHED)
    if session.problem:
        raise session.problem
    return Ended(replace(sent, push=push), session, folder)


def _claim_folder(context: PushContext, sent: Sent, delivery: Delivery) -> tuple[Sent, Path]:
    """Claim the chosen folder, or the push's own, for its files."""
    push = sent.push
    chosen = delivery.output
    source = claims.source_of(sent.text)
    claim = Claim(push.kernel, push.version or 0, source, push.rehearsal, push.parameters)
    wanted = chosen or context.folder(push)
    with context.alone_in(wanted):
        folder, aside = claims.claim(wanted, claim, chosen=chosen is not None)
    if aside:
        words = f"{from_here(folder)} held another run, which is now in {from_here(aside)}"
        context.events(SET_ASIDE, words, folder=str(aside))
        for other in context.ledger.pushes():  # the one that it held is found where it is now
            if other.folder == str(folder.absolute()):
                context.ledger.update(other, folder=str(aside.absolute()))
    if not delivery.only:
        push = context.note(push, folder=str(folder.absolute()))
    return replace(sent, push=push), folder


class Wait:
    """One wait for the session of one push.

    `number`: what an end has to show to count as this push's; with "", every end counts.
    `to_the_end`: False to ask only whether it has ended. That takes some polls where Kaggle shows
    no session (`confirmations`), or an end without a log.
    """

    def __init__(
        self, context: PushContext, push: Push, number: str, *, to_the_end: bool = True
    ) -> None:
        self._kaggle = context.kaggle
        self._push = push
        self._number = number
        self._to_the_end = to_the_end
        self._version = push.words
        self._events = context.events
        self._patience = context.timing.patience
        self._how_to_resume = context.how_to_resume(push)
        self._how_to_fetch = f"Download them with: {context.resuming(push)}"
        self._is_on_kaggle = not context.serves
        self._clock = context.kaggle.retries.clock
        cap = machines.LIMITS[machines.named(push.accelerator or "cpu").kind].hours_per_session * 60
        self._limit = 60.0 * min(cap, push.timeout_minutes or cap)  # seconds that it may run
        now = self._clock.now()
        self._begun = now
        self._not_before = now  # when Kaggle may be asked again
        self._printed: float | None = None  # when the live log had its last line
        # What Kaggle has answered so far:
        self._answered = now  # when it answered last
        self._heard = False  # whether it has answered at all
        self._alive = False  # whether the last answer was that the session is queued or running
        self._state = ""  # of the session, as last shown
        self._running_since: float | None = None
        self._over_since: float | None = None  # since when the session has been over
        # Counts of its answers:
        self._missing = 0  # answers without a session, in a row
        self._unsettled = 0  # lists of its outputs since it is over; the log may still be missing
        self._failed = 0  # polls that failed, in a row
        self._log = LiveLog(context.kaggle, push, number, self._show)

    def run(self) -> FinishedSession:
        """Wait for the end. Raises what `await_end` raises, but returns the session's `problem`."""
        try:
            while True:
                ended = self._ask()
                if ended:
                    return ended
                if self._over_since is None and self._clock.now() > self._deadline():
                    state = self._state or "queued"
                    raise DeadlineError(
                        f"{self._version} is still {state}, "
                        f"{duration(self._clock.now() - self._begun)} after this wait began. "
                        f"{self._how_to_resume}"
                    )
                self._clock.sleep(self._pause())
        except (KeyboardInterrupt, EndedBySignal):
            self._events(INTERRUPTED, self._goes_on)
            raise
        finally:
            self._log.finish()

    def _ask(self) -> FinishedSession | None:
        """The end of the session, if Kaggle's answer is that; a failed poll says nothing."""
        now = self._clock.now()
        silence = self._patience.silence
        try:
            # In a wait, nothing is retried here (`until` is now): the next poll is soon enough.
            until = now if self._to_the_end else None
            status = self._kaggle.status(self._push.name, self._push.version, until=until)
        except Failure as failure:
            # Once Kaggle has answered, this machine's settings are right: the network has changed.
            changed = failure.kind is FailureKind.SETUP and self._heard
            passes = self._to_the_end and (failure.is_transient or changed)
            if not passes:
                raise self._to_raise(failure, self._goes_on) from None
            if self._clock.now() - self._answered > silence:
                raise NetworkError(
                    f"Kaggle has not answered for {duration(silence)}. {self._goes_on}"
                ) from None
            self._failed += 1
            self._hold_off(failure)
            return None
        self._answered = self._clock.now()
        self._failed = 0
        self._heard = True
        return self._judge(status)

    def _judge(self, status: Status | None) -> FinishedSession | None:
        """What a status means; the end of the session, if this is it."""
        self._alive = status is not None and status.alive
        if status is None or status.only_saved:
            self._missing += 1
            if self._missing < self._patience.confirmations:
                return None
            raise RefusedError(
                f"Kaggle shows no session of {self._version} to {self._kaggle.username}: either it "
                "was deleted, or saved without one, or access is refused for now and the run "
                "continues there. "
                f"{self._how_to_resume}"
            )
        self._missing = 0
        if status.state in ENDED:
            return self._end(status)
        if not self._to_the_end:
            raise StillRunningError(
                f"{self._push.reference} is still {status.state}. {self._how_to_resume}"
            )
        self._unsettled = 0
        self._over_since = None
        if status.state == "running" and self._running_since is None:
            self._running_since = self._clock.now()
            self._log.start()
        if status.state != self._state:
            self._state = status.state
            self._events(STATE, status.state, state=status.state, **self._minutes())
        self._events(PROGRESS, self._progress(), state=status.state, **self._minutes())
        return None

    def _end(self, status: Status) -> FinishedSession | None:
        """The end, once Kaggle's list is this push's and as complete as it will get.

        A status, a list and a log can each be out of date. The log appears only when the session is
        over; a session that was killed never gets one, so a list without a log counts after some
        polls (`confirmations`). A failure or a doubt becomes the session's `problem` after the
        seconds of `unproved`. Raises at once for credentials that are no longer accepted.
        """
        now = self._clock.now()
        push = self._push
        if self._over_since is None:
            self._over_since = now
        until = min(self._deadline(), now + self._patience.silence)
        ended_and = f"{self._version} ended in {status.state}, and"
        problem: KernelkitError
        try:
            outputs = self._kaggle.outputs(push.name, push.version, until)
            proved = proof.prove(self._kaggle, outputs, self._number, until)
        except Failure as failure:
            if failure.kind is FailureKind.CREDENTIALS:
                ended = f"{self._version} ended in {status.state}. {self._how_to_resume}"
                raise self._to_raise(failure, ended) from None
            self._hold_off(failure)
            if failure.method == transfers.DOWNLOAD:
                problem = self._unverified(ended_and, f"{MANIFEST}: {failure.message}")
            else:
                problem = NetworkError(
                    f"{ended_and} its outputs cannot be listed: {failure}. {self._how_to_fetch}"
                )
        else:
            self._unsettled += 1
            doubt = self._doubt(status, outputs, proved)
            if not doubt:
                settled = outputs.log or self._unsettled >= self._patience.confirmations
                return self._finished(status, outputs, proved.manifest) if settled else None
            problem = self._unverified(ended_and, doubt)
        waited = self._clock.now() - self._over_since
        if waited < self._patience.unproved:
            return None
        return self._finished(status, problem=problem)

    def _unverified(self, ended_and: str, doubt: str) -> OutputsError:
        """The error of a session whose outputs are not proved to be this push's."""
        return OutputsError(
            f"{ended_and} its outputs are not verified: {doubt}. Nothing was fetched. "
            f"{self._how_to_fetch}, or with --unverified to download what Kaggle lists"
        )

    def _doubt(self, status: Status, outputs: Outputs, proved: Proof) -> str:
        """Why this answer cannot be this run's; empty if it can."""
        complete = status.state == "complete"
        if complete and not outputs.log and not outputs.files:
            return "Kaggle lists neither a file nor a log"  # a run that finished has a log
        if proved.another:
            return f"Kaggle shows the {proved.another} of another push, not of this one"
        if complete and self._number and not proved.manifest:
            return f"{MANIFEST}, which this push writes, is not among the files that Kaggle lists"
        return ""

    def _finished(
        self,
        status: Status,
        outputs: Outputs | None = None,
        manifest: Manifest | None = None,
        problem: KernelkitError | None = None,
    ) -> FinishedSession:
        """Show the rest of the log and the end, and return how the session ended."""
        outputs = outputs or Outputs({}, "")
        self._log.finish(outputs.log)
        minutes = self._minutes()
        state = status.state
        self._events(STATE, state, state=state, message=status.message, **minutes)
        # A wait that began late missed the start, but the log's times count from there.
        minutes["minutes_run"] = max(minutes["minutes_run"], round(self._log.seconds / 60, 2))
        if self._running_since is None:
            minutes["minutes_queued"] = 0.0
        return FinishedSession(state, status.message, minutes, outputs, manifest, problem)

    @property
    def _goes_on(self) -> str:
        """How to return to the run, and that it continues where Kaggle's last answer was that."""
        if self._alive and self._is_on_kaggle:
            return f"The run continues on Kaggle. {self._how_to_resume}"
        return self._how_to_resume

    def _hold_off(self, failure: Failure) -> None:
        """Ask again no sooner than Kaggle says, but do not sleep past a deadline."""
        end = min(self._answered + self._patience.silence, self._deadline())
        self._not_before = min(self._clock.now() + (failure.retry_after or 0.0), end)
        text = f"{failure.method} ({failure.kind.label}): retrying in {duration(self._pause())}"
        self._events(RETRYING, text)

    def _to_raise(self, failure: Failure, run: str) -> KernelkitError:
        """The error of a failure that ends the wait; `run`: what that means for the run."""
        if failure.kind is FailureKind.CREDENTIALS and self._kaggle.connection.signed_in:
            return CredentialsError(f"{SIGN_IN_ENDED}. {run}")
        return failure.advising(run)

    def _deadline(self) -> float:
        if self._running_since is not None:
            return self._running_since + self._limit + self._patience.margin
        return self._begun + self._patience.queue

    def _pause(self) -> float:
        now = self._clock.now()
        patience = self._patience
        quick = now - (self._running_since or self._begun) < patience.quick_for
        pause = patience.poll if quick else patience.slow_poll
        if self._failed:
            pause = max(pause, min(patience.longest, pause * 2.0 ** (self._failed - 1)))
        return max(pause, self._not_before - now)

    def _seconds(self) -> tuple[float, float]:
        """How long the session was observed in the queue and running."""
        now = self._clock.now()
        started = now if self._running_since is None else self._running_since
        return started - self._begun, now - started

    def _minutes(self) -> dict[str, float]:
        queued, run = self._seconds()
        return {"minutes_queued": round(queued / 60, 2), "minutes_run": round(run / 60, 2)}

    def _progress(self) -> str:
        queued, run = self._seconds()
        if self._running_since is None:
            return f"{self._state} for {duration(int(queued))}"
        remaining = duration(max(0.0, self._limit - run))
        words = f"running for {duration(int(run))}, {remaining} until its time limit"
        silent = self._clock.now() - max(self._printed or 0.0, self._running_since)
        if silent < SILENT:
            return words
        if self._printed is None:  # RUNNING does not mean that a machine is there
            return f"{words}; it has printed nothing yet"
        return f"{words}; it has printed nothing for {duration(int(silent))}"

    def _show(self, entry: Entry) -> None:
        """Show one piece of the log; for a progress bar that rewrites its line, the last state."""
        self._printed = self._clock.now()
        text = "" if entry.chatter else safe_text.plain(entry.text).rstrip("\n")
        is_home = self._push.state == State.COMPLETE  # with the log, which was shown then
        if text.strip() and not is_home:
            self._events(LOG, text, stream=entry.stream, time=entry.seconds)
