"""The second half of a push: wait for the run, bring home what it left, and judge it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelkit import ledger as ledgers
from kernelkit import machines, outputs, run_folder, submissions
from kernelkit.answers import Kernel, Quota
from kernelkit.client import Kaggle
from kernelkit.desk import Desk
from kernelkit.errors import (
    AcceleratorMismatchError,
    OutputsError,
    ParameterError,
    RunFailedError,
)
from kernelkit.events import minutes, size_of
from kernelkit.failures import Failure
from kernelkit.ledger import Push
from kernelkit.logs import failure as failure_in
from kernelkit.waiting import Ended, Wait

LAST = "last"
ACCELERATOR_ERROR = "AcceleratorError: "  # what a notebook ends with that misses its accelerator


def resume(
    desk: Desk, reference: str, output: Path | None, accelerator: str | None, submit: str | None
) -> Path:
    """Wait for and fetch an earlier push, `owner/slug/N` or the ledger's "last".

    Raises `ParameterError` for a reference that names none, and all that `follow` raises.
    """
    with desk.venue() as kaggle:
        desk.report.keep_secret(kaggle.connection.secrets)
        desk.report.rehearsal = kaggle.connection.rehearses
        push = _earlier(desk, reference, accelerator)
        desk.report("resumed", f"{push.kernel} version {push.version}")
        owner, slug = push.kernel.split("/")
        try:
            stored = kaggle.stored(Kernel(owner, slug), push.version)
        except Failure as failure:
            raise failure.error() from None
        if stored is None:
            raise ParameterError(f"Kaggle has no {push.reference}, or not for this account")
        if not push.competition:
            named = [s.partition(" ")[2] for s in stored.sources if s.startswith("competition ")]
            push = replace(push, competition=next(iter(sorted(named)), None))
        return follow(desk, kaggle, push, output, stored.text, None, submit)


def follow(
    desk: Desk,
    kaggle: Kaggle,
    push: Push,
    output: Path | None,
    text: str,
    quota: Quota | None,
    submit: str | None,
) -> Path:
    """Wait for a push's run, fetch, check and report; `text` is the notebook that runs.

    Returns the folder of what came home. Raises `RunFailedError`, `DeadlineError`,
    `NetworkError`, `OutputsError`, `AcceleratorMismatchError`, or what `submissions.submit`
    raises; in each case with all there is to fetch in the folder.
    """
    folder = output or desk.folder(push)
    run_folder.claim(folder, push.kernel, push.version or 0)
    wait = Wait(
        kaggle,
        _kernel(push),
        push.version or 0,
        accelerator=machines.named(push.accelerator or "cpu").kind,
        emit=desk.report,
        resume=desk.how_to_resume(push),
        timeout_minutes=push.timeout_minutes,
        quota=quota,
        patience=desk.pace.patience,
    )
    ended = wait.run()
    push = _note(
        desk,
        push,
        state=ledgers.COMPLETE if ended.complete else ledgers.FAILED,
        minutes_queued=round(ended.queued / 60, 2),
        minutes_run=round(ended.run / 60, 2),
        folder=str(folder),
    )
    run_folder.keep_log(folder, ended.outputs.log)
    if not ended.complete:
        _failed(desk, kaggle, push, folder, ended, text)
    _fetch(desk, kaggle, push, folder, ended)
    _judge(desk, push, folder, text)
    if submit is not None:
        _submit(desk, kaggle, push, folder, submit)
    return folder


def _fetch(desk: Desk, kaggle: Kaggle, push: Push, folder: Path, ended: Ended) -> None:
    begun = desk.pace.clock.now()
    until = begun + desk.pace.fetch_seconds
    fetched = outputs.fetch(
        kaggle,
        _kernel(push),
        push.version or 0,
        folder,
        outputs=ended.outputs,
        until=until,
    )
    took = minutes(desk.pace.clock.wall(desk.pace.clock.now() - begun))
    desk.report(
        "fetched",
        f"{len(fetched.files)} files, {size_of(fetched.bytes)} in {took}: {folder}",
        files=dict(fetched.files),
        folder=str(folder),
    )


def _failed(desk: Desk, kaggle: Kaggle, push: Push, folder: Path, ended: Ended, text: str) -> None:
    """Bring home what a failed run left, show where it failed, and raise `RunFailedError`.

    A run that stopped for want of its accelerator raises `AcceleratorMismatchError`.
    """
    try:
        _fetch(desk, kaggle, push, folder, ended)
    except OutputsError as error:  # the failure of the run is the news
        desk.report("warning", str(error))
    found = failure_in(ended.outputs.log, text)
    if found:
        desk.report("failure", str(found), cell=found.cell, traceback=found.traceback)
    _report(desk, push, folder, text)
    why = ended.message or ("see its log" if found else "it left no log, as when it runs too long")
    if found and ACCELERATOR_ERROR in found.traceback:
        last = found.traceback.strip().splitlines()[-1]
        raise AcceleratorMismatchError(f"{push.kernel} version {push.version} stopped: {last}")
    raise RunFailedError(f"{push.kernel} version {push.version} ended in {ended.state}: {why}")


def _judge(desk: Desk, push: Push, folder: Path, text: str) -> None:
    """Show the measures, make the report, and hold the machine against the one asked for."""
    found = run_folder.metrics(folder)
    if found:
        desk.report("metrics", run_folder.summary(found), metrics=found)
        if found.get("stopped") == run_folder.OUT_OF_TIME:
            desk.report("stopped", f"it ran out of time. {desk.how_to_continue()}")
    _report(desk, push, folder, text)
    if found and push.accelerator:
        run_folder.check_accelerator(found, push.accelerator, rehearsal=push.rehearsal)
    elif push.accelerator not in ("", "cpu"):
        desk.report(
            "warning",
            f"the run left no {run_folder.METRICS}: whether it had a "
            f"{push.accelerator.upper()} cannot be checked",
        )


def _report(desk: Desk, push: Push, folder: Path, text: str) -> None:
    title = f"{push.kernel} version {push.version}" + (" (rehearsal)" if push.rehearsal else "")
    path, why = run_folder.report_or_why(folder, title, text)
    if path:
        desk.report("report", str(path), path=str(path))
    else:
        desk.report("warning", f"no report: {why}")


def _submit(desk: Desk, kaggle: Kaggle, push: Push, folder: Path, message: str) -> None:
    if not push.competition:
        raise ParameterError(f"{push.reference} has no competition among its sources")
    score = submissions.submit(
        kaggle,
        push.competition,
        message,
        folder=folder,
        kernel=_kernel(push),
        version=push.version or 0,
        seconds=desk.pace.score_seconds,
        poll=desk.pace.patience.poll,
    )
    _note(desk, push, score=score.public)
    desk.report(
        "score",
        f"{score.public} in {push.competition} (submission {score.reference})",
        score=score.public,
        submission=score.reference,
    )


def _earlier(desk: Desk, reference: str, accelerator: str | None) -> Push:
    if reference == LAST:
        push = desk.ledger.last(rehearsal=desk.report.rehearsal)
        if not push:
            raise ParameterError(f"no push in {desk.ledger.path}: name one as OWNER/SLUG/N")
        return push
    owner, _, rest = reference.partition("/")
    slug, _, number = rest.partition("/")
    if not (owner and slug and number.removeprefix("v").isdigit()):
        raise ParameterError(f"--resume {reference}: write it as OWNER/SLUG/N")
    kernel, version = f"{owner}/{slug}", int(number.removeprefix("v"))
    kind = machines.named(accelerator).kind if accelerator else ""
    known = desk.ledger.find(kernel, version)
    return known or Push(kernel, "", "", kind, version=version, rehearsal=desk.report.rehearsal)


def _note(desk: Desk, push: Push, **changes: object) -> Push:
    """The push with changes, in the ledger too if it has it."""
    return desk.ledger.update(push, **changes) if push.pushed else replace(push, **changes)  # type: ignore[arg-type]


def _kernel(push: Push) -> Kernel:
    owner, _, slug = push.kernel.partition("/")
    return Kernel(owner, slug)
