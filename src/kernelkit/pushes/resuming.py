"""Resume an earlier push: find it in the ledger or on Kaggle, and download its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from kernelkit import machines
from kernelkit.errors import (
    KernelkitError,
    NetworkError,
    OutputsError,
    ParameterError,
    StillRunningError,
)
from kernelkit.kaggle_api.client import Kaggle, Stored
from kernelkit.kaggle_api.retries import Failure
from kernelkit.plans import metadata
from kernelkit.plans.manifest import MANIFEST
from kernelkit.pushes import fetch, proof
from kernelkit.pushes.follow import FollowOptions, Run, check_verified, follow
from kernelkit.pushes.send import look_after_cut_off
from kernelkit.reports import markdown
from kernelkit.run_folders import claims
from kernelkit.submissions import submit as submission
from kernelkit.workspace.context import LAST, CommandOptions, PushContext, in_project
from kernelkit.workspace.ledger import Push


def resume_push(
    reference: str = LAST,
    *,
    output: Path | None = None,
    accelerator: str | None = None,
    submit: str | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> Path:
    """Wait for an earlier push and download its outputs; returns their folder.

    reference    `owner/slug/N`, or "last" for the ledger's last push
    accelerator  the machine that it must have had, if the ledger does not have the push
    unverified   accept, and submit, files that are not proved to be this push's
    output, submit, options  as in `push_kernel`

    Raises `ParameterError` for a reference that names no push, and the errors of `follow`.
    """
    context = in_project(options)
    with context.ending(), context.asking(reference) as kaggle:
        push = earlier(context, kaggle, reference, accelerator)
        return _follow(context, kaggle, push, output=output, submit=submit, unverified=unverified)


def fetch_push(
    reference: str = LAST,
    *,
    only: Sequence[str] = (),
    output: Path | None = None,
    summary: Path | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> Path:
    """Download the outputs of a push, without waiting for it; returns the folder.

    reference  `owner/slug/N`, or "last" for the ledger's last push
    only       glob patterns of the files to download; without any, all are downloaded, and the
               run is checked and reported on as after a push
    output     the folder; default runs/<slug>-v<N>
    summary    a Markdown file to which the run's measures, or the error, are appended
    unverified accept files that are not proved to be this push's

    Raises `StillRunningError` while the run is active, `OutputsError` if no file matches or some
    cannot be downloaded, and without `only` everything that `resume_push` raises.
    """
    context = in_project(options)
    title = reference
    try:
        with context.ending(), context.asking(reference) as kaggle:
            push = earlier(context, kaggle, reference)
            title = push.reference
            status = kaggle.status(push.name, push.version)
            if status and status.alive:
                raise StillRunningError(
                    f"{title} is still {status.state}. {context.how_to_resume(push)}"
                )
            if only:
                folder = _fetch_some(context, kaggle, push, only, output, unverified=unverified)
            else:
                folder = _follow(context, kaggle, push, output=output, unverified=unverified)
    except KernelkitError as error:
        if summary:
            markdown.append(summary, markdown.failure(title, str(error)))
        raise
    if summary:
        markdown.append(summary, context.events.clear(markdown.table(folder, title)))
    return folder


def submit_result(
    result: str,
    message: str,
    *,
    competition: str | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> None:
    """Submit the result of a run to a competition and wait for its score.

    result       a push (`owner/slug/N` or "last"), or the folder or the file of any run
    competition  for a folder or file; by default the one in the project's kernel-metadata.json
    unverified   submit files that are not proved to be outputs of the push

    Raises `ParameterError` if the competition is unknown, and what `submit.submit` raises.
    """
    path = Path(result)
    if not path.exists():
        resume_push(result, submit=message, unverified=unverified, **options)
        return
    if path.is_file() and not path.name.endswith(submission.ENDINGS):
        endings = ", ".join(submission.ENDINGS)
        raise ParameterError(f"{path}: a competition accepts a file that ends in {endings}")
    if not competition:
        sources = metadata.load(metadata.locate(Path.cwd())).sources("competition")
        if not sources:
            raise ParameterError(
                "kernel-metadata.json names no competition: give --competition SLUG"
            )
        competition = sources[0]
    context = in_project(options)
    file = submission.output_of(path) if path.is_dir() else path
    if claims.was_pushed(file.parent) and not unverified:
        check_verified(file)
    entry = submission.Result(competition, message, file)
    with context.asking() as kaggle:
        submission.submit(context, kaggle, entry)


def earlier(
    context: PushContext, kaggle: Kaggle, reference: str, accelerator: str | None = None
) -> Push:
    """The push that `owner/slug/N` or "last" names, from the ledger or reconstructed."""
    if reference == LAST:
        return _last(context, kaggle)
    kernel, _, number = reference.rpartition("/")  # `asking` has checked the form
    version = int(number.removeprefix("v"))
    kind = machines.named(accelerator).kind if accelerator else ""
    push = context.ledger.find(kernel, version)
    return push or Push(kernel, "", "", kind, version=version, rehearsal=context.events.rehearsal)


def stored_version(kaggle: Kaggle, push: Push) -> Stored:
    """A push's version as Kaggle stores it; raises `ParameterError` if there is none."""
    stored = kaggle.stored(push.name, push.version)
    if stored is None:
        raise not_there(push)
    return stored


def not_there(push: Push) -> ParameterError:
    """The error for a push that Kaggle does not show."""
    return ParameterError(f"Kaggle has no {push.reference}, or this account cannot see it")


def _last(context: PushContext, kaggle: Kaggle) -> Push:
    rehearsal = context.events.rehearsal
    pushes = context.ledger.of("", rehearsal=rehearsal)
    if pushes and not pushes[-1].version:
        kernel = pushes[-1].kernel
        with context.alone_with(kernel):
            look_after_cut_off(context, kaggle, pushes[-1].name)
        if not context.ledger.of("", rehearsal=rehearsal)[-1].version:
            context.events("warning", f"the last push of {kernel} created no version: push again")
    push = context.ledger.last(rehearsal=rehearsal)
    if not push:
        raise ParameterError(f"no push in {context.ledger.path}: name one as OWNER/SLUG/N")
    return push


def _follow(
    context: PushContext, kaggle: Kaggle, push: Push, **options: Unpack[FollowOptions]
) -> Path:
    context.events("resumed", f"{push.kernel} version {push.version}")
    stored = stored_version(kaggle, push)
    if not push.competition:
        named = [s.partition(" ")[2] for s in stored.sources if s.startswith("competition ")]
        push = replace(push, competition=min(named, default=None))
    return follow(context, kaggle, push, stored.text, **options)


def _fetch_some(
    context: PushContext,
    kaggle: Kaggle,
    push: Push,
    only: Sequence[str],
    output: Path | None,
    *,
    unverified: bool,
) -> Path:
    run = Run(context, kaggle, push, stored_version(kaggle, push).text, unverified=unverified)
    try:
        outputs = kaggle.outputs(push.name, push.version or 0)
        proved = proof.prove(kaggle, outputs, run.number)
    except Failure as failure:
        raise NetworkError(f"the outputs cannot be listed: {failure}") from None
    if run.number and (proved.another or not proved.manifest):
        raise OutputsError(
            f"Kaggle does not list {MANIFEST} of push {run.number}, so that its files are "
            "not verified: --unverified downloads what it lists"
        )
    run.claim(output)
    with context.alone_in(run.folder):
        run.keep(outputs)
        fetch.fetch(context, kaggle, push, run.folder, outputs, only, proved.manifest)
    return run.folder
