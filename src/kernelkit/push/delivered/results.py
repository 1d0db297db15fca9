"""The results of a push: its files, verified, checked and reported on, and its score."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import image, project
from kernelkit.errors import (
    AcceleratorMismatchError,
    KernelkitError,
    OutputsError,
    RefusedError,
    RunFailedError,
    StorageError,
    of_traceback,
)
from kernelkit.exits.signals import EndedBySignal
from kernelkit.exits.unusable_files import UNWRITABLE, unusable
from kernelkit.files import file_address, from_here
from kernelkit.push.awaited.ended import Ended
from kernelkit.push.delivered.submit_push import submit_push
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.outputs.fetch import fetch
from kernelkit.push.planned.request import Delivery
from kernelkit.runs import kit_folder, run_folder, run_state
from kernelkit.runs.run_state import RunState
from kernelkit.scores.metrics import Metrics
from kernelkit.session.manifest import MANIFEST
from kernelkit.session_records import log as logs
from kernelkit.session_records import machine_use, proved, session_manifest, shown_outputs
from kernelkit.session_records.failure import RunFailure
from kernelkit.terminal.events import INTERRUPTED, METRICS, NEXT, REPORT, STOPPED, WARNING, Event
from kernelkit.tpu import figures

FAILURE = Event("failure", quiet=True, colour="red")
USED = Event("accelerator", quiet=True)


@dataclass(frozen=True)
class Results:
    """What came of a push: its line in the ledger, with the score, and the folder of its files."""

    push: Push
    folder: Path


def bring_home(context: PushContext, ended: Ended, delivery: Delivery) -> Results:
    """Download a session's files into their folder, check them, report, and submit on request.

    Each file is compared with the session's own manifest, so what is in the folder afterwards is
    this push's, byte for byte, or is told to be unverified. The results of a run that failed are
    downloaded too, before its error is raised.

    Raises `RunFailedError` or one of `errors.OF_NOTEBOOKS` for a run that failed, `OutputsError`
    for files that are missing, `AcceleratorMismatchError` for a run on another machine,
    `RefusedError` for one that Kaggle did not run as it was asked to, and what `Submission.submit`
    raises. All that can be fetched is in the folder then. With `delivery.only`, nothing is fetched
    of a numbered push without its session's manifest, unless `delivery.unverified`.
    """
    homecoming = _Homecoming(context, ended, delivery)
    with context.alone_in(ended.folder):  # another command may wait for the same run
        kit_folder.clear_half_written(ended.folder)
        if delivery.only:
            homecoming.bring_some(delivery.only)
        else:
            homecoming.bring_all()
    if not delivery.only:
        homecoming.submit_or_suggest()
    return Results(homecoming.push, ended.folder)


class _Homecoming:
    """The way of one push's files into their folder."""

    def __init__(self, context: PushContext, ended: Ended, delivery: Delivery) -> None:
        self.context = context
        self.ended = ended
        self.push = ended.sent.push
        self.folder = ended.folder
        self.delivery = delivery

    def note(self, **changes: object) -> None:
        """Change the push, and its line in the ledger if there is one."""
        self.push = self.context.note(self.push, **changes)

    def bring_all(self) -> None:
        """Download everything, or fail as the run did; then check and report."""
        if not self.ended.session.complete:
            self._fail()
        self._fetch()
        self._judge()
        if self.push.state == State.FAILED:
            raise RefusedError(
                f"{self.push.words} did not run as it was asked to, and the command that pushed it "
                f"said why. Its files are in {from_here(self.folder)}, and it counts as failed"
            )
        self.note(state=State.COMPLETE)  # last, so that a command killed before comes here again

    def bring_some(self, patterns: Sequence[str]) -> None:
        """Download the files that fit these glob patterns, and nothing else.

        Raises `OutputsError`, also if they are not proved to be this push's.
        """
        number = self.ended.sent.number
        needs_proof = bool(number) and not self.delivery.unverified
        if needs_proof and not self.ended.session.manifest:
            raise OutputsError(
                f"Kaggle does not list {MANIFEST} of push {number}, so its files are not "
                "verified: --unverified downloads what Kaggle lists"
            )
        self._fetch(patterns)

    def submit_or_suggest(self) -> None:
        """Submit the result if that is wanted; otherwise tell the commands to type next.

        None are told where another push follows, as in a chain.
        """
        if self.delivery.submit is not None:
            self.push = submit_push(self.context, self.push, self.folder, self.delivery)
        elif self.delivery.on_kaggle:
            self._suggest(self.delivery.on_kaggle)

    def _fetch(self, only: Sequence[str] = ()) -> None:
        """Keep the log, the notebook and the manifest in the folder, and download the files there.

        `only`: glob patterns of the files to download. Raises `OutputsError`.
        """
        session = self.ended.session
        text = self.ended.sent.text
        again = f"Download the rest with: {self.context.resuming(self.push)}"
        for pattern in only:
            again += f" --only {shlex.quote(pattern)}"
        where = "with the local Kaggle" if self.context.serves else "on Kaggle"
        stays = f"the session of {self.push.reference} is over, and its files stay {where}"
        try:
            logs.keep(self.folder, session.outputs.log, text, self.context.events.clear)
            run_state.note(self.folder, RunState(over=session.complete))
            # Another command may be comparing these files with it: never is there none in between.
            if session.manifest:
                session_manifest.keep(self.folder, session.manifest.text, self.context.events.clear)
            else:
                kit_folder.path(self.folder, kit_folder.MANIFEST).unlink(missing_ok=True)
            fetch(self.context, self.push, self.folder, session.outputs, session.manifest, only)
            shown_outputs.clear_secrets(self.folder, self.context.events.clear)
        except OutputsError as error:
            if error.is_final:
                raise
            raise OutputsError(f"{error}\n{again}") from None
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            raise StorageError(f"{unusable(error)}; {stays}. {again}") from None
        except (KeyboardInterrupt, EndedBySignal):
            self.context.events(INTERRUPTED, f"{stays}. {again}")
            raise

    def _fail(self) -> None:
        """Fetch the outputs of a failed run, show the failing cell, and raise the run's error.

        That is `RunFailedError`, or the one that the exception's name means
        (`errors.OF_NOTEBOOKS`).
        """
        session = self.ended.session
        try:
            self._fetch()
        except OutputsError as error:  # the run's own failure is raised below
            self.context.events(WARNING, str(error))
        kind: type[KernelkitError] = RunFailedError
        message = ""
        failure = RunFailure.of_log(session.outputs.log, self.ended.sent.text)
        if failure:
            facts = {"cell": failure.what, "traceback": failure.traceback}
            self.context.events(FAILURE, str(failure), **facts)
            kind, message = of_traceback(failure.traceback)
        self._report()
        self._tell_use()
        self.note(state=State.FAILED)  # before, the same command goes on with this session
        if kind is not RunFailedError:
            raise kind(f"{self.push.words} stopped: {message}")
        reason = session.message or self._why(failure, message)
        raise RunFailedError(f"{self.push.words} ended in {session.state}: {reason}")

    def _why(self, failure: RunFailure | None, message: str) -> str:
        """Why a run failed, as far as its log says; `message`: that of its exception."""
        log = from_here(kit_folder.path(self.folder, kit_folder.LOG_TEXT))
        if failure is None:
            if not self.ended.session.outputs.log:
                return "it has no log, which happens when a run takes too long"
            return f"its log has no exception: {log}"
        why = message.partition("\n")[0] or failure.what
        if self.context.serves:
            why += self._about_missing(message)
        if failure.last_error:
            why += f"\nThe last line of stderr before it: {failure.last_error}"
        return f"{why}\nIts log: {log}"

    def _about_missing(self, message: str) -> str:
        """What to do about a module that Kaggle's image holds and this machine lacks, if any."""
        kind: Any = self.push.accelerator or None
        text = image.about_missing(message, kind, tried=self.delivery.packages is not None)
        return text and f". {text}"

    def _judge(self) -> None:
        """Show the measures, write the report, and compare the machine with the requested one."""
        events = self.context.events
        kind = self.push.accelerator
        shown = project.shown(self.folder)
        metrics = Metrics.of_run(self.folder, shown.score)
        if metrics.values:
            summary = metrics.summary(shown)
            doubt = metrics.doubt(self.folder)
            if doubt:
                summary = f"{proved.NOT_VERIFIED}: {summary}"
            events(METRICS, summary, metrics=metrics.values, verified=not doubt)
            if metrics.is_out_of_time:
                command = "rehearse" if self.context.serves else "push"
                text = f"it ran out of time. Continue in another session: kernelkit {command}"
                events(STOPPED, f"{text} --continue")
        elif shown.score and not (self.folder / run_folder.METRICS).is_file():
            words = f"no printed line has {shown.score!r}"
            events(METRICS, f"no score: there is no {run_folder.METRICS}, and {words}")
        self._report()
        self._tell_use()
        if kind and metrics.device.kind:
            try:
                metrics.check_accelerator(kind, rehearsal=self.push.rehearsal)
            except AcceleratorMismatchError:
                self.note(state=State.FAILED)
                raise
            for event, text in figures.beside(self.push.estimate, metrics):
                events(event, text)

    def _tell_use(self) -> None:
        """Tell whether the session used the accelerator that was asked for, if that is known."""
        use = machine_use.in_words(self.folder)
        if use:
            self.context.events(USED, use)

    def _suggest(self, on_kaggle: str) -> None:
        """Tell the commands to type after a complete run."""
        push = self.push
        commands = []
        if push.rehearsal:
            commands = [on_kaggle]
        elif push.competition:
            commands = [f"kernelkit submit {push.reference} --message MESSAGE"]
        runs = shlex.quote(from_here(self.context.runs))
        commands += [f"kernelkit report {runs} --index  # all runs"]
        self.context.events(NEXT, "\n".join(commands), commands=commands)

    def _report(self) -> None:
        from kernelkit.pages.one_run import push_report

        events = self.context.events
        title = f"{self.push.words} (rehearsal)" if self.push.rehearsal else self.push.words
        path, why = push_report.report_or_why(self.folder, title, events.clear)
        if path:
            events(REPORT, file_address(path), path=str(path))
        else:
            events(WARNING, f"no report: {why}")
