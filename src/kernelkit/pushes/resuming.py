"""Take up an earlier push: find it in the ledger or at Kaggle, and follow it to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from kernelkit import machines
from kernelkit.errors import ParameterError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.plans import plan as plans
from kernelkit.pushes.follow import follow, kernel_of
from kernelkit.pushes.send import look_after_cut_off
from kernelkit.workspace.context import LAST, CommandOptions, PushContext, in_project
from kernelkit.workspace.ledger import Push


def resume_push(
    reference: str = LAST,
    *,
    output: Path | None = None,
    accelerator: str | None = None,
    submit: str | None = None,
    **options: Unpack[CommandOptions],
) -> Path:
    """Wait for an earlier push and bring its outputs home; returns their folder.

    reference    `owner/slug/N`, or "last" of the ledger
    accelerator  the machine that it must have had, where the ledger does not know the push
    output, submit, options  as `push_kernel` takes them

    Raises `ParameterError` for a reference that names no push, and all that `follow` raises.
    """
    context = in_project(plans.here(None), options)
    with context.ending(), context.asking(reference) as kaggle:
        push = earlier(context, kaggle, reference, accelerator)
        context.events("resumed", f"{push.kernel} version {push.version}")
        try:
            stored = kaggle.stored(kernel_of(push), push.version)
        except Failure as failure:
            raise failure.error() from None
        if stored is None:
            raise ParameterError(f"Kaggle has no {push.reference}, or not for this account")
        if not push.competition:
            named = [s.partition(" ")[2] for s in stored.sources if s.startswith("competition ")]
            push = replace(push, competition=next(iter(sorted(named)), None))
        return follow(context, kaggle, push, stored.text, output=output, submit=submit)


def _last(context: PushContext, kaggle: Kaggle) -> Push:
    pushes = context.ledger.of("", rehearsal=context.events.rehearsal)
    if pushes and not pushes[-1].version:
        with context.alone_with(pushes[-1].kernel):
            look_after_cut_off(context, kaggle, kernel_of(pushes[-1]))
        cut_off = context.ledger.of("", rehearsal=context.events.rehearsal)[-1]
        if not cut_off.version:
            context.events(
                "warning", f"the last push of {cut_off.kernel} made no version: push again"
            )
    push = context.ledger.last(rehearsal=context.events.rehearsal)
    if not push:
        raise ParameterError(f"no push in {context.ledger.path}: name one as OWNER/SLUG/N")
    return push


def earlier(
    context: PushContext, kaggle: Kaggle, reference: str, accelerator: str | None = None
) -> Push:
    """The push that `owner/slug/N` or "last" names, as the ledger has it or without its past."""
    if reference == LAST:
        return _last(context, kaggle)
    kernel, version = named(reference)
    kind = machines.named(accelerator).kind if accelerator else ""
    push = context.ledger.find(kernel, version)
    return push or Push(kernel, "", "", kind, version=version, rehearsal=context.events.rehearsal)


def named(reference: str) -> tuple[str, int]:
    """The kernel and the version of `owner/slug/N`; raises `ParameterError`."""
    owner, _, rest = reference.partition("/")
    slug, _, number = rest.partition("/")
    if not (owner and slug and number.removeprefix("v").isdigit()):
        raise ParameterError(
            f"{reference!r} names no push, and no folder is there: write a push as OWNER/SLUG/N"
        )
    return f"{owner}/{slug}", int(number.removeprefix("v"))
