"""Send a planned push; its line in the ledger is written before the request is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernelkit.checks import account, preflight, tpu, wheels
from kernelkit.errors import KernelkitError, PreflightError, RefusedError
from kernelkit.kaggle_api.client import SOURCES, Kaggle, Kernel, Saved, Stored
from kernelkit.kaggle_api.retries import Failure, FailureKind
from kernelkit.plans import build
from kernelkit.plans.plan import Plan
from kernelkit.pushes.save import save_once
from kernelkit.terminal.events import from_here
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import PushContext
from kernelkit.workspace.ledger import Push

LOOK_BACK = 5  # latest versions to search for an interrupted push


def prepare(context: PushContext, plan: Plan, kaggle: Kaggle, *, continues: bool) -> Plan:
    """The plan under the account's name, checked for secrets, with everything uploaded and
    attached."""
    plan, leaks = account.with_account(context, plan, kaggle)
    preflight.stop_on_errors(leaks)
    if continues:
        plan = account.continuing(context, plan, kaggle)
    if not plan.project.wheels:
        return plan
    return wheels.attach(context, plan, kaggle.username, kaggle)


def draft(context: PushContext, plan: Plan, kaggle: Kaggle) -> Push:
    """The ledger's line for a push before it is sent; raises what `account.own_sources` raises."""
    bundle, kind = plan.bundle, plan.metadata.machine.kind
    return Push(
        kernel=str(plan.kernel),
        content=plan.content,
        git=str(bundle.commit),
        accelerator=kind,
        parameters=dict(bundle.parameters),
        timeout_minutes=plan.timeout_minutes,
        competition=next(iter(plan.metadata.sources("competition")), None),
        rehearsal=context.events.rehearsal,
        bundle=bundle.content,
        inputs=account.own_sources(context, plan, kaggle),
        estimate=tpu.estimate(plan) if kind == "tpu" else {},
    )


def send(
    context: PushContext,
    plan: Plan,
    kaggle: Kaggle,
    *,
    force: bool,
    queued: str = "",
    stays: Sequence[str] = (),
) -> Push:
    """Push one version; its line in the ledger is written before the request is sent.

    The line records `queued`, the identity of the queued item, and `stays`, the patterns of outputs
    to leave on Kaggle.
    """
    push = replace(draft(context, plan, kaggle), queued=queued, stays=list(stays))
    if not force:
        _refuse_identical(context, kaggle, push)
    push = context.ledger.begin(push)
    fields = plan.save_fields | {"text": build.stamped(plan.bundle.text, push.number)}
    try:
        saved = save_once(kaggle, plan.kernel, fields, context.timing.saving)
    except Failure as failure:
        raise _not_saved(context, push, failure) from None
    push = context.ledger.update(
        push,
        kernel=saved.ref,
        version=saved.version,
        state=ledgers.QUEUED,
        resent_after=saved.resent_after,
    )
    context.events(
        "pushed",
        f"{push.kernel} version {saved.version}: {saved.url}",
        kernel=push.kernel,
        version=saved.version,
        url=saved.url,
    )
    report_twins(context, push, saved.twins)
    _check_saved(context, plan, push, saved)
    return push


def _not_saved(context: PushContext, push: Push, failure: Failure) -> KernelkitError:
    """The error for a push that Kaggle did not confirm, which is also noted in the ledger."""
    kinds = (FailureKind.NETWORK, FailureKind.SERVER, FailureKind.MALFORMED)
    unknown = failure.kind in kinds and failure.sent
    context.ledger.update(push, state=ledgers.LOST if unknown else ledgers.REFUSED)
    if not unknown:
        return failure
    return failure.advising(
        "It is not known whether the push arrived: look at "
        f"https://www.kaggle.com/code/{push.kernel} before you push again"
    )


def report_twins(context: PushContext, push: Push, twins: tuple[int, ...]) -> None:
    """Warn that a push that was sent again runs more than once."""
    for version in twins:
        context.events(
            "warning",
            f"{push.kernel} version {version} is also this push: it arrived late, after being "
            f"sent again as version {push.version}. Both run and use quota; stop one on its page: "
            f"https://www.kaggle.com/code/{push.kernel}",
            version=version,
        )


def look_after_cut_off(context: PushContext, kaggle: Kaggle, kernel: Kernel) -> None:
    """Find the version of the kernel's last push if that was interrupted while being sent.

    The caller holds `context.alone_with(kernel)`, because a push that another command is sending
    looks the same in the ledger. Raises the error of `Failure.error`.
    """
    pushes = context.ledger.of(str(kernel), rehearsal=context.events.rehearsal)
    for push in pushes:
        lost_last = push is pushes[-1] and push.state == ledgers.LOST
        if push.version or not (push.state == ledgers.SENDING or lost_last):
            continue
        version = _version_of(kaggle, kernel, push)
        if version is None:
            context.ledger.update(push, state=ledgers.LOST)
            continue
        push = context.ledger.update(push, version=version, state=ledgers.QUEUED)
        context.events(
            "found",
            f"{push.reference}: the push was interrupted while being sent, and arrived",
            version=version,
        )


def _version_of(kaggle: Kaggle, kernel: Kernel, push: Push) -> int | None:
    """The version with the push's number: the oldest, as later ones may be edits of it."""
    latest = kaggle.stored(kernel)
    newest = latest.version if latest and push.number else 0
    arrived = None
    for version in range(newest, max(0, newest - LOOK_BACK), -1):
        stored = kaggle.stored(kernel, version)
        if stored and build.number_of(stored.text) == push.number:
            arrived = version
        elif arrived:
            break
    return arrived


