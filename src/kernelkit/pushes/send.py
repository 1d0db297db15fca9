"""Send a planned push, with its line in the ledger from before the request is out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelkit.checks import account, preflight, wheels
from kernelkit.checks.wheels import AttachedWheels
from kernelkit.errors import PreflightError, RefusedError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure, FailureKind
from kernelkit.kaggle_api.types import Kernel, Saved
from kernelkit.plans.plan import Plan
from kernelkit.pushes.save import save_once
from kernelkit.terminal.events import from_here
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push

LOOK_BACK = 5  # versions among which a push that was cut off is looked for


def prepare(
    context: PushContext, plan: Plan, kaggle: Kaggle, *, continues: bool
) -> tuple[Plan, AttachedWheels | None]:
    """The plan under the account's name with all that it attaches, checked for its secrets."""
    plan, leaks = account.with_account(context, plan, kaggle)
    preflight.stop_on_errors(leaks)
    if continues:
        plan = account.continuing(context, plan, kaggle)
    return wheels.attach(context, plan, kaggle)


def send(
    context: PushContext,
    plan: Plan,
    kaggle: Kaggle,
    *,
    force: bool,
    queued: str = "",
    stays: Sequence[str] = (),
) -> Push:
    """Push one version, with its line in the ledger from before the request is out.

    The line keeps `queued`, the identity of the queued push that it is made of, and `stays`, the
    patterns of outputs that stay at Kaggle.
    """
    kernel, bundle = plan.kernel, plan.bundle
    push = Push(
        kernel=str(kernel),
        content=plan.content,
        git=str(bundle.commit),
        accelerator=plan.metadata.machine.kind,
        parameters=dict(bundle.parameters),
        timeout_minutes=plan.timeout_minutes,
        competition=next(iter(plan.metadata.sources("competition")), None),
        rehearsal=context.events.rehearsal,
        bundle=bundle.content,
        queued=queued,
        stays=list(stays),
    )
    if not force:
        _refuse_identical(context, push, again=plan.metadata.continues)
    push = context.ledger.begin(push)
    try:
        saved = save_once(kaggle, kernel, plan.save_fields, context.timing.saving)
    except Failure as failure:
        unknown = (
            failure.kind in (FailureKind.NETWORK, FailureKind.SERVER, FailureKind.MALFORMED)
            and failure.sent
        )
        context.ledger.update(push, state=ledgers.LOST if unknown else ledgers.REFUSED)
        error = failure.error()
        if unknown:
            raise type(error)(
                f"{error}. Whether the push arrived is not known: look at "
                f"https://www.kaggle.com/code/{kernel} before you push again"
            ) from None
        raise error from None
    push = context.ledger.update(
        push, version=saved.version, state=ledgers.QUEUED, resent_after=saved.resent_after
    )
    context.events(
        "pushed",
        f"{kernel} version {saved.version}: {saved.url}",
        kernel=str(kernel),
        version=saved.version,
        url=saved.url,
    )
    tell_twins(context, push, saved.twins)
    _check_sources(context, push, saved)
    return push


def tell_twins(context: PushContext, push: Push, twins: tuple[int, ...]) -> None:
    """Say that a push which was sent again runs more than once."""
    for version in twins:
        context.events(
            "warning",
            f"{push.kernel} version {version} is this push too: it arrived after it had been sent "
            f"again as version {push.version}. Both run and use quota; Kaggle stops a run only "
            f"when the whole kernel is deleted: https://www.kaggle.com/code/{push.kernel}",
            version=version,
        )


def look_after_cut_off(context: PushContext, kaggle: Kaggle, kernel: Kernel) -> None:
    """Find the version of the kernel's last push where the push was cut off while it was sent.

    The caller holds `context.alone_with(kernel)`: another command's push that is just going out
    looks the same in the ledger. Raises what `Failure.error` gives.
    """
    pushes = context.ledger.of(str(kernel), rehearsal=context.events.rehearsal)
    for push in pushes:
        lost_last = push is pushes[-1] and push.state == ledgers.LOST
        if not push.version and (push.state == ledgers.SENDING or lost_last):
            _settle(context, kaggle, kernel, push)


def _settle(context: PushContext, kaggle: Kaggle, kernel: Kernel, push: Push) -> None:
    """Record which version a push without an answer made, or that it made none."""
    pushes = context.ledger.of(str(kernel), rehearsal=context.events.rehearsal)
    try:
        version = _version_of(kaggle, kernel, pushes, push)
    except Failure as failure:
        raise failure.error() from None
    if version is None:
        context.ledger.update(push, state=ledgers.LOST)
        return
    push = context.ledger.update(push, version=version, state=ledgers.QUEUED)
    context.events(
        "found",
        f"{push.reference}: the push was cut off while it was sent, and arrived",
        version=version,
    )


def _version_of(kaggle: Kaggle, kernel: Kernel, pushes: list[Push], push: Push) -> int | None:
    """The version that one of these pushes made; its text states the push's hash."""
    before = {other.version for other in pushes if other.pushed < push.pushed}
    known = {other.version for other in pushes}
    latest = kaggle.stored(kernel)
    newest = latest.version if latest and push.bundle else 0
    for version in range(newest, max(0, newest - LOOK_BACK), -1):
        if version in before:
            return None
        stored = None if version in known else kaggle.stored(kernel, version)
        if stored and f"sha256:{push.bundle}" in stored.text:
            return version
    return None


def _refuse_identical(context: PushContext, push: Push, *, again: bool) -> None:
    """Raise `PreflightError` for an identical earlier push; `again`: this one continues that
    run."""
    earlier = context.ledger.last(rehearsal=push.rehearsal, kernel=push.kernel)
    alive = (ledgers.SENDING, ledgers.QUEUED, ledgers.RUNNING)
    useful = alive if again else (*alive, ledgers.COMPLETE)
    if earlier and earlier.content == push.content and earlier.state in useful:
        home = f" into {from_here(Path(earlier.folder))}" if earlier.folder else ""
        raise PreflightError(
            f"identical to {earlier.reference} ({earlier.state}): {context.resuming(earlier)} "
            f"fetches that{home}, or push all the same with --force"
        )
    if earlier and earlier.content == push.content and earlier.state == ledgers.UNFETCHED:
        context.events(
            "warning",
            f"identical to {earlier.reference}, whose outputs did not all come home: "
            f"{context.resuming(earlier)} fetches them without another run",
        )


def _check_sources(context: PushContext, push: Push, saved: Saved) -> None:
    if saved.recovered:
        context.events("warning", "Kaggle's answer was lost on the way, but the version arrived")
    if saved.refused_tags:
        context.events("warning", f"Kaggle does not know the keywords {list(saved.refused_tags)}")
    if not saved.refused_sources:
        return
    refused = ", ".join(saved.refused_sources)
    if saved.recovered:  # Kaggle may write a source in another form than was sent
        context.events("warning", f"Kaggle does not list these sources: {refused}")
        return
    context.ledger.update(push, state=ledgers.REFUSED)
    if context.local is not None:
        raise RefusedError(
            f"this rehearsal's Kaggle does not have {refused}: put its files below "
            f"{from_here(context.local / 'catalogue')}, in competitions/SLUG or "
            "datasets/OWNER/SLUG, or have a command fill it (catalogue in [tool.kernelkit])"
        )
    raise RefusedError(
        f"Kaggle refused {refused} and runs {push.reference} without: correct the sources "
        "(spelling, access, the competition's rules accepted) and push with --force, which "
        "starts a second session beside this one unless you delete the kernel"
    )
