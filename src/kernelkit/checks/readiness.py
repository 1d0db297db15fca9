"""The checks of a plan that only Kaggle can answer: account, live sessions, quota.

With the account's name the plan is checked for the account's secrets too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelkit import machines
from kernelkit.checks import preflight
from kernelkit.checks.checks import Finding
from kernelkit.errors import CapacityError, KernelBusyError, PreflightError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Kernel, Quota
from kernelkit.machines import Machine
from kernelkit.pushes.context import PushContext
from kernelkit.pushes.plan import Plan
from kernelkit.terminal import invocation
from kernelkit.terminal.events import secrets_of_environment

LEAST_HOURS = 0.05  # less quota than this is used up by a session's start


@dataclass(frozen=True)
class AccountStatus:
    """The state of the account: findings, and the quota of the machine asked for."""

    findings: tuple[Finding, ...]
    quota: Quota | None


def with_account(context: PushContext, planned: Plan, kaggle: Kaggle) -> Plan:
    """The plan under the account's name, with a finding wherever it holds one of its secrets.

    At a rehearsal any owner is replaced by the local Kaggle's user.
    """
    context.events.keep_secret(kaggle.connection.secrets)
    if kaggle.connection.rehearses:
        context.events.rehearsal = True
        planned = planned.owned_by(kaggle.username, anyone=True)
    planned = planned.owned_by(kaggle.username)
    secrets = [*kaggle.connection.secrets, *secrets_of_environment()]
    known = set(planned.findings)
    new = tuple(f for f in preflight.leaking(planned.request, secrets) if f not in known)
    for finding in new:
        context.events(finding.level, finding.text)
    return replace(planned, findings=(*planned.findings, *new))


def check_account(
    context: PushContext, planned: Plan, kaggle: Kaggle, *, force: bool
) -> AccountStatus:
    """Check the account for this plan and report it; raises what `check_room` raises."""
    found = account_status(context, planned, kaggle, force=force)
    tell(context, planned, found)
    return found


def account_status(
    context: PushContext, planned: Plan, kaggle: Kaggle, *, force: bool = False
) -> AccountStatus:
    """The state of the account for this plan; raises what `check_room` raises."""
    kernel = Kernel(planned.metadata.owner, planned.metadata.slug)
    last = context.ledger.last(rehearsal=context.events.rehearsal, kernel=str(kernel))
    return check_room(
        kaggle,
        kernel,
        planned.metadata.machine,
        planned.request.timeout_minutes,
        sources=planned.metadata.sources("kernel"),
        force=force,
        known=last.version if last else None,
    )


def tell(context: PushContext, planned: Plan, found: AccountStatus) -> None:
    """Report the findings of the account's check, and the machine that the plan asks for."""
    for finding in found.findings:
        context.events(finding.level, finding.text)
    left = f", {found.quota.left:.1f} h of quota left" if found.quota else ""
    machine = planned.metadata.machine
    longest = hours(planned)
    time = f"{longest:.1f} h" if longest >= 1 else f"{60 * longest:.3g} min"
    words = f"{machine.words} for at most {time}{left}"
    context.events("machine", words, shape=machine.shape)


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
    context.events("continues", f"with what the last complete version of {kernel} left")
    return planned.continuing()


def check_room(
    kaggle: Kaggle,
    kernel: Kernel,
    machine: Machine,
    timeout_minutes: float | None,
    *,
    sources: Sequence[str] = (),
    force: bool = False,
    known: int | None = None,
) -> AccountStatus:
    """Look for what would refuse this push, or let it burn quota beside another run.

    `sources`: the kernels whose outputs the run reads. Raises `CredentialsError`,
    `PreflightError` for another's kernel, one that still runs or an own source that is not there,
    `CapacityError` for used-up quota or sessions; the last two not with `force`, save that
    no quota at all always stops. Raises `NetworkError` when Kaggle cannot be asked. `known` is
    the kernel's last version that the ledger knows: asked without a version, Kaggle may still
    tell of the one before.
    """
    if kernel.owner.lower() != kaggle.username.lower():
        raise PreflightError(
            f"the id names {kernel.owner}'s kernel and the credentials are {kaggle.username}'s: "
            f'write "id": "{kaggle.username}/{kernel.slug}", or INSERT_USERNAME as the owner'
        )
    try:
        _own_sources(kaggle, sources)
        findings = [
            *_active(kaggle, kernel, known, force),
            *_sessions(kaggle, kernel, machine, force),
        ]
        quota = kaggle.quota(machine.kind) if machine.kind != "cpu" else None
    except Failure as failure:
        raise failure.error() from None
    if quota:
        findings += _quota(quota, machine, timeout_minutes)
    return AccountStatus(tuple(findings), quota)


def _own_sources(kaggle: Kaggle, sources: Sequence[str]) -> None:
    """Raise for an own source that is missing: Kaggle would start the session without it."""
    for source in sources:
        owner, _, slug = source.partition("/")
        own = owner.lower() == kaggle.username.lower() and "/" not in slug
        if own and kaggle.stored(Kernel(owner, slug)) is None:
            raise PreflightError(
                f"kernel_sources: there is no {source} yet: push it first, or take it out"
            )


def _active(kaggle: Kaggle, kernel: Kernel, known: int | None, force: bool) -> list[Finding]:
    asked = (None, known) if known else (None,)
    statuses = (kaggle.status(kernel, version) for version in asked)
    status = next((s for s in statuses if s and s.alive), None)
    if status is None:
        return []
    message = f"{kernel} is still {status.state}, and a second session would run beside it"
    if not force:
        stored = kaggle.stored(kernel)
        reference = f"{kernel}/{stored.version}" if stored else f"{kernel}/N"
        raise KernelBusyError(
            f"{message}, using quota twice: wait for it ({invocation.command('resume')} "
            f"{reference}), or push all the same (--force)"
        )
    return [Finding("warning", message)]


def _sessions(kaggle: Kaggle, kernel: Kernel, machine: Machine, force: bool) -> list[Finding]:
    """Whether other kernels of the account hold all its sessions of this kind."""
    cap = machines.LIMITS[machine.kind].sessions
    others = [r.kernel for r in kaggle.recent() if r.accelerator == machine.kind]
    alive = []
    for other in others:
        if str(other) != str(kernel):
            status = kaggle.status(other, None)
            alive += [str(other)] if status and status.alive else []
    if len(alive) < cap:
        return []
    message = f"Kaggle runs {cap} {machine.kind.upper()} session(s) at once, and {', '.join(alive)}"
    message += " is alive" if len(alive) == 1 else " are alive"
    if not force:
        raise CapacityError(f"{message}: push again when it has ended")
    return [Finding("warning", message)]


def _quota(quota: Quota, machine: Machine, timeout_minutes: float | None) -> list[Finding]:
    kind = machine.kind.upper()
    left = f"{quota.left:.1f} of {quota.allowed:.0f} {kind} hours are left this week"
    if quota.left < LEAST_HOURS:
        raise CapacityError(f"{left}: push again after Saturday 00:00 UTC, when they come back")
    asked = (timeout_minutes or 60 * machines.LIMITS[machine.kind].hours_per_session) / 60
    if quota.left < asked:
        shorter = f"--timeout {quota.left * 60:.0f}"
        return [
            Finding("warning", f"{left} and the run may take {asked:.1f}: bound it with {shorter}")
        ]
    return []