def repeated(
    context: PushContext, kaggle: Kaggle, push: Push, *, latest: bool = True
) -> Push | None:
    """The kernel's last push, if this one has the same content and inputs and Kaggle still has it.

    `latest`: whether it must be the very last one, because others read its outputs. Failed pushes
    do not count, nor do those of an interrupted rehearsal, since their sessions ended with it.
    """
    alive = () if context.local else (ledgers.SENDING, ledgers.QUEUED, ledgers.RUNNING)
    pushes = context.ledger.of(push.kernel, rehearsal=push.rehearsal)
    useful = (*alive, ledgers.UNFETCHED, ledgers.COMPLETE)
    good = [p for p in reversed(pushes) if p.version and p.state in useful]
    same = (push.content, push.inputs)
    last = next((p for p in good[: 1 if latest else None] if (p.content, p.inputs) == same), None)
    if last is None:
        return None
    stored = kaggle.stored(last.name, last.version)
    return last if stored and build.number_of(stored.text) == last.number else None


def _refuse_identical(context: PushContext, kaggle: Kaggle, push: Push) -> None:
    """Raise `PreflightError` for a push that repeats another one."""
    earlier = repeated(context, kaggle, push)
    if earlier and earlier.state == ledgers.UNFETCHED:
        context.events(
            "warning",
            f"identical to {earlier.reference}, whose outputs are not all downloaded: "
            f"{context.resuming(earlier)} fetches them without another run",
        )
    elif earlier:
        home = f" into {from_here(Path(earlier.folder))}" if earlier.folder else ""
        raise PreflightError(
            f"identical to {earlier.reference} ({earlier.state}): {context.resuming(earlier)} "
            f"fetches that{home}, or push anyway with --force"
        )


def _check_saved(context: PushContext, plan: Plan, push: Push, saved: Saved) -> None:
    """Compare what Kaggle stored with what was sent. Raises `RefusedError` if the run is not the
    requested one; what Kaggle omits or merely spells differently is a warning.
    """
    if saved.recovered:
        _warn(context, "Kaggle's answer was lost or named another version, but the push arrived")
    if push.kernel.lower() != str(plan.kernel).lower():
        _warn(
            context,
            f"Kaggle saved {plan.kernel} as {push.kernel}, since it makes the slug from the title: "
            f'write "id": "{push.kernel}" into {plan.metadata.path.name}',
        )
    if saved.refused_tags:
        _warn(context, f"Kaggle does not know the keywords {list(saved.refused_tags)}")
    refused = list(saved.refused_sources)
    if saved.stored:
        refused += [s for s in _dropped(context, plan, saved.stored) if s not in refused]
        _check_machine(context, plan, push, saved.stored)
    if not refused:
        return
    context.ledger.update(push, state=ledgers.REFUSED)
    names = ", ".join(refused)
    if context.local is not None:
        places = " and ".join(source.replace(" ", "s/", 1) for source in refused)
        raise RefusedError(
            f"the local Kaggle does not have {names}: put the files into {places} below "
            f"{from_here(context.local / 'catalogue')}, or have a command put them there "
            "(catalogue in [tool.kernelkit])"
        )
    raise RefusedError(
        f"Kaggle refused {names} and runs {push.reference} without them: correct the sources "
        "(spelling, access, the competition's rules accepted) and push with --force, which "
        "starts a second session beside this one unless you delete the kernel"
    )


def _dropped(context: PushContext, plan: Plan, stored: Stored) -> list[str]:
    """The sources, such as "dataset owner/slug", that the stored version does not have."""
    sent = [f"{kind} {source}" for kind in SOURCES for source in plan.metadata.sources(kind)]
    if sent and not stored.sources:
        _warn(
            context,
            "Kaggle lists no sources for the stored version: whether it has them is unknown",
        )
        return []
    stored_names = {source.lower() for source in stored.sources}
    missing = [source for source in sent if source.lower() not in stored_names]
    # Kaggle may append a version, or remove the one that was sent.
    similar = {s for s in missing if any(_is_below(s.lower(), k) for k in stored_names)}
    if similar:
        _warn(context, f"Kaggle names these sources differently: {', '.join(sorted(similar))}")
    return [source for source in missing if source not in similar]


def _is_below(source: str, other: str) -> bool:
    return source.startswith(f"{other}/") or other.startswith(f"{source}/")


def _check_machine(context: PushContext, plan: Plan, push: Push, stored: Stored) -> None:
    machine = plan.metadata.machine
    if stored.machine_shape and stored.accelerator != machine.kind:
        context.ledger.update(push, state=ledgers.REFUSED)
        raise RefusedError(
            f"Kaggle runs {push.reference} on {stored.machine_shape}, not on a "
            f"{machine.kind.upper()}: delete the version or the kernel to stop it, and request a "
            "machine that the account has with --accelerator"
        )
    internet = bool(plan.save_fields["enable_internet"])
    if internet and not stored.internet:
        _warn(
            context,
            "Kaggle does not confirm that the session has internet, as requested: an account "
            "without a verified phone gets none",
        )
    elif stored.internet and not internet:
        _warn(context, "Kaggle gives the session internet, although it should have none")


def _warn(context: PushContext, text: str) -> None:
    context.events("warning", text)
