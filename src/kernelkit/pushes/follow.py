"""The second half of a push: wait for the run, fetch its outputs, and check them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from kernelkit import machines, project
from kernelkit.errors import (
    CapacityError,
    KernelkitError,
    NetworkError,
    OutputsError,
    ParameterError,
    RefusedError,
    RunFailedError,
    of_traceback,
)
from kernelkit.kaggle_api.client import Kaggle, Outputs, Quota
from kernelkit.plans import build
from kernelkit.pushes import proof
from kernelkit.pushes.fetch import fetch
from kernelkit.pushes.proof import Manifest
from kernelkit.pushes.save import twins
from kernelkit.pushes.send import report_twins
from kernelkit.pushes.wait import Ended, Wait
from kernelkit.run_folders import claims, kit_folder, run_folder
from kernelkit.run_folders import log as logs
from kernelkit.run_folders.claims import Claim
from kernelkit.submissions import submit as submission
from kernelkit.terminal.events import from_here
from kernelkit.tpu import figures
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push

MISSING_MODULE = re.compile(r"No module named '(\w+)")


class FollowOptions(TypedDict, total=False):
    """The keyword arguments of `follow`.

    output       the folder for the outputs; default the push's own
    submit       the message of a submission
    submit_once  do not submit a push again that was submitted before, with whatever message
    unverified   accept files that are not proved to be this push's
    quota        the hours left before the push, to show while waiting
    last         False leaves out the next commands, because another push follows
    """

    output: Path | None
    submit: str | None
    submit_once: bool
    unverified: bool
    quota: Quota | None
    last: bool


def follow(
    context: PushContext, kaggle: Kaggle, push: Push, text: str, **options: Unpack[FollowOptions]
) -> Path:
    """Wait for a push's run, fetch, check and report; `text` is the notebook that runs.

    Returns the folder of the outputs. Raises `RunFailedError` or one of
    `errors.OF_NOTEBOOKS`, `DeadlineError`, `NetworkError`, `RefusedError`, `CredentialsError`,
    `OutputsError`, or what `submit.submit` raises; in each case, everything that can be fetched is
    in the folder.
    """
    run = Run(context, kaggle, push, text, unverified=options.get("unverified", False))
    run.claim(options.get("output"))
    run.note(folder=str(run.folder))
    ended, outputs = run.wait(options.get("quota"))
    with context.alone_in(run.folder):  # another command may wait for the same run
        run.keep(outputs)
        if not ended.complete:
            run.fail(ended, outputs)
        run.fetch(outputs, ended.manifest)
        run.note(state=ledgers.COMPLETE)
        run.judge()
    if (message := options.get("submit")) is not None:
        run.submit(message, once=options.get("submit_once", False))
    elif options.get("last", True):
        commands = context.what_next(run.push)
        context.events("next", "\n".join(commands), commands=commands)
    return run.folder


class Run:
    """The run of one push, and the folder for its outputs."""

    def __init__(
        self,
        context: PushContext,
        kaggle: Kaggle,
        push: Push,
        text: str,
        *,
        unverified: bool = False,
    ) -> None:
        self.context, self.kaggle, self.push = context, kaggle, push
        self.text = build.stamped(text, push.number) if push.number else text
        self.number = "" if unverified else push.number or build.number_of(text)
        self.unverified = unverified
        self.folder = Path()

    def note(self, **changes: object) -> None:
        """Change the push, and its line in the ledger if there is one."""
        change = self.context.ledger.update if self.push.pushed else replace
        self.push = change(self.push, **changes)

    def claim(self, output: Path | None) -> None:
        """Claim the chosen folder, or the push's own, for this run's files."""
        folder = output or self.context.folder(self.push)
        push, source = self.push, claims.source_of(self.text)
        claim = Claim(push.kernel, push.version or 0, source, push.rehearsal)
        with self.context.alone_in(folder):
            self.folder, aside = claims.claim(folder, claim, chosen=output is not None)
        if aside:
            self.context.events(
                "set aside",
                f"{from_here(self.folder)} is another run's: it is now in {from_here(aside)}",
                folder=str(aside),
            )

    def wait(self, quota: Quota | None) -> tuple[Ended, Outputs]:
        """Wait for the end of the run; returns how it ended and its outputs, and logs its times."""
        push, context = self.push, self.context
        try:
            ended = Wait(context, self.kaggle, replace(push, number=self.number), quota).run()
        except RefusedError:
            stored = context.ledger.find(push.kernel, push.version or 0)
            if stored is None or stored.state != ledgers.STOPPED:  # by `kernelkit stop`, just now
                self.note(state=ledgers.LOST)
            raise
        self.note(
            state=ledgers.UNFETCHED if ended.complete else ledgers.FAILED,
            minutes_queued=round(ended.queued / 60, 2),
            minutes_run=round(ended.run / 60, 2),
        )
        if push.resent_after is not None:  # an earlier send may have arrived during the run
            after, version = push.resent_after, push.version or 0
            report_twins(context, push, twins(self.kaggle, push.name, self.text, after, version))
        if ended.doubt:
            raise OutputsError(
                f"{self._version} ended in {ended.state}, and its outputs are not verified: "
                f"{ended.doubt}. Nothing was fetched. {context.how_to_fetch(push)}, or with "
                "--unverified to download what Kaggle lists"
            )
        if ended.outputs is None:
            raise NetworkError(
                f"{self._version} ended in {ended.state}, and its outputs cannot be listed: "
                f"{ended.unlisted}. {context.how_to_fetch(push)}"
            )
        return ended, ended.outputs

    def keep(self, outputs: Outputs) -> None:
        """Keep the session's log and its notebook in the folder."""
        run_folder.keep(self.folder, outputs.log, self.text, self.context.events.clear)

    def fetch(self, outputs: Outputs, manifest: Manifest | None) -> None:
        """Download the files and keep the manifest with them; raises `OutputsError`."""
        kit_folder.path(self.folder, kit_folder.MANIFEST).unlink(missing_ok=True)
        if manifest:
            manifest.keep(self.folder)
        try:
            fetch(self.context, self.kaggle, self.push, self.folder, outputs, manifest=manifest)
        except OutputsError as error:
            raise OutputsError(f"{error}\n{self.context.how_to_fetch(self.push)}") from None

    def fail(self, ended: Ended, outputs: Outputs) -> None:
        """Fetch the outputs of a failed run, show the failing cell, and raise the run's error.

        That is `RunFailedError`, or the one that the exception's name means
        (`errors.OF_NOTEBOOKS`).
        """
        try:
            self.fetch(outputs, ended.manifest)
        except OutputsError as error:  # the run's own failure is raised below
            self.context.events("warning", str(error))
        failure = logs.failure(outputs.log, self.text)
        kind: type[KernelkitError] = RunFailedError
        message = ""
        log = from_here(kit_folder.path(self.folder, kit_folder.LOG_TEXT))
        why = f"its log has no exception: {log}"
        if not outputs.log:
            why = "it has no log, which happens when a run takes too long"
        if failure:
            facts = {"cell": failure.cell, "traceback": failure.traceback}
            self.context.events("failure", str(failure), **facts)
            kind, message = of_traceback(failure.traceback)
            why = f"{message.partition(chr(10))[0]}{self._missing_here(message)}\nIts log: {log}"
        self._report()
        if kind is not RunFailedError:
            raise kind(f"{self._version} stopped: {message}")
        raise RunFailedError(f"{self._version} ended in {ended.state}: {ended.message or why}")

    def _missing_here(self, message: str) -> str:
        """What to do about a module that Kaggle's image holds and this machine lacks, if any."""
        named = MISSING_MODULE.search(message)
        kind: Any = self.push.accelerator
        if not self.context.local or not named or named[1] not in machines.MODULES.get(kind, ()):
            return ""
        return (
            f", which Kaggle's image holds: install {machines.distribution(named[1])} here, or "
            "rehearse with --packages kaggle"
        )

    def judge(self) -> None:
        """Show the measures, write the report, and compare the machine with the requested one."""
        events, kind = self.context.events, self.push.accelerator
        metrics = run_folder.metrics(self.folder)
        if metrics:
            summary = run_folder.summary(metrics, project.shown(self.folder))
            events("metrics", summary, metrics=metrics)
            if metrics.get("stopped") == run_folder.OUT_OF_TIME:
                events("stopped", f"it ran out of time. {self.context.how_to_continue()}")
        self._report()
        if metrics and kind and run_folder.names_device(metrics):
            run_folder.check_accelerator(metrics, kind, rehearsal=self.push.rehearsal)
            for event, text in figures.beside(self.push.estimate, metrics):
                events(event, text)
        elif kind not in ("", "cpu"):
            place = "names no device in" if metrics else "left no"
            events(
                "warning",
                f"the run {place} {run_folder.METRICS}: whether it had a {kind.upper()} cannot be "
                'checked. To have it checked, let the run write {"device": {"kind": "gpu"}}, or '
                '"tpu" or "cpu", as it finds it',
            )

    def submit(self, message: str, *, once: bool) -> None:
        """Submit the result to the push's competition and wait for its score."""
        push = self.push
        if not push.competition:
            raise ParameterError(f"{push.reference} has no competition among its sources")
        file = submission.output_of(self.folder)
        if not self.unverified:
            check_verified(file, known=bool(push.number))
        earlier = submission.EarlierTry(push.submission, push.submissions_before)
        over = push.score == ledgers.NOT_SCORED or (push.score and message != push.message)
        if over and not once:
            earlier = submission.EarlierTry()
        result = submission.Result(push.competition, message, file, push.name, push.version or 0)
        try:
            submission.submit(self.context, self.kaggle, result, earlier, self.note)
        except CapacityError:  # today's submissions are used up; there are new ones tomorrow
            raise
        except (RefusedError, OutputsError):
            self.note(score=push.score or ledgers.NOT_SCORED)
            raise

    @property
    def _version(self) -> str:
        return f"{self.push.kernel} version {self.push.version}"

    def _report(self) -> None:
        from kernelkit.reports import pushed

        events = self.context.events
        title = f"{self._version} (rehearsal)" if self.push.rehearsal else self._version
        path, why = pushed.report_or_why(self.folder, title, events.clear)
        if path:
            events("report", from_here(path), path=str(path))
        else:
            events("warning", f"no report: {why}")


def check_verified(file: Path, *, known: bool = True) -> None:
    """Raise `OutputsError` unless a file is proved to be from the session of its folder's push.

    `known`: whether the ledger has the push; a version that was pushed elsewhere proves nothing.
    """
    if not (known and proof.is_verified(file.parent, file.name)):
        raise OutputsError(
            f"{from_here(file)} is not proved to be an output of that push, so it is not "
            "submitted: check it, and add --unverified to submit it anyway"
        )
