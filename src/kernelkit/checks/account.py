"""The checks of a plan that need Kaggle: account, active sessions, quota.

Once the account is known, the plan is also checked for the account's secrets.
"""

from collections.abc import Iterator

from kernelkit import machines
from kernelkit.checks.contents import leaking
from kernelkit.checks.findings import Finding
from kernelkit.errors import CapacityError, KernelBusyError, PreflightError
from kernelkit.kaggle_api.client import Kaggle, Kernel, Quota, accept_rules
from kernelkit.plans.plan import Plan
from kernelkit.terminal.events import from_here, secrets_of_environment
from kernelkit.workspace.context import PushContext

LOOKED_AT = 5  # versions of an own source to search for a complete one
LEAST_HOURS = 0.05  # starting a session uses up less quota than this


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
) -> Quota | None:
    """Check whether Kaggle would refuse this plan, or run it beside another active run.

    With `submits`, also check whether it would refuse the submission after the run. Reports doubts
    and the requested machine; returns the quota of its kind, None for the CPU.

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
    last = context.ledger.last(str(kernel))
    warnings = [_active(kaggle, kernel, last.version if last else None, force)]
    warnings += _competition(kaggle, plan) if submits else []
    warnings += [_sessions(kaggle, kernel, machine.kind, force)]
    quota = kaggle.quota(machine.kind) if machine.kind != "cpu" else None
    warnings += [_quota(quota, plan)] if quota else []
    for text in filter(None, warnings):
        context.events("warning", text)
    remaining = f", {quota.left:.1f} h of quota left" if quota else ""
    time = f"{plan.hours:.1f} h" if plan.hours >= 1 else f"{60 * plan.hours:.3g} min"
    words = f"{machine.words} for at most {time}{remaining}"
    context.events("machine", words, shape=machine.shape)
    return quota


def continuing(context: PushContext, plan: Plan, kaggle: Kaggle) -> Plan:
    """The plan with the last version's outputs; raises `PreflightError` if there is no version."""
    kernel = plan.kernel
    last = kaggle.stored(kernel)
    if last is None:
        raise PreflightError(f"{kernel} has no version to continue from: push without --continue")
    context.events("continues", f"with the outputs of the last complete version of {kernel}")
    return plan.attaching("kernel", str(kernel))


def _competition(kaggle: Kaggle, plan: Plan) -> Iterator[str]:
    """Doubts that the plan's result can be submitted: the daily limit, rules not accepted.

    Raises `PreflightError` for what Kaggle would certainly refuse after the run.
    """
    slug = plan.metadata.sources("competition")[0]
    about = kaggle.repeated("GetCompetition", "competitions", competition_name=slug)
    limits = kaggle.repeated("GetSubmissionLimits", "competitions", competition_name=slug)
    if about.submissions_disabled:
        raise PreflightError(f"{slug} accepts no submissions: push without --submit")
    if about.is_kernels_submissions_only and plan.metadata.online:
        raise PreflightError(
            f"{slug} only accepts notebooks without internet: set enable_internet to false in "
            f"{plan.metadata.path.name}"
        )
    if limits.num_total and not limits.num_allowed_now:
        yield f"{slug} accepts no more submissions before 00:00 UTC"
    if not about.user_has_entered:
        yield f"your account has not entered {slug}: {accept_rules(slug)}"


def own_sources(context: PushContext, plan: Plan, kaggle: Kaggle) -> dict[str, int]:
    """The version of each of the account's own kernel sources that a session gets.

    That is the last complete one, or the one that the source pins ("me/features/3").

    Raises `PreflightError` for a source without outputs, since Kaggle would start the session
    without it; in a rehearsal its files may be in the catalogue.
    """
    versions = {}
    for source in plan.metadata.sources("kernel"):
        owner, slug, *pin = source.split("/")
        if owner.lower() != kaggle.username.lower():
            continue
        pinned = list(map(int, pin))
        stored = kaggle.stored(Kernel(owner, slug), *pinned)
        newest = stored.version if stored else 0
        latest = range(newest, max(0, newest - LOOKED_AT), -1)
        statuses = ((v, kaggle.status(Kernel(owner, slug), v)) for v in pinned or latest)
        complete = [v for v, status in statuses if status and status.state == "complete"]
        place = f"catalogue/kernels/{context.owner or owner}/{slug}"
        if complete:
            versions[source] = complete[0]
        elif not (context.local and (context.local / place).is_dir()) and (
            pinned or newest <= LOOKED_AT  # otherwise an older version may be complete
        ):
            files = (
                f", put its files into {from_here(context.local / place)}," if context.local else ""
            )
            raise PreflightError(
                f"kernel_sources: no version of {source} is complete, so it has no output to "
                "attach: push it first (--chain does, if it is in this repository) and wait for "
                f"its run{files} or take it out"
            )
    return versions


def _active(kaggle: Kaggle, kernel: Kernel, last: int | None, force: bool) -> str:
    """Whether the kernel still runs."""
    statuses = (kaggle.status(kernel, version) for version in dict.fromkeys((None, last)))
    status = next((s for s in statuses if s and s.alive), None)
    if status is None:
        return ""
    message = f"{kernel} is still {status.state}, and a second session would run at the same time"
    if not force:
        stored = kaggle.stored(kernel)
        reference = f"{kernel}/{stored.version}" if stored else f"{kernel}/N"
        raise KernelBusyError(
            f"{message}, using quota twice: wait for it (kernelkit resume "
            f"{reference}), or push anyway (--force)"
        )
    return message


def _sessions(kaggle: Kaggle, kernel: Kernel, kind: machines.Kind, force: bool) -> str:
    """Whether other kernels of the account use all its sessions of this kind."""
    cap = machines.LIMITS[kind].sessions
    others = [other for other in kaggle.recent(kind) if str(other) != str(kernel)]
    statuses = {str(other): kaggle.status(other, None) for other in others}
    alive = [name for name, status in statuses.items() if status and status.alive]
    if len(alive) < cap:
        return ""
    message = f"Kaggle runs {cap} {kind.upper()} session(s) at once; now {', '.join(alive)}"
    if not force:
        raise CapacityError(f"{message}: push again when it has ended")
    return message


def _quota(quota: Quota, plan: Plan) -> str:
    """Whether the week's hours may end before the run."""
    remaining = quota.remaining(plan.kind)
    if quota.left < LEAST_HOURS:
        raise CapacityError(f"{remaining}: push again after Saturday 00:00 UTC, when they renew")
    if quota.left >= plan.hours:
        return ""
    shorter = f"--timeout {quota.left * 60:.0f}"
    return f"{remaining} and the run may take {plan.hours:.1f}: limit it with {shorter}"
