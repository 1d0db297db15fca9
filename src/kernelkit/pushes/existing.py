"""Commands on an earlier push: fetch some of its files, submit its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from kernelkit.errors import (
    KernelkitError,
    NetworkError,
    OutputsError,
    ParameterError,
    StillRunningError,
)
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Stored
from kernelkit.plans import metadata, plan
from kernelkit.pushes.fetch import fetch
from kernelkit.pushes.follow import kernel_of
from kernelkit.pushes.resuming import earlier, resume_push
from kernelkit.pushes.status import state_of
from kernelkit.reports import markdown
from kernelkit.run_folders import claims, run_folder
from kernelkit.run_folders.claims import Claim
from kernelkit.shown import duration
from kernelkit.submissions import submit as submission
from kernelkit.terminal.events import from_here, size_of
from kernelkit.workspace.context import LAST, CommandOptions, PushContext, in_project
from kernelkit.workspace.ledger import Push


def fetch_push(
    reference: str = LAST,
    *,
    only: Sequence[str] = (),
    output: Path | None = None,
    summary: Path | None = None,
    **options: Unpack[CommandOptions],
) -> Path:
    """Bring home what a push left, without waiting for it; returns the folder.

    reference  `owner/slug/N`, or "last" of the ledger
    only       glob patterns of the files that are wanted; without any all come home, and the run
               is checked and reported on as after a push
    output     the folder; default runs/<slug>-v<N>
    summary    a Markdown file that the run's measures, or what ended this, are added to

    Raises `StillRunningError` while the run is alive, `OutputsError` where no file fits or not all
    came, and without `only` everything that `resume_push` raises.
    """
    context = in_project(plan.here(None), options)
    title = reference
    try:
        with context.asking(reference) as kaggle:
            push = earlier(context, kaggle, reference)
            title = push.reference
            folder = _brought_home(context, kaggle, push, only, output)
        folder = folder or resume_push(title, output=output, **options)
    except KernelkitError as error:
        if summary:
            markdown.append(summary, markdown.failure(title, context.events.clear(str(error))))
        raise
    folder = folder or context.folder(push)
    if summary:
        markdown.append(summary, context.events.clear(markdown.table(folder, title)))
    return folder


def _brought_home(
    context: PushContext, kaggle: Kaggle, push: Push, only: Sequence[str], output: Path | None
) -> Path | None:
    """The folder with the files that are wanted; None where all of them are wanted.

    Raises `StillRunningError` while the run is alive.
    """
    stored, status = state_of(kaggle, push)
    if status and status.alive:
        raise StillRunningError(
            f"{push.reference} is still {status.state}. {context.how_to_resume(push)}"
        )
    return _some(context, kaggle, push, stored, only, output) if only else None


def submit_result(
    result: str,
    message: str,
    *,
    competition: str | None = None,
    **options: Unpack[CommandOptions],
) -> None:
    """Enter the `submission.csv` of a run into a competition and wait for its score.

    result       `owner/slug/N` or "last" of a push, or the folder or the file of any run
    competition  for a folder or file; by default that of the project's kernel-metadata.json

    Raises `ParameterError` where no competition is known, and what `submit.submit` raises.
    """
    path = Path(result)
    if not path.exists():
        resume_push(result, submit=message, **options)
        return
    folder = path if path.is_dir() else path.parent
    if path.is_file() and path.name != submission.SUBMISSION:
        raise ParameterError(f"{path}: a competition takes {submission.SUBMISSION} from here")
    name = competition or _own_competition()
    context = in_project(plan.here(None), options)
    with context.asking() as kaggle:
        score = submission.submit(
            kaggle,
            name,
            message,
            folder=folder,
            kernel=None,
            version=0,
            seconds=context.timing.score_seconds,
            poll=context.timing.patience.poll,
        )
        submission.tell_score(context, name, score)


def _own_competition() -> str:
    sources = metadata.load(plan.locate(Path.cwd())).sources("competition")
    if not sources:
        raise ParameterError("kernel-metadata.json names no competition: give --competition SLUG")
    return next(iter(sources))


def _some(
    context: PushContext,
    kaggle: Kaggle,
    push: Push,
    stored: Stored,
    only: Sequence[str],
    output: Path | None,
) -> Path:
    begun = context.timing.clock.now()
    kernel, version = kernel_of(push), push.version or 0
    try:
        outputs = kaggle.outputs(kernel, version)
    except Failure as failure:
        raise NetworkError(f"the outputs cannot be listed: {failure.error()}") from None
    mine = Claim(
        push.kernel,
        version,
        claims.source_of(stored.text),
        push.pushed,
        claims.session_of(outputs.log),
    )
    named = output or context.folder(push)
    with context.alone_in(named):
        folder, _ = claims.claim(named, mine, chosen=output is not None)
        claims.settle(folder, mine)
        run_folder.keep(folder, outputs.log, stored.text, context.events.clear)
        until = begun + context.timing.fetch_seconds
        try:
            fetched = fetch(
                kaggle, kernel, version, folder, outputs=outputs, until=until, only=only
            )
        except OutputsError as error:
            raise OutputsError(context.events.clear(str(error))) from None
    took = duration(context.timing.clock.wall(context.timing.clock.now() - begun))
    context.events(
        "fetched",
        f"{len(fetched.files)} of {len(outputs.files)} files, {size_of(fetched.bytes)} in {took}: "
        f"{from_here(folder)}",
        files=dict(fetched.files),
        folder=str(folder),
    )
    return folder
