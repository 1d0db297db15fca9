"""The checks of what Kaggle says: the account, its sessions and hours, the competition.

Each takes an `Account`, and asks nothing of Kaggle. An error is what its answer makes certain.
"""

from collections.abc import Iterator

from kernelkit import machines
from kernelkit.errors import CapacityError, KernelBusyError
from kernelkit.kaggle.answers import Quota
from kernelkit.kaggle.client import accept_rules
from kernelkit.push.asked.account import Account, Competition
from kernelkit.push.checks import leaving
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.planned.plan import Plan
from kernelkit.terminal.events import secrets_of_environment

LEAST_HOURS = 0.05  # three minutes: with less, a session ends about when it has started


def check_account(account: Account) -> list[Finding]:
    """What speaks against sending an account's plan now, of the errors the weightiest first.

    It is that Kaggle would refuse it, would run it beside another active run, or, if its result
    is to be submitted, would refuse that. The last finding names the machine, if the plan runs. The
    kind of an error
    is `PreflightError` for a mistake in the plan, `KernelBusyError` for a kernel that still runs,
    and `CapacityError` if no quota or no session is left. With `force`, a kernel that still runs
    and sessions in use are warnings, and reserved hours are spent.
    """
    plan = account.plan
    found = list(leaving.secrets(plan, [*account.secrets, *secrets_of_environment()]))
    found += owner(account)
    found += edits(account)
    if plan.request.no_run:  # which takes no session, and ends none
        return [*found, *own_inputs(account)]
    found += active(account)
    found += continuation(account)
    found += own_inputs(account)
    if account.competition:
        found += of_submission(account.competition, plan)
    found += sessions(account)
    if account.quota:
        found += hours(account.quota, plan)
    found.append(what_it_gets(plan, account.quota))
    return found


def owner(account: Account) -> Iterator[Finding]:
    """Another user's kernel."""
    kernel = account.plan.kernel
    name = account.username
    if kernel.owner.lower() != name.lower():
        yield error(
            f"the id names {kernel.owner}'s kernel, but the credentials are {name}'s: "
            f'write "id": "{name}/{kernel.slug}", or INSERT_USERNAME as the owner'
        )


def continuation(account: Account) -> Iterator[Finding]:
    """What a push is to continue from."""
    plan = account.plan
    if not plan.request.continues:
        return
    if account.newest:
        yield Finding("attached", f"the outputs of the last complete version of {plan.kernel}")
    else:
        yield error(f"{plan.kernel} has no version to continue from: push without --continue")


def own_inputs(account: Account) -> Iterator[Finding]:
    """An own source without an output, since Kaggle would start the session without it."""
    plan = account.plan
    is_for_now = plan.request.chain and plan.request.dry_run
    for source in plan.metadata.sources["kernel"]:
        if account.inputs.get(source) != 0 or _is_told_of(account, source):
            continue
        text = _without_output(account, source)
        if is_for_now:
            yield warning(f"for now, before the chain has run: {text}")
        else:
            yield error(text)


def _is_told_of(account: Account, source: str) -> bool:
    """Whether a source is the kernel itself, and another check says why it has no output yet.

    That is `active` for a run that is waited for, and `continuation` where there is no version.
    """
    if source != account.plan.kernel_name:
        return False
    is_waited_for = bool(account.active) and not account.plan.request.force
    return is_waited_for or not account.newest


def _without_output(account: Account, source: str) -> str:
    by_hand = ""
    if account.owner_here:
        place = f"input/notebooks/{account.owner_here}/{source.split('/')[1]}"
        by_hand = f", fetch it with --download, put its files into {place},"
    return (
        f"kernel_sources: no version of {source} is complete, so it has no output to attach: "
        "push it first (--chain does, if it is in this repository) and wait for its run"
        f"{by_hand} or take it out"
    )


