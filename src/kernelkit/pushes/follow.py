"""The second half of a push: wait for the run, fetch its outputs, and check them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelkit import machines, project
from kernelkit.errors import (
    CapacityError,
    NetworkError,
    OutputsError,
    ParameterError,
    RefusedError,
    RunFailedError,
    of_traceback,
)
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.types import Kernel, Outputs, Quota
from kernelkit.pushes.fetch import fetch
from kernelkit.pushes.save import twins
from kernelkit.pushes.send import tell_twins
from kernelkit.pushes.wait import Ended, Wait
from kernelkit.run_folders import claims, kit_folder, run_folder
from kernelkit.run_folders.claims import Claim
from kernelkit.run_folders.log import failure as failure_in
from kernelkit.shown import duration
from kernelkit.submissions import submit as submission
from kernelkit.terminal import invocation
from kernelkit.terminal.events import from_here, size_of
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push


def follow(
    context: PushContext,
    kaggle: Kaggle,
    push: Push,
    text: str,
    *,
    output: Path | None,
    submit: str | None,
    quota: Quota | None = None,
    submit_once: bool = False,
) -> Path:
    """Wait for a push's run, fetch, check and report; `text` is the notebook that runs.

    `submit` is the message of a submission, which `submit_once` makes only where the ledger does
    not say that it was made for this push before.

    Returns the folder of what came home. Raises `RunFailedError` or one of
    `errors.OF_NOTEBOOKS`, `DeadlineError`, `NetworkError`, `RefusedError`, `CredentialsError`,
    `OutputsError`, or what `submit.submit` raises; in each case with all there is to fetch in the
    folder.
    """
    mine = Claim(push.kernel, push.version or 0, claims.source_of(text), push.pushed)
    named = output or context.folder(push)
    with context.alone_in(named):
        folder, aside = claims.claim(named, mine, chosen=output is not None)
    _tell_aside(context, folder, aside)
    push = _note(context, push, folder=str(folder))
    ended = _wait(context, kaggle, push, quota)
    push = _note(
        context,
        push,
        state=ledgers.UNFETCHED if ended.complete else ledgers.FAILED,
        minutes_queued=round(ended.queued / 60, 2),
        minutes_run=round(ended.run / 60, 2),
    )
    if push.resent_after is not None:  # an earlier send of the push may have arrived during the run
        after, version = push.resent_after, push.version or 0
        tell_twins(context, push, twins(kaggle, kernel_of(push), text, after, version))
    if ended.outputs is None:
        raise NetworkError(
            f"{push.kernel} version {push.version} ended in {ended.state}, and what it left cannot "
            f"be listed: {ended.unlisted}. {context.how_to_fetch(push)}"
        )
    with context.alone_in(folder):  # another command may wait for the same run
        mine = replace(mine, session=claims.session_of(ended.outputs.log))
        _tell_aside(context, folder, claims.settle(folder, mine))
        run_folder.keep(folder, ended.outputs.log, text, context.events.clear)
        if not ended.complete:
            _failed(context, kaggle, push, folder, ended, ended.outputs, text)
        _fetch(context, kaggle, push, folder, ended.outputs)
        push = _note(context, push, state=ledgers.COMPLETE)
        _judge(context, push, folder, text)
    if submit is not None:
        _submit(context, kaggle, push, folder, submit, once=submit_once)
    else:
        following = context.what_next(push)
        context.events("next", "\n".join(following), commands=following)
    return folder


def _wait(context: PushContext, kaggle: Kaggle, push: Push, quota: Quota | None) -> Ended:
    wait = Wait(
        kaggle,
        kernel_of(push),
        push.version or 0,
        accelerator=machines.named(push.accelerator or "cpu").kind,
        emit=context.events,
        resume=context.how_to_resume(push),
        outlives=not context.local,
        timeout_minutes=push.timeout_minutes,
        quota=quota,
        patience=context.timing.patience,
    )
    try:
        return wait.run()
    except RefusedError:
        known = context.ledger.find(push.kernel, push.version or 0)
        if known is None or known.state != ledgers.STOPPED:  # by `kernelkit stop`, meanwhile
            _note(context, push, state=ledgers.LOST)
        raise


def _tell_aside(context: PushContext, folder: Path, aside: Path | None) -> None:
    if aside:
        context.events(
            "set aside",
            f"{from_here(folder)} held what may be another run's: it is now in {from_here(aside)}",
            folder=str(aside),
        )


def _fetch(context: PushContext, kaggle: Kaggle, push: Push, folder: Path, listed: Outputs) -> None:
    begun = context.timing.clock.now()
    until = begun + context.timing.fetch_seconds
    try:
        fetched = fetch(
            kaggle,
            kernel_of(push),
            push.version or 0,
            folder,
            outputs=listed,
            until=until,
            stays=push.stays,
        )
    except OutputsError as error:
        raise OutputsError(f"{error}\n{context.how_to_fetch(push)}") from None
    took = duration(context.timing.clock.wall(context.timing.clock.now() - begun))
    context.events(
        "fetched",
        f"{len(fetched.files)} files, {size_of(fetched.bytes)} in {took}: {from_here(folder)}",
        files=dict(fetched.files),
        folder=str(folder),
    )
    if fetched.stayed:
        context.events(
            "stays",
            f"{len(fetched.stayed)} files, {size_of(sum(fetched.stayed.values()))}, are of use in "
            f"sessions only: {invocation.command('fetch')} {push.reference} --only "
            f"'{push.stays[0]}' brings them",
            files=dict(fetched.stayed),
        )


def _failed(
    context: PushContext,
    kaggle: Kaggle,
    push: Push,
    folder: Path,
    ended: Ended,
    listed: Outputs,
    text: str,
) -> None:
    """Fetch the outputs of a failed run, show the failing cell, and raise the run's error.

    That is `RunFailedError`, or the error of the exception's name (`errors.OF_NOTEBOOKS`).
    """
    try:
        _fetch(context, kaggle, push, folder, listed)
    except OutputsError as error:  # the run's own failure is raised below
        context.events("warning", str(error))
    failure = failure_in(listed.log, text)
    if failure:
        context.events("failure", str(failure), cell=failure.cell, traceback=failure.traceback)
    _report(context, push, folder, text)
    kind, message = of_traceback(failure.traceback) if failure else (RunFailedError, "")
    log = from_here(kit_folder.path(folder, kit_folder.LOG_TEXT))
    said = f"{message.partition(chr(10))[0]}\nIts log: {log}"
    why = ended.message or (said if failure else "it left no log, as when it runs too long")
    if kind is not RunFailedError:
        raise kind(f"{push.kernel} version {push.version} stopped: {message}")
    raise RunFailedError(f"{push.kernel} version {push.version} ended in {ended.state}: {why}")


def _judge(context: PushContext, push: Push, folder: Path, text: str) -> None:
    """Show the measures, write the report, and compare the machine with the one asked for."""
    metrics = run_folder.metrics(folder)
    if metrics:
        context.events(
            "metrics", run_folder.summary(metrics, project.shown(folder)), metrics=metrics
        )
        if metrics.get("stopped") == run_folder.OUT_OF_TIME:
            context.events("stopped", f"it ran out of time. {context.how_to_continue()}")
    _report(context, push, folder, text)
    if metrics and push.accelerator and run_folder.names_device(metrics):
        run_folder.check_accelerator(metrics, push.accelerator, rehearsal=push.rehearsal)
    elif push.accelerator not in ("", "cpu"):
        left = "names no device in" if metrics else "left no"
        context.events(
            "warning",
            f"the run {left} {run_folder.METRICS}: whether it had a {push.accelerator.upper()} "
            'cannot be checked. {"device": {"kind": "gpu"}}, or "tpu" or "cpu", as the run finds '
            "it, has it checked",
        )


def _report(context: PushContext, push: Push, folder: Path, text: str) -> None:
    from kernelkit.reports import pushed

    title = f"{push.kernel} version {push.version}" + (" (rehearsal)" if push.rehearsal else "")
    path, why = pushed.report_or_why(folder, title, text, context.events.clear)
    if path:
        context.events("report", from_here(path), path=str(path))
    else:
        context.events("warning", f"no report: {why}")


def _submit(
    context: PushContext, kaggle: Kaggle, push: Push, folder: Path, message: str, *, once: bool
) -> None:
    if not push.competition:
        raise ParameterError(f"{push.reference} has no competition among its sources")
    noted = push

    def note(**changes: object) -> None:
        nonlocal noted
        noted = _note(context, noted, **changes)

    earlier = submission.EarlierTry(push.submission, push.submissions_before) if once else None
    try:
        score = submission.submit(
            kaggle,
            push.competition,
            message,
            folder=folder,
            kernel=kernel_of(push),
            version=push.version or 0,
            seconds=context.timing.score_seconds,
            poll=context.timing.patience.poll,
            earlier=earlier,
            note=note,
        )
    except CapacityError:  # the day's submissions are used up, and tomorrow's are not
        raise
    except (RefusedError, OutputsError):
        note(score=push.score or ledgers.NOT_SCORED)
        raise
    note(score=score.public)
    submission.tell_score(context, push.competition, score)


def _note(context: PushContext, push: Push, **changes: object) -> Push:
    """The push with changes, which the ledger records if it holds the push."""
    return context.ledger.update(push, **changes) if push.pushed else replace(push, **changes)  # type: ignore[arg-type]


def kernel_of(push: Push) -> Kernel:
    """The kernel that a push is of."""
    return Kernel.of(push.kernel)
