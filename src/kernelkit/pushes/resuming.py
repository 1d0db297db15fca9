"""Take up an earlier push: find it in the ledger or at Kaggle, and follow it to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelkit import machines
from kernelkit.errors import ParameterError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Kernel
from kernelkit.pushes.context import LAST, PushContext
from kernelkit.pushes.follow import follow, kernel_of
from kernelkit.pushes.ledger import Push
from kernelkit.pushes.send import look_after_cut_off


def resume(
    context: PushContext,
    reference: str,
    output: Path | None,
    accelerator: str | None,
    submit: str | None,
) -> Path:
    """Wait for and fetch an earlier push, `owner/slug/N` or the ledger's "last".

    Raises `ParameterError` for a reference that names none, and all that `follow` raises.
    """
    with context.asking(reference) as kaggle:
        push = earlier(context, kaggle, reference, accelerator)
        context.events("resumed", f"{push.kernel} version {push.version}")
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
        return follow(context, kaggle, push, output, stored.text, None, submit)


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
    known = context.ledger.find(kernel, version)
    return known or Push(kernel, "", "", kind, version=version, rehearsal=context.events.rehearsal)


def named(reference: str) -> tuple[str, int]:
    """The kernel and the version of `owner/slug/N`; raises `ParameterError`."""
    owner, _, rest = reference.partition("/")
    slug, _, number = rest.partition("/")
    if not (owner and slug and number.removeprefix("v").isdigit()):
        raise ParameterError(
            f"{reference!r} names no push, and no folder is there: write a push as OWNER/SLUG/N"
        )
    return f"{owner}/{slug}", int(number.removeprefix("v"))
