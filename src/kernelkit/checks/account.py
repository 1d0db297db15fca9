"""The checks of a plan that need Kaggle: account, active sessions, quota.

Once the account is known, the plan is also checked for the account's secrets.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelkit import machines
from kernelkit.checks.contents import leaking
from kernelkit.checks.findings import Finding, warning
from kernelkit.errors import CapacityError, KernelBusyError, PreflightError
from kernelkit.kaggle_api.client import Kaggle, Kernel, Quota, accept_rules
from kernelkit.machines import Machine
from kernelkit.plans.plan import Plan
from kernelkit.terminal.events import from_here, secrets_of_environment
from kernelkit.workspace.context import PushContext

LOOKED_AT = 5  # versions of an own source to search for a complete one
LEAST_HOURS = 0.05  # starting a session uses up less quota than this


@dataclass(frozen=True)
class AccountStatus:
    """The state of the account: findings, and the quota for the requested machine."""

    findings: tuple[Finding, ...]
    quota: Quota | None


def with_account(context: PushContext, plan: Plan, kaggle: Kaggle) -> tuple[Plan, list[Finding]]:
    """The plan under the account's name, and a finding for each of its secrets in the plan.

    In a rehearsal, any owner is replaced by the local Kaggle's user.
    """
    context.events.keep_secret(kaggle.connection.secrets)
    context.events.rehearsal = context.events.rehearsal or kaggle.connection.rehearses
    plan = plan.owned_by(kaggle.username, anyone=kaggle.connection.rehearses)
    secrets = [*kaggle.connection.secrets, *secrets_of_environment()]
    return plan, leaking(plan, secrets)


def check_account(
    context: PushContext, plan: Plan, kaggle: Kaggle, *, force: bool = False, submits: bool = False
) -> AccountStatus:
    """Check whether Kaggle would refuse this plan, or run it beside another active run.

    With `submits`, also check whether it would refuse the submission after the run.

    Raises `CredentialsError`, `PreflightError` for another user's kernel or one that still runs,
    `CapacityError` if no quota or no session is left, and `NetworkError` when Kaggle cannot be
    reached. `force` allows the last two cases, except a quota of zero.
    """
    kernel, machine = plan.kernel, plan.metadata.machine
    if kernel.owner.lower() != kaggle.username.lower():
        raise PreflightError(
            f"the id names {kernel.owner}'s kernel, but the credentials are {kaggle.username}'s: "
            f'write "id": "{kaggle.username}/{kernel.slug}", or INSERT_USERNAME as the owner'
        )
    # Without a version, Kaggle may still report the one before the ledger's last.
    last = context.ledger.last(rehearsal=context.events.rehearsal, kernel=str(kernel))
    findings = _active(kaggle, kernel, last.version if last else None, force)
    findings += _competition(kaggle, plan) if submits else []
    findings += _sessions(kaggle, kernel, machine, force)
    quota = kaggle.quota(machine.kind) if machine.kind != "cpu" else None
    return AccountStatus((*findings, *(_quota(quota, plan) if quota else ())), quota)


def tell(context: PushContext, plan: Plan, status: AccountStatus) -> None:
    """Report the findings of the account's check, and the requested machine."""
    for finding in status.findings:
        context.events(finding.level, finding.text)
    remaining = f", {status.quota.left:.1f} h of quota left" if status.quota else ""
    machine, hours = plan.metadata.machine, plan.hours
    time = f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.3g} min"
    words = f"{machine.words} for at most {time}{remaining}"
    context.events("machine", words, shape=machine.shape)


def continuing(context: PushContext, plan: Plan, kaggle: Kaggle) -> Plan:
    """The plan with the last version's outputs; raises `PreflightError` if there is no version."""
    kernel = plan.kernel
    last = kaggle.stored(kernel)
    if last is None:
        raise PreflightError(f"{kernel} has no version to continue from: push without --continue")
    context.events("continues", f"with the outputs of the last complete version of {kernel}")
    return plan.continuing()


