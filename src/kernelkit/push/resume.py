"""Resume an earlier push: enter the stages at what was sent, wherever it was sent from."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from kernelkit.errors import (
    NOT_VISIBLE,
    CredentialsError,
    KernelkitError,
    ParameterError,
)
from kernelkit.files import from_here
from kernelkit.kaggle.context.kaggle_context import CommandOptions
from kernelkit.pages import markdown
from kernelkit.push.asked.identical import results_are_here
from kernelkit.push.delivered.results import Results
from kernelkit.push.delivered.submit_push import competition_of
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import LAST, PushContext
from kernelkit.push.planned.plan import ACCELERATOR
from kernelkit.push.planned.request import WITHOUT_PARAMETERS, Delivery
from kernelkit.push.push_kernel import bring_results
from kernelkit.push.sending.arrived import find_interrupted
from kernelkit.push.sending.sent import go_on
from kernelkit.terminal.events import Event
from kernelkit.terminal.live_line import fitted

RESUMED = Event("resumed")
REFERENCE = re.compile(r"[^/\s]+/[^/\s]+/v?\d{1,18}")
ONLY_REHEARSED = "{} was rehearsed here: --local asks the local Kaggle for it"


def resume_push(
    reference: str = LAST,
    *,
    output: Path | None = None,
    only: Sequence[str] = (),
    submit: str | None = None,
    wait: bool = True,
    summary: Path | None = None,
    unverified: bool = False,
    **options: Unpack[CommandOptions],
) -> Path:
    """Wait for an earlier push and download its outputs; returns their folder.

    reference    `owner/slug/N`, or "last" for the ledger's last push
    output       the folder; default runs/SLUG-vN, or the one that was chosen before
    only         glob patterns of the files to download; without any, all are downloaded, and the
                 run is checked and reported on as after a push
    submit       a message: submit the result to the competition and wait for its score
    wait         False: download only what is there, and do not wait for the run
    summary      a Markdown file to which the run's measures, or the error, are appended
    unverified   accept, and submit, files that are not proved to be this push's

    Raises `ParameterError` for a reference that names no push, `StillRunningError` if the run is
    active and `wait` is false, and the errors of `await_end` and `bring_home`.
    """
    if only and submit is not None:
        raise ParameterError("--only downloads some files, and --submit needs all: drop one")
    context = PushContext.in_project(**options)
    delivery = Delivery(output, only, submit, unverified=unverified, wait=wait)
    title = reference
    try:
        with context.announcing_errors(), earlier_push(context, reference) as push:
            title = push.reference
            if push.state == State.SAVED:
                raise ParameterError(
                    f"{title} was saved without a session, so there is no run to return to: run it "
                    "on its page on Kaggle, or push it without --no-run"
                )
            if push.parameters.keys() - {ACCELERATOR}:  # which the kit sets itself
                on_kaggle = delivery.on_kaggle + WITHOUT_PARAMETERS
                delivery = replace(delivery, on_kaggle=on_kaggle)
            results = _resume(context, push, delivery)
    except KernelkitError as error:
        if summary:
            markdown.append(summary, markdown.failure(title, str(error)))
        raise
    if summary:
        markdown.append(summary, context.events.clear(markdown.table(results.folder, title)))
    return results.folder


def _resume(context: PushContext, push: Push, delivery: Delivery) -> Results:
    """Go on with a push that was sent.

    One that was pushed elsewhere has the competition of the version that Kaggle stores. Raises
    `ParameterError` for one that Kaggle does not have.
    """
    context.events(RESUMED, push.words)
    stored = context.kaggle.stored(push.name, push.version)
    if stored is None:
        words = NOT_VISIBLE.format(push.reference)
        if results_are_here(context, push):
            words += f"; its results are in {from_here(context.folder(push))}"
        raise ParameterError(words)
    named = [s.partition(" ")[2] for s in stored.sources if s.startswith("competition ")]
    if named and not push.competition:
        with context.naming_the_way_back(push):
            push = context.note(push, competition=named[0])
    if delivery.submit is not None:
        competition_of(push)  # without one, refused before anything is downloaded
    return bring_results(context, go_on(context, push, stored), delivery)


@contextlib.contextmanager
def earlier_push(context: PushContext, reference: str) -> Iterator[Push]:
    """The push that `owner/slug/N` or "last" names, with Kaggle connected during a block.

    Raises `ParameterError`, where it can before Kaggle is asked.
    """
    if reference == LAST:
        only_rehearsed = context.ledger.pushes() and not context.ledger.of()
        if only_rehearsed and not context.rehearsal:
            raise ParameterError(
                "nothing was pushed to Kaggle yet, only rehearsed: kernelkit status --local. For a "
                "push from another machine, write OWNER/SLUG/N"
            )
    elif not REFERENCE.fullmatch(reference):
        raise ParameterError(
            f"{fitted(reference, 80)!r} is neither a push nor a file or folder here: write "
            "OWNER/SLUG/N, for example me/my-notebook/3"
        )
    try:
        with context.connect():
            yield _last(context) if reference == LAST else _named(context, reference)
    except CredentialsError as error:
        if _was_rehearsed(context, reference):
            raise CredentialsError(f"{error}. {ONLY_REHEARSED.format(reference)}") from None
        raise


def _named(context: PushContext, reference: str) -> Push:
    """The push from the ledger, or what is known of one that was pushed elsewhere."""
    kernel, _, number = reference.rpartition("/")
    version = int(number.removeprefix("v"))
    rehearsal = context.rehearsal
    unknown = Push(kernel, "", "", "", version=version, rehearsal=rehearsal)
    for push in reversed(context.ledger.of()):
        if push.reference == unknown.reference:
            return push
    if _was_rehearsed(context, reference) and not context.kaggle.stored(unknown.name, version):
        words = f"{NOT_VISIBLE.format(reference)}. {ONLY_REHEARSED.format(reference)}"
        raise ParameterError(words)
    return unknown


def _was_rehearsed(context: PushContext, reference: str) -> bool:
    """Whether the ledger has a rehearsal by this name, where a push to Kaggle is meant.

    Kaggle's versions are counted apart, so it says nothing of a push of the same number.
    """
    if context.rehearsal:
        return False
    return any(push.reference == reference for push in context.ledger.pushes() if push.rehearsal)


def _last(context: PushContext) -> Push:
    """The ledger's last push, looked for on Kaggle if it was interrupted while being sent."""
    ledger = context.ledger
    pushes = ledger.of()
    if not pushes:
        raise ParameterError(f"no push in {ledger.path}: name one as OWNER/SLUG/N")
    push = pushes[-1]
    if not push.version:
        with context.alone_with(push.kernel):
            find_interrupted(context, push.kernel)
        push = ledger.entry(push) or push
    if not push.version:
        raise ParameterError(
            f"the last push, of {push.kernel}, created no version: push again, or name an earlier "
            "push as OWNER/SLUG/N"
        )
    return push
