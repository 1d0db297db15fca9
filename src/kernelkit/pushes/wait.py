"""Wait for one version's session: queued, running, over, or lost, with a deadline.

The run is Kaggle's and goes on whatever happens here; every way out but the end of the run
says how to come back to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelkit import machines
from kernelkit.errors import DeadlineError, KernelkitError, NetworkError, RefusedError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import Kernel, Outputs, Quota, Status
from kernelkit.machines import Kind
from kernelkit.pushes.live_log import LiveLog
from kernelkit.run_folders.log import Entry, decode
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import Emit
from kernelkit.workspace.timing import PollPolicy

WORTH_TELLING = 60.0  # seconds in the queue
NEAR_LIMIT = 3600.0  # seconds before Kaggle's own limit from which on the time left is shown
ENDED = ("complete", "error", "cancel_acknowledged")


@dataclass(frozen=True)
class Ended:
    """How a session ended, after how many seconds in the queue and running, and what it left.

    `outputs` is None where Kaggle would not say what the session left; `unlisted` says why.
    """

    state: str
    message: str
    queued: float
    run: float
    outputs: Outputs | None
    unlisted: str = ""

    @property
    def complete(self) -> bool:
        """Whether the notebook reached its end."""
        return self.state == "complete"


class Wait:
    """One wait for one version. `resume` is the sentence with the command that comes back.

    `outlives`: whether the run goes on after the command, as at Kaggle.
    """

    def __init__(
        self,
        kaggle: Kaggle,
        kernel: Kernel,
        version: int,
        *,
        accelerator: Kind,
        emit: Emit,
        resume: str,
        outlives: bool = True,
        timeout_minutes: float | None = None,
        quota: Quota | None = None,
        patience: PollPolicy | None = None,
    ) -> None:
        self._kaggle, self._kernel, self._version = kaggle, kernel, version
        self._emit, self._resume, self._quota = emit, resume, quota
        self._goes_on = "the run goes on at Kaggle. " if outlives else ""
        self._patience = patience or PollPolicy()
        self._clock = kaggle.retries.clock
        cap = machines.LIMITS[accelerator].hours_per_session * 60
        self._limited = timeout_minutes is not None
        self._limit = 60.0 * min(cap, timeout_minutes or cap)
        self._begun = self._answered = self._clock.now()
        self._running_since: float | None = None
        self._message = ""
        self._unsettled = self._failed = self._list_failures = 0
        self._not_before = self._begun
        self._log = LiveLog(kaggle, kernel, version, self._tell)

    def run(self) -> Ended:
        """Wait to the end. Raises `DeadlineError` while the run is alive, `NetworkError` when
        Kaggle stays silent, `RefusedError` when it no longer shows the session,
        `CredentialsError` when it no longer takes the credentials.
        """
        try:
            while True:
                status = self._ask()
                if ended := self._judge(status):
                    return ended
                if not self._list_failures and self._clock.now() > self._deadline():
                    raise self._late()
                self._clock.sleep(self._pause())
        except KeyboardInterrupt:
            self._emit("interrupted", f"{self._goes_on}{self._resume}")
            raise
        finally:
            self._log.finish()

    def _ask(self) -> Status | None:
        """The session's status; a passing failure counts as the state known before."""
        now = self._clock.now()
        try:
            # Asked once: the next poll is the next attempt, and comes late enough.
            status = self._kaggle.status(self._kernel, self._version, until=now)
        except Failure as failure:
            if not failure.is_transient:
                raise self._refused(failure) from None
            if self._clock.now() - self._answered > self._patience.silence:
                raise NetworkError(
                    f"Kaggle has not answered for {duration(self._patience.silence)}; the run "
                    f"goes on there. {self._resume}"
                ) from None
            self._failed += 1
            asked = failure.retry_after or 0.0
            # However long Kaggle asks to be left alone, no deadline is slept through.
            end = min(self._answered + self._patience.silence, self._deadline())
            self._not_before = min(now + asked, end)
            later = "later"
            if asked > self._patience.longest:
                later = f"in {duration(self._pause())}, though Kaggle says {duration(asked)}"
            self._emit("retrying", f"no status ({failure.kind.value}): looking again {later}")
            return Status(self._message or "queued")
        self._answered, self._failed = self._clock.now(), 0
        return status

    def _judge(self, status: Status | None) -> Ended | None:
        """What a status means; the end of the session, if this is it."""
        if status is None:
            self._unsettled += 1
            if self._unsettled >= self._patience.confirmations:
                raise RefusedError(
                    f"Kaggle shows no session of {self._kernel} version {self._version} to "
                    f"{self._kaggle.username}, asked {self._unsettled} times: either it was "
                    "deleted, or access is refused for now and the run goes on there. "
                    f"{self._resume}"
                )
            return None
        if status.state in ENDED:
            return self._end(status)
        self._unsettled = 0
        if status.state == "running" and self._running_since is None:
            self._running_since = self._clock.now()
            self._log.start()
        if status.state != self._message:
            self._message = status.state
            self._emit("state", status.state, state=status.state, **self._times())
        self._emit("progress", self._progress(), state=status.state, **self._times())
        return None

    def _end(self, status: Status) -> Ended | None:
        """The end, once the log of a finished session confirms it.

        A status can be out of date; the log appears only when the session is over, save
        where the session was killed and never gets one.
        """
        try:
            outputs = self._kaggle.outputs(self._kernel, self._version, self._deadline())
        except Failure as failure:
            if failure.kind is FailureKind.CREDENTIALS:
                raise self._refused(failure) from None
            return self._unlisted(status, failure)
        self._unsettled += 1
        if not outputs.log and self._unsettled < self._patience.confirmations:
            return None
        if status.state == "complete" and not outputs.log and not outputs.files:
            # A run that reached its end has a log: an empty list is no answer.
            return self._over(status, None, "Kaggle lists neither a file nor a log")
        return self._over(status, outputs)

    def _unlisted(self, status: Status, failure: Failure) -> Ended | None:
        """The end of a session whose outputs Kaggle does not list, once it was asked enough."""
        self._list_failures += 1
        if self._list_failures < self._patience.confirmations:
            self._emit("retrying", f"no list of outputs ({failure.kind.value}): asking again later")
            self._not_before = self._clock.now() + (failure.retry_after or 0.0)
            return None
        return self._over(status, None, str(failure.error()))

    def _over(self, status: Status, outputs: Outputs | None, unlisted: str = "") -> Ended:
        log = outputs.log if outputs else ""
        self._log.finish(log)
        times = self._times()
        self._emit("state", status.state, state=status.state, message=status.message, **times)
        # A wait that was taken up late did not see the start, but the log counts from there.
        seen = max((entry.seconds for entry in decode(log)), default=0.0)
        run = max(60 * times["minutes_run"], seen)
        queued = 60 * times["minutes_queued"] if self._running_since is not None else 0.0
        return Ended(status.state, status.message, queued, run, outputs, unlisted)

    def _refused(self, failure: Failure) -> KernelkitError:
        error = failure.error()
        return type(error)(
            f"{error}. {self._kernel} version {self._version} goes on at Kaggle. {self._resume}"
        )

    def _deadline(self) -> float:
        if self._running_since is not None:
            return self._running_since + self._limit + self._patience.margin
        return self._begun + self._patience.queue

    def _late(self) -> DeadlineError:
        if self._running_since is None:
            message = f"still {self._message or 'queued'} after {duration(self._patience.queue)}"
        else:
            message = f"still {self._message} {duration(self._patience.margin)} past its time limit"
        return DeadlineError(f"{self._kernel} version {self._version} is {message}. {self._resume}")

    def _pause(self) -> float:
        since = self._running_since or self._begun
        now = self._clock.now()
        quick = now - since < self._patience.quick_for
        pause = self._patience.poll if quick else self._patience.slow_poll
        if self._failed:
            pause = max(pause, min(self._patience.longest, pause * 2.0 ** (self._failed - 1)))
        return max(pause, self._not_before - now)

    def _times(self) -> dict[str, float]:
        now = self._clock.now()
        started = self._running_since
        queued = (now if started is None else started) - self._begun
        run = 0.0 if started is None else now - started
        return {"minutes_queued": round(queued / 60, 2), "minutes_run": round(run / 60, 2)}

    def _progress(self) -> str:
        now = self._clock.now()
        if self._running_since is None:
            return f"{self._message} for {duration(now - self._begun)}"
        run = now - self._running_since
        left = max(0.0, self._limit - run)
        queued = self._running_since - self._begun
        message = f"running for {duration(run)}"
        if queued >= WORTH_TELLING:
            message += f" (queued {duration(queued)})"
        if self._limited or left < NEAR_LIMIT:
            message += f", {duration(left)} until its time limit"
        if self._quota:
            message += f", {max(0.0, self._quota.left - run / 3600):.1f} h of quota left"
        return message

    def _tell(self, entry: Entry) -> None:
        """One piece of the log; of a progress bar that rewrites its line, the last state."""
        if entry.chatter:
            return
        text = safe_text.plain(entry.text).rstrip("\n")
        if text.strip():
            self._emit("log", text, stream=entry.stream, time=entry.seconds)