def edits(account: Account) -> Iterator[Finding]:
    """A version that was saved elsewhere since the last push from here."""
    if account.elsewhere:
        kernel = account.plan.kernel
        yield warning(
            f"{kernel}/{account.elsewhere} was saved on Kaggle since the last push from here, and "
            "this push goes over it: `kernelkit pull` brings its edits into your files"
        )


def active(account: Account) -> Iterator[Finding]:
    """A kernel that still runs."""
    if not account.active:
        return
    kernel = account.plan.kernel
    message = (
        f"{kernel} is still {account.active.state}, and a second session would run at the same time"
    )
    if account.plan.request.force:
        yield warning(message)
        return
    reference = f"{kernel}/{account.active.version or 'N'}"
    yield error(
        f"{message}, using quota twice: wait for it (kernelkit resume {reference}), or push anyway "
        "(--force)",
        KernelBusyError,
    )


def sessions(account: Account) -> Iterator[Finding]:
    """Other kernels of the account that use all its sessions of this kind."""
    plan = account.plan
    most = machines.LIMITS[plan.kind].sessions
    if len(account.others) < most:
        return
    running = ", ".join(account.others)
    message = f"Kaggle runs {most} {plan.kind.upper()} session(s) at once; now {running}"
    if plan.request.force:
        yield warning(message)
    else:
        yield error(f"{message}: push again when it has ended", CapacityError)


def hours(quota: Quota, plan: Plan) -> Iterator[Finding]:
    """A week's hours that are used up, reserved, or may end before the run.

    A push that nobody watches is not sent if they may end before its run, also with `force`.
    """
    request = plan.request
    left = quota.remaining(plan.kind)
    may_take = f"the run may take {plan.hours:.1f}"
    may_end_first = quota.left < plan.hours
    reserve = plan.project.reserve.get(plan.kind, 0)
    may_use_reserve = reserve > 0 and quota.left - plan.hours < reserve
    if quota.left < LEAST_HOURS:
        yield error(f"{left}: push again after Saturday 00:00 UTC, when they renew", CapacityError)
    elif may_end_first and request.when_free:
        yield error(
            f"{left} and {may_take}: they renew on Saturday 00:00 UTC. A run limited with "
            "--timeout MINUTES may fit sooner",
            CapacityError,
        )
    elif may_use_reserve and not request.force:
        yield error(
            f"{left}, {may_take}, and {reserve:g} are reserved (reserve in [tool.kernelkit]): "
            "limit it with --timeout MINUTES, or push anyway (--force)",
            CapacityError,
        )
    elif may_end_first:
        yield warning(f"{left}, and {may_take}: limit it with --timeout {quota.left * 60:.0f}")


def what_it_gets(plan: Plan, quota: Quota | None) -> Finding:
    """The machine that the push requests, and for how long."""
    machine = plan.metadata.machine
    time = f"{plan.hours:.1f} h" if plan.hours >= 1 else f"{60 * plan.hours:.3g} min"
    words = f"{machine.words} for at most {time}"
    if quota:
        words += f", {quota.left:.1f} h of quota left"
    if not machine.common and not machines.is_kind(machine.shape):
        words += "; an account that may not have it gets another machine"
    return Finding("machine", words, facts={"shape": machine.shape})


def of_submission(competition: Competition, plan: Plan) -> Iterator[Finding]:
    """What Kaggle would refuse of a submission after the run, and warnings of what it may refuse:
    the daily limit, rules that were not accepted."""
    slug = competition.slug
    if competition.disabled:
        yield error(f"{slug} accepts no submissions: push without --submit")
    if competition.notebooks_only and plan.metadata.online:
        yield error(
            f"{slug} only accepts notebooks without internet: set enable_internet to false in "
            f"{plan.metadata.path.name}"
        )
    if competition.exhausted:
        yield warning(f"{slug} accepts no more submissions before 00:00 UTC")
    if not competition.entered:
        yield warning(f"your account has not entered {slug}: {accept_rules(slug)}")
