"""Wait for one version's session: queued, running, over, or lost, with a deadline.

The run continues on Kaggle whatever happens here; unless it has ended, every way out says how to
return to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelkit import machines
from kernelkit.errors import DeadlineError, KernelkitError, NetworkError, RefusedError
from kernelkit.kaggle_api import transfers
from kernelkit.kaggle_api.client import Kaggle, Outputs, Quota, Status
from kernelkit.kaggle_api.retries import Failure, FailureKind
from kernelkit.plans.manifest import MANIFEST
from kernelkit.pushes import proof
from kernelkit.pushes.live_log import LiveLog
from kernelkit.pushes.proof import Evidence, Manifest, Proof
from kernelkit.run_folders.log import Entry, decode
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push

LONG_QUEUE = 60.0  # show the time in the queue after this many seconds
NEAR_LIMIT = 3600.0  # show the time left this many seconds before Kaggle's own limit
ENDED = ("complete", "error", "cancel_acknowledged")


@dataclass(frozen=True)
class Ended:
    """How a session ended, its seconds in the queue and running, and its outputs.

    `outputs` is None if Kaggle does not list them (`unlisted` says why), or if the list is not this
    push's (`doubt` says why). `manifest` is the session's own, if it wrote one.
    """

    state: str
    message: str
    queued: float
    run: float
    outputs: Outputs | None
    unlisted: str = ""
    doubt: str = ""
    manifest: Manifest | None = None

    @property
    def complete(self) -> bool:
        """Whether the notebook finished."""
        return self.state == "complete"


class Wait:
    """One wait for the session of one push; `quota` is what was left before it."""

    def __init__(
        self, context: PushContext, kaggle: Kaggle, push: Push, quota: Quota | None = None
    ) -> None:
        self._kaggle, self._push, self._quota = kaggle, push, quota
        self._name, self._version = push.name, push.version or 0
        self._emit, self._patience = context.events, context.timing.patience
        self._resume = context.how_to_resume(push)
        self._rehearsed = context.local is not None  # then the run ends with this command
        self._clock = kaggle.retries.clock
        cap = machines.LIMITS[machines.named(push.accelerator or "cpu").kind].hours_per_session * 60
        self._limit = 60.0 * min(cap, push.timeout_minutes or cap)
        self._begun = self._answered = self._clock.now()
        self._running_since: float | None = None
        self._state = ""  # of the session, as last shown
        self._unsettled = self._failed = self._list_failures = 0
        self._over_since: float | None = None  # since when Kaggle has reported that it is over
        self._not_before = self._begun
        self._log = LiveLog(kaggle, push, self._show)

    def run(self) -> Ended:
        """Wait for the end.

        Raises `DeadlineError` if the run is still active, `NetworkError` if Kaggle stays silent,
        `RefusedError` if it no longer shows the session, and `CredentialsError` if it no longer
        accepts the credentials.
        """
        try:
            while True:
                if ended := self._judge(self._ask()):
                    return ended
                if not self._list_failures and self._clock.now() > self._deadline():
                    raise self._late()
                self._clock.sleep(self._pause())
        except KeyboardInterrupt:
            goes_on = "" if self._rehearsed else "the run continues on Kaggle. "
            self._emit("interrupted", f"{goes_on}{self._resume}")
            raise
        finally:
            self._log.finish()

    def _ask(self) -> Status | None:
        """The session's status; while Kaggle fails to answer, the last known one."""
        now, patience = self._clock.now(), self._patience
        try:
            # No retries: the next poll is the next attempt, and soon enough.
            status = self._kaggle.status(self._name, self._version, until=now)
        except Failure as failure:
            if not failure.is_transient:
                raise self._refused(failure) from None
            if self._clock.now() - self._answered > patience.silence:
                raise NetworkError(
                    f"Kaggle has not answered for {duration(patience.silence)}; the run continues "
                    f"there. {self._resume}"
                ) from None
            self._failed += 1
            wanted = failure.retry_after or 0.0
            # However long Kaggle asks to wait, do not sleep past a deadline.
            end = min(self._answered + patience.silence, self._deadline())
            self._not_before = min(now + wanted, end)
            later = "later"
            if wanted > patience.longest:
                later = f"in {duration(self._pause())}, though Kaggle says {duration(wanted)}"
            self._emit("retrying", f"no status ({failure.kind.label}): looking again {later}")
            return Status(self._state or "queued")
        self._answered, self._failed = self._clock.now(), 0
        return status

    def _judge(self, status: Status | None) -> Ended | None:
        """What a status means; the end of the session, if this is it."""
        if status is None:
            self._unsettled += 1
            if self._unsettled >= self._patience.confirmations:
                raise RefusedError(
                    f"Kaggle shows no session of {self._push.kernel} version {self._version} to "
                    f"{self._kaggle.username}, asked {self._unsettled} times: either it was "
                    "deleted, or access is refused for now and the run continues there. "
                    f"{self._resume}"
                )
            return None
        if status.state in ENDED:
            return self._end(status)
        self._unsettled, self._over_since = 0, None
        if status.state == "running" and self._running_since is None:
            self._running_since = self._clock.now()
            self._log.start()
        if status.state != self._state:
            self._state = status.state
            self._emit("state", status.state, state=status.state, **self._minutes())
        self._emit("progress", self._progress(), state=status.state, **self._minutes())
        return None

    def _end(self, status: Status) -> Ended | None:
        """The end, once Kaggle's list is this push's and as complete as it will get.

        A status, a list and a log can each be out of date. The log appears only when the session is
        over; a session that was killed never gets one.
        """
        if self._over_since is None:
            self._over_since = self._clock.now()
        until = min(self._deadline(), self._clock.now() + self._patience.silence)
        try:
            outputs = self._kaggle.outputs(self._name, self._version, until)
            proved = proof.prove(self._kaggle, outputs, self._push.number, until)
        except Failure as failure:
            if failure.kind is FailureKind.CREDENTIALS:
                raise self._refused(failure) from None
            self._list_failures += 1
            if self._list_failures >= self._patience.confirmations:
                if failure.method == transfers.DOWNLOAD:
                    return self._over(status, None, doubt=f"{MANIFEST}: {failure.message}")
                return self._over(status, None, str(failure))
            self._emit("retrying", f"no list of outputs ({failure.kind.label}): asking again later")
            pause = min(failure.retry_after or 0.0, self._patience.longest)
            self._not_before = self._clock.now() + pause
            return None
        self._unsettled += 1
        waited = self._clock.now() - self._over_since
        if doubt := self._doubt(status, outputs, proved):
            return (
                None if waited < self._patience.unproved else self._over(status, None, doubt=doubt)
            )
        if not outputs.log and self._unsettled < self._patience.confirmations:
            return None
        return self._over(status, outputs, manifest=proved.manifest)

    def _doubt(self, status: Status, outputs: Outputs, proved: Proof) -> str:
        """Why this answer cannot be this run's; empty if it can."""
        if status.state == "complete" and not outputs.log and not outputs.files:
            return "Kaggle lists neither a file nor a log"  # a run that finished has a log
        if not self._push.number:
            return ""
        if proved.another:
            what = "log" if proved.log is Evidence.ANOTHER else "files"
            return f"Kaggle shows the {what} of another push, not of push {self._push.number}"
        if status.state == "complete" and proved.manifest is None:
            whose = "its log" if proved.log is Evidence.OURS else "nothing there"
            return (
                f"{MANIFEST}, which this push writes, is not among the {len(outputs.files)} "
                f"files that Kaggle lists, and {whose} shows push {self._push.number}"
            )
        return ""

    def _over(
        self,
        status: Status,
        outputs: Outputs | None,
        unlisted: str = "",
        doubt: str = "",
        manifest: Manifest | None = None,
    ) -> Ended:
        log = outputs.log if outputs else ""
        self._log.finish(log)
        queued, run = self._seconds()
        self._emit(
            "state", status.state, state=status.state, message=status.message, **self._minutes()
        )
        # A wait that began late missed the start, but the log's times count from there.
        run = max(run, max((entry.seconds for entry in decode(log)), default=0.0))
        queued = queued if self._running_since is not None else 0.0
        return Ended(status.state, status.message, queued, run, outputs, unlisted, doubt, manifest)

    def _refused(self, failure: Failure) -> KernelkitError:
        return failure.advising(
            f"{self._push.kernel} version {self._version} continues on Kaggle. {self._resume}"
        )

    def _deadline(self) -> float:
        if self._running_since is not None:
            return self._running_since + self._limit + self._patience.margin
        return self._begun + self._patience.queue

    def _late(self) -> DeadlineError:
        if self._running_since is None:
            since = f"after {duration(self._patience.queue)}"
        else:
            since = f"{duration(self._patience.margin)} past its time limit"
        return DeadlineError(
            f"{self._push.kernel} version {self._version} is still "
            f"{self._state or 'queued'} {since}. "
            f"{self._resume}"
        )

    def _pause(self) -> float:
        now, patience = self._clock.now(), self._patience
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
            return f"{self._state} for {duration(queued)}"
        remaining = max(0.0, self._limit - run)
        message = f"running for {duration(run)}"
        if queued >= LONG_QUEUE:
            message += f" (queued {duration(queued)})"
        if self._push.timeout_minutes is not None or remaining < NEAR_LIMIT:
            message += f", {duration(remaining)} until its time limit"
        if self._quota:
            message += f", {max(0.0, self._quota.left - run / 3600):.1f} h of quota left"
        return message

    def _show(self, entry: Entry) -> None:
        """Show one piece of the log; for a progress bar that rewrites its line, the last state."""
        if entry.chatter:
            return
        text = safe_text.plain(entry.text).rstrip("\n")
        if text.strip():
            self._emit("log", text, stream=entry.stream, time=entry.seconds)