def _competition(kaggle: Kaggle, plan: Plan) -> list[Finding]:
    """Reasons not to submit the plan's result: the daily limit, rules that are not accepted.

    Raises `PreflightError` for what Kaggle would certainly refuse after the run.
    """
    slug, findings = plan.metadata.sources("competition")[0], []
    about = kaggle.repeated("GetCompetition", "competitions", competition_name=slug)
    limits = kaggle.repeated("GetSubmissionLimits", "competitions", competition_name=slug)
    if about.submissions_disabled:
        raise PreflightError(f"{slug} accepts no submissions: push without --submit")
    if about.is_kernels_submissions_only and plan.save_fields.get("enable_internet"):
        raise PreflightError(
            f"{slug} only accepts notebooks without internet: set enable_internet to false in "
            f"{plan.metadata.path.name}"
        )
    if limits.num_total and not limits.num_allowed_now:
        findings = [warning(f"{slug} accepts no more submissions before 00:00 UTC")]
    if not about.user_has_entered:
        findings += [warning(f"your account has not entered {slug}: {accept_rules(slug)}")]
    return findings


def own_sources(context: PushContext, plan: Plan, kaggle: Kaggle) -> dict[str, int]:
    """The version of each of the account's own kernel sources that a session gets.

    That is the last complete one, or the one that the source pins ("me/features/3").

    Raises `PreflightError` for a source without outputs, since Kaggle would start the session
    without it; in a rehearsal its files may be in the catalogue.
    """
    versions = {}
    for source in plan.metadata.sources("kernel"):
        owner, slug, *pinned = source.split("/")
        if owner.lower() != kaggle.username.lower():
            continue
        stored = kaggle.stored(Kernel(owner, slug), *map(int, pinned))
        newest = stored.version if stored else 0
        last = [int(number) for number in pinned if stored]
        looked_at = last or range(newest, max(0, newest - LOOKED_AT), -1)
        statuses = ((v, kaggle.status(Kernel(owner, slug), v)) for v in looked_at)
        version = next((v for v, status in statuses if status and status.state == "complete"), None)
        if version:
            versions[source] = version
            continue
        place = f"catalogue/kernels/{context.owner or owner}/{slug}"
        maybe_older = newest > LOOKED_AT and not pinned
        if maybe_older or (context.local and (context.local / place).is_dir()):
            continue
        if newest:
            state = f"{source} is not" if pinned else f"no version of {source} is"
            raise PreflightError(
                f"kernel_sources: {state} complete, so it has no output to attach: wait for its "
                "run, or take it out"
            )
        files = f", put its files into {from_here(context.local / place)}" if context.local else ""
        raise PreflightError(
            f"kernel_sources: there is no {source} yet: push it first (--chain does, if it is in "
            f"this repository){files}, or take it out"
        )
    return versions


def _active(kaggle: Kaggle, kernel: Kernel, last: int | None, force: bool) -> list[Finding]:
    statuses = (kaggle.status(kernel, version) for version in dict.fromkeys((None, last)))
    status = next((s for s in statuses if s and s.alive), None)
    if status is None:
        return []
    message = f"{kernel} is still {status.state}, and a second session would run at the same time"
    if not force:
        stored = kaggle.stored(kernel)
        reference = f"{kernel}/{stored.version}" if stored else f"{kernel}/N"
        raise KernelBusyError(
            f"{message}, using quota twice: wait for it (kernelkit resume "
            f"{reference}), or push anyway (--force)"
        )
    return [warning(message)]


def _sessions(kaggle: Kaggle, kernel: Kernel, machine: Machine, force: bool) -> list[Finding]:
    """Whether other kernels of the account use all its sessions of this kind."""
    cap = machines.LIMITS[machine.kind].sessions
    others = kaggle.recent(machine.kind)
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
    return [warning(message)]


def _quota(quota: Quota, plan: Plan) -> list[Finding]:
    remaining = quota.remaining(plan.metadata.machine.kind)
    if quota.left < LEAST_HOURS:
        raise CapacityError(f"{remaining}: push again after Saturday 00:00 UTC, when they renew")
    if quota.left >= plan.hours:
        return []
    shorter = f"--timeout {quota.left * 60:.0f}"
    return [warning(f"{remaining} and the run may take {plan.hours:.1f}: limit it with {shorter}")]
