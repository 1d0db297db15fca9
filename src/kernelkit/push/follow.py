"""The second half of a push: wait for the run, fetch its outputs, and check them."""

import re
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import files, machines, project
from kernelkit.errors import (
    AcceleratorMismatchError,
    CapacityError,
    KernelkitError,
    OutputsError,
    ParameterError,
    RefusedError,
    RunFailedError,
    of_traceback,
)
from kernelkit.kaggle.client import Outputs
from kernelkit.kaggle.context import Push, PushContext, State
from kernelkit.push import proof
from kernelkit.push import submit as submission
from kernelkit.push.bundle import build
from kernelkit.push.bundle.manifest import MANIFEST
from kernelkit.push.fetch import fetch
from kernelkit.push.proof import Manifest
from kernelkit.push.wait import Ended, Wait
from kernelkit.runs import claims, kit_folder, run_folder
from kernelkit.runs import log as logs
from kernelkit.runs.claims import Claim
from kernelkit.terminal.events import from_here
from kernelkit.tpu import figures

MISSING_MODULE = re.compile(r"No module named '(\w+)")
NOT_SCORED = "not scored"  # instead of a score: there was nothing to submit, or Kaggle refused it


class Run:
    """The run of one push, and the folder for its outputs.

    `text` is the notebook that runs; `unverified`: accept files that are not proved to be its.
    """

    def __init__(
        self,
        context: PushContext,
        push: Push,
        text: str,
        *,
        unverified: bool = False,
    ) -> None:
        self.context, self.push = context, push
        self.text = build.stamped(text, push.number) if push.number else text
        self.number = "" if unverified else push.number or build.number_of(text)
        self.unverified = unverified
        self.folder = Path()

    def follow(
        self,
        output: Path | None = None,
        submit: str | None = None,
        *,
        once: bool = False,
        on_kaggle: str = "kernelkit push",
    ) -> Path:
        """Wait for the run, fetch its outputs into their folder, check and report; the folder.

        `submit` is the message of a submission; with `once`, a push that was submitted before, with
        whatever message, is not submitted again. `on_kaggle` makes a rehearsed push on Kaggle, to
        suggest as the next command; empty to suggest none, since another push follows.

        Raises `RunFailedError` or one of `errors.OF_NOTEBOOKS`, `DeadlineError`, `NetworkError`,
        `RefusedError`, `CredentialsError`, `OutputsError`, or what `Submission.submit` raises; in
        each case, everything that can be fetched is in the folder.
        """
        self.claim(output)
        self.note(folder=str(self.folder.absolute()))
        ended = self._wait()
        with self._alone_in(self.folder):  # another command may wait for the same run
            if not ended.complete:
                self._fail(ended)
            self.fetch(ended.outputs, ended.manifest)
            self.note(state=State.COMPLETE)
            self._judge()
        if submit is not None:
            self._submit(submit, once=once)
        elif on_kaggle:
            self._suggest(on_kaggle)
        return self.folder

    def note(self, **changes: object) -> None:
        """Change the push, and its line in the ledger if there is one."""
        change = self.context.ledger.update if self.push.pushed else replace
        self.push = change(self.push, **changes)

    def claim(self, output: Path | None) -> None:
        """Claim the chosen folder, or the push's own, for this run's files."""
        folder = output or self.context.folder(self.push)
        push, source = self.push, claims.source_of(self.text)
        claim = Claim(push.kernel, push.version or 0, source, push.rehearsal)
        with self._alone_in(folder):
            self.folder, aside = claims.claim(folder, claim, chosen=output is not None)
        if aside:
            self.context.events(
                "set aside",
                f"{from_here(self.folder)} held another run, which is now in {from_here(aside)}",
                folder=str(aside),
            )

    def _alone_in(self, folder: Path) -> AbstractContextManager[None]:
        """Let one command at a time download files into a folder, during a block."""
        return self.context.alone(f"downloads files into {folder.resolve()}")

    def _wait(self) -> Ended:
        """Wait for the end of the run, and log how it ended; raises why there are no outputs."""
        try:
            ended = Wait(self.context, replace(self.push, number=self.number)).run()
        except RefusedError:
            stopped = [p.pushed for p in self.context.ledger.pushes() if p.state == State.STOPPED]
            if self.push.pushed not in stopped:  # by another command's `kernelkit stop`
                self.note(state=State.LOST)
            raise
        state = State.UNFETCHED if ended.complete else State.FAILED
        self.note(state=state, **ended.minutes)
        if ended.problem:
            raise ended.problem
        return ended

    def fetch(self, outputs: Outputs, manifest: Manifest | None, only: Sequence[str] = ()) -> None:
        """Keep the log, the notebook and the manifest in the folder, and download the files there.

        `only`: glob patterns of the files to download. Raises `OutputsError`.
        """
        run_folder.keep(self.folder, outputs.log, self.text, self.context.events.clear)
        place = kit_folder.path(self.folder, kit_folder.MANIFEST)
        place.unlink(missing_ok=True)
        if manifest:
            files.write_text(place, manifest.text)
        try:
            fetch(self.context, self.push, self.folder, outputs, manifest, only)
        except OutputsError as error:
            again = f"Download the rest with: {self.context.resuming(self.push)}"
            raise OutputsError(f"{error}\n{again}") from None

    def fetch_only(self, patterns: Sequence[str], output: Path | None) -> Path:
        """Download the files that fit these glob patterns, and nothing else; the folder.

        Raises `OutputsError`, also if they are not proved to be this push's.
        """
        kaggle = self.context.kaggle
        outputs = kaggle.outputs(self.push.name, self.push.version)
        manifest = proof.prove(kaggle, outputs, self.number).manifest
        if self.number and not manifest:
            raise OutputsError(
                f"Kaggle does not list {MANIFEST} of push {self.number}, so its files are not "
                "verified: --unverified downloads what Kaggle lists"
            )
        self.claim(output)
        with self._alone_in(self.folder):
            self.fetch(outputs, manifest, patterns)
        return self.folder

    def _fail(self, ended: Ended) -> None:
        """Fetch the outputs of a failed run, show the failing cell, and raise the run's error.

        That is `RunFailedError`, or the one that the exception's name means
        (`errors.OF_NOTEBOOKS`).
        """
        try:
            self.fetch(ended.outputs, ended.manifest)
        except OutputsError as error:  # the run's own failure is raised below
            self.context.events("warning", str(error))
        log = from_here(kit_folder.path(self.folder, kit_folder.LOG_TEXT))
        why = f"its log has no exception: {log}"
        if not ended.outputs.log:
            why = "it has no log, which happens when a run takes too long"
        kind: type[KernelkitError] = RunFailedError
        message = ""
        if failure := logs.failure(ended.outputs.log, self.text):
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
        distribution = machines.distribution(named[1])
        if not distribution:
            return ", which Kaggle's image has, and no package index"
        return (
            f", which Kaggle's image has: install {distribution} here, or rehearse with "
            "--packages kaggle"
        )

    def _judge(self) -> None:
        """Show the measures, write the report, and compare the machine with the requested one."""
        events, kind = self.context.events, self.push.accelerator
        metrics = run_folder.metrics(self.folder)
        if metrics:
            summary = run_folder.summary(metrics, project.shown(self.folder))
            events("metrics", summary, metrics=metrics)
            if metrics.get("stopped") == run_folder.OUT_OF_TIME:
                command = "rehearse" if self.context.local else "push"
                text = f"it ran out of time. Continue in another session: kernelkit {command}"
                events("stopped", f"{text} --continue")
        self._report()
        if metrics and kind and run_folder.names_device(metrics):
            try:
                run_folder.check_accelerator(metrics, kind, rehearsal=self.push.rehearsal)
            except AcceleratorMismatchError:
                self.note(state=State.FAILED)
                raise
            for event, text in figures.beside(self.push.estimate, metrics):
                events(event, text)
        elif kind not in ("", "cpu"):
            place = "names no device in" if metrics else "left no"
            events(
                "warning",
                f"the run {place} {run_folder.METRICS}: whether it had a {kind.upper()} cannot be "
                'checked. To have it checked, let the run write {"device": {"kind": "gpu"}}, or '
                '"tpu" or "cpu", whichever it finds',
            )

    def _submit(self, message: str, *, once: bool) -> None:
        """Submit the result to the push's competition and wait for its score."""
        push = self.push
        if not push.competition:
            raise ParameterError(f"{push.reference} has no competition among its sources")
        file = submission.output_of(self.folder, self.context.root)
        if not self.unverified:
            check_verified(self.folder, file.name, in_ledger=bool(push.number))
        entry = submission.Submission(
            self.context,
            push.competition,
            message,
            file,
            push.name,
            push.version or 0,
            note=self.note,
        )
        over = push.score == NOT_SCORED or (push.score and message != push.message)
        if once or not over:  # an earlier attempt may have submitted it
            entry.reference, entry.sent = push.submission, push.message
            entry.before = push.submissions_before
        try:
            score = entry.submit()
        except RefusedError as error:
            if not isinstance(error, CapacityError):  # there are new submissions tomorrow
                self.note(score=push.score or NOT_SCORED)
            raise
        if score:
            from kernelkit.pages import push_report as pushed

            pushed.keep_score(self.folder, push.competition, score, self.context.events)

    def _suggest(self, on_kaggle: str) -> None:
        """Tell the commands to type after a complete run."""
        push, commands = self.push, []
        if push.rehearsal:
            commands = [f"{on_kaggle}  # on Kaggle, with ~/.kaggle/access_token"]
        elif push.competition:
            commands = [f"kernelkit submit {push.reference} --message MESSAGE"]
        runs = shlex.quote(from_here(self.context.runs))
        commands += [f"kernelkit report {runs} --index  # all runs"]
        self.context.events("next", "\n".join(commands), commands=commands)

    @property
    def _version(self) -> str:
        return f"{self.push.kernel} version {self.push.version}"

    def _report(self) -> None:
        from kernelkit.pages import push_report as pushed

        events = self.context.events
        title = f"{self._version} (rehearsal)" if self.push.rehearsal else self._version
        path, why = pushed.report_or_why(self.folder, title, events.clear)
        if path:
            events("report", from_here(path), path=str(path))
        else:
            events("warning", f"no report: {why}")


def check_verified(folder: Path, name: str, *, in_ledger: bool = True) -> None:
    """Raise `OutputsError` unless a file is proved to be from the session of its folder's push.

    `in_ledger`: whether the ledger has the push; one that was made elsewhere proves nothing.
    """
    if not (in_ledger and proof.is_verified(folder, name)):
        raise OutputsError(
            f"{from_here(folder / name)} is not proved to be an output of that push, so it is not "
            "submitted: check it, and add --unverified to submit it anyway"
        )
