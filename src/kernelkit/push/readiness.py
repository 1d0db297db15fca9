"""A plan once Kaggle is there: under the account's name, free of its secrets, with room to run."""

from __future__ import annotations

from dataclasses import replace

from kernelkit import machines
from kernelkit.errors import PreflightError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Kernel
from kernelkit.push import account, preflight
from kernelkit.push.account import AccountStatus
from kernelkit.push.context import PushContext
from kernelkit.push.plan import Plan
from kernelkit.terminal.events import secrets_of_environment


def with_account(context: PushContext, planned: Plan, kaggle: Kaggle) -> Plan:
    """The plan under the account's name, with a finding wherever it holds one of its secrets.

    At a rehearsal whoever owns it rehearses as the local Kaggle's user.
    """
    context.report.keep_secret(kaggle.connection.secrets)
    if kaggle.connection.rehearses:
        context.report.rehearsal = True
        planned = planned.owned_by(kaggle.username, anyone=True)
    planned = planned.owned_by(kaggle.username)
    secrets = [*kaggle.connection.secrets, *secrets_of_environment()]
    known = set(planned.findings)
    new = tuple(f for f in preflight.leaking(planned.request, secrets) if f not in known)
    for finding in new:
        context.report(finding.level, finding.text)
    return replace(planned, findings=(*planned.findings, *new))


def check_account(
    context: PushContext, planned: Plan, kaggle: Kaggle, *, force: bool
) -> AccountStatus:
    """How the account stands for this plan, told; raises what `account.check` raises."""
    found = account_status(context, planned, kaggle, force=force)
    tell(context, planned, found)
    return found


def account_status(
    context: PushContext, planned: Plan, kaggle: Kaggle, *, force: bool = False
) -> AccountStatus:
    """How the account stands for this plan; raises what `account.check` raises."""
    kernel = Kernel(planned.metadata.owner, planned.metadata.slug)
    last = context.ledger.last(rehearsal=context.report.rehearsal, kernel=str(kernel))
    return account.check(
        kaggle, kernel, planned.metadata.machine, planned.request.timeout_minutes,
        sources=planned.metadata.sources("kernel"), force=force,
        known=last.version if last else None,
    )  # fmt: skip


def tell(context: PushContext, planned: Plan, found: AccountStatus) -> None:
    """Tell what was found of the account, and what machine the plan asks for."""
    for finding in found.findings:
        context.report(finding.level, finding.text)
    left = f", {found.quota.left:.1f} h of quota left" if found.quota else ""
    machine = planned.metadata.machine
    words = f"{machine.words} for at most {hours(planned):.1f} h{left}"
    context.report("machine", words, shape=machine.shape)


def hours(planned: Plan) -> float:
    """The longest that the session may take."""
    cap = machines.LIMITS[planned.metadata.machine.kind].hours_per_session
    return min(cap, (planned.request.timeout_minutes or 60 * cap) / 60)


def continuing(context: PushContext, planned: Plan, kaggle: Kaggle) -> Plan:
    """The plan with what the last version left; raises `PreflightError` where there is none."""
    kernel = Kernel(planned.metadata.owner, planned.metadata.slug)
    try:
        last = kaggle.stored(kernel)
    except Failure as failure:
        raise failure.error() from None
    if last is None:
        raise PreflightError(f"{kernel} has no version to go on from: push without --continue")
    context.report("continues", f"with what the last complete version of {kernel} left")
    return planned.continuing()
