"""The checks of a plan that ask Kaggle: the account, its sessions and hours, the competition.

Answers are not kept: what asks again after a wait gets what is true then.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from kernelkit import machines
from kernelkit.errors import CapacityError, KernelBusyError, PreflightError
from kernelkit.kaggle.client import Kaggle, Quota, Status, accept_rules
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.checks import contents
from kernelkit.push.checks.findings import Finding, error, warning
from kernelkit.push.plan import Plan
from kernelkit.push.push_context import PushContext
from kernelkit.terminal.events import from_here, secrets_of_environment

LEAST_HOURS = 0.05  # starting a session uses up less quota than this
LOOKED_AT = 5  # versions of an own source to search for a complete one


def ask_kaggle(context: PushContext, plan: Plan) -> Iterator[Finding]:
    """What speaks against sending this plan now: whether Kaggle would refuse it, or run it beside
    another active run; and, if its result is to be submitted, whether it would refuse that.

    The findings come one by one, so that Kaggle is asked nothing more after an error. The last one
    names the machine. An error is a `PreflightError` for another user's kernel, a `KernelBusyError`
    for one that still runs, a `CapacityError` if no quota or no session is left; `force` makes
    warnings of the last two, except for a quota of zero.

    Raises `CredentialsError` and `NetworkError` when Kaggle cannot be asked.
    """
    kaggle = context.kaggle
    kernel = plan.kernel
    request = plan.request
    if kernel.owner.lower() != kaggle.username.lower():
        yield error(
            f"the id names {kernel.owner}'s kernel, but the credentials are {kaggle.username}'s: "
            f'write "id": "{kaggle.username}/{kernel.slug}", or INSERT_USERNAME as the owner'
        )
        return
    if request.no_run:  # which takes no session, and ends none
        return
    yield from active(context, plan)
    if request.submit is not None:
        yield from of_submission(kaggle, plan)
    yield from sessions(kaggle, plan)
    quota = kaggle.quota(plan.kind) if plan.kind != "cpu" else None
    if quota:
        yield from hours(quota, plan)
    yield what_it_gets(plan, quota)


def active(context: PushContext, plan: Plan) -> Iterator[Finding]:
    """A kernel that still runs."""
    kaggle = context.kaggle
    kernel = plan.kernel
    last = context.ledger.last(str(kernel))
    status = alive(kaggle, kernel)
    if status is None and last:
        # Without a version, Kaggle may still report the one before the ledger's last.
        status = alive(kaggle, kernel, last.version)
    if status is None:
        return
    message = f"{kernel} is still {status.state}, and a second session would run at the same time"
    if plan.request.force:
        yield warning(message)
        return
    stored = kaggle.stored(kernel)
    reference = f"{kernel}/{stored.version}" if stored else f"{kernel}/N"
    yield error(
        f"{message}, using quota twice: wait for it (kernelkit resume {reference}), or push anyway "
        "(--force)",
        KernelBusyError,
    )


def alive(kaggle: Kaggle, kernel: Kernel, version: int | None = None) -> Status | None:
    """The status of a version's session, by default of the latest; None unless it is alive."""
    status = kaggle.status(kernel, version)
    return status if status and status.alive else None


def sessions(kaggle: Kaggle, plan: Plan) -> Iterator[Finding]:
    """Other kernels of the account that use all its sessions of this kind."""
    most = machines.LIMITS[plan.kind].sessions
    others = [other for other in kaggle.recent(plan.kind) if str(other) != str(plan.kernel)]
    running = [str(other) for other in others if alive(kaggle, other)]
    if len(running) < most:
        return
    message = f"Kaggle runs {most} {plan.kind.upper()} session(s) at once; now {', '.join(running)}"
    if plan.request.force:
        yield warning(message)
    else:
        yield error(f"{message}: push again when it has ended", CapacityError)


def hours(quota: Quota, plan: Plan) -> Iterator[Finding]:
    """A week's hours that are used up, reserved, or may end before the run."""
    left = quota.remaining(plan.kind)
    reserve = plan.project.reserve.get(plan.kind, 0)
    may_take = f"the run may take {plan.hours:.1f}"
    if quota.left < LEAST_HOURS:
        yield error(f"{left}: push again after Saturday 00:00 UTC, when they renew", CapacityError)
    elif quota.left < plan.hours and plan.request.when_free:
        yield error(
            f"{left} and {may_take}: it waits for Saturday 00:00 UTC. A run limited with "
            "--timeout MINUTES may fit sooner",
            CapacityError,
        )
    elif quota.left - plan.hours < reserve and not plan.request.force:
        yield error(
            f"{left}, {may_take}, and {reserve:g} are reserved (reserve in [tool.kernelkit]): "
            "limit it with --timeout MINUTES, or push anyway (--force)",
            CapacityError,
        )
    elif quota.left < plan.hours:
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


def of_submission(kaggle: Kaggle, plan: Plan) -> Iterator[Finding]:
    """Doubts that the plan's result can be submitted: the daily limit, rules not accepted; and
    what Kaggle would certainly refuse after the run."""
    slug = plan.metadata.sources("competition")[0]
    about = kaggle.repeated(partial(kaggle.calls.get_competition, slug))
    limits = kaggle.repeated(partial(kaggle.calls.get_submission_limits, slug))
    if about.submissions_disabled:
        yield error(f"{slug} accepts no submissions: push without --submit")
    if about.is_kernels_submissions_only and plan.metadata.online:
        yield error(
            f"{slug} only accepts notebooks without internet: set enable_internet to false in "
            f"{plan.metadata.path.name}"
        )
    if limits.num_total and not limits.num_allowed_now:
        yield warning(f"{slug} accepts no more submissions before 00:00 UTC")
    if not about.user_has_entered:
        yield warning(f"your account has not entered {slug}: {accept_rules(slug)}")


def leaks(context: PushContext, plan: Plan) -> list[Finding]:
    """An error for each place where the plan has a secret of the account's or the environment's."""
    known = [*context.kaggle.connection.secrets, *secrets_of_environment()]
    return list(contents.secrets(plan, known))


def nothing_to_continue(context: PushContext, plan: Plan) -> Iterator[Finding]:
    """A push that is to continue, of a kernel without a version."""
    if not plan.request.continues or context.kaggle.stored(plan.kernel) is not None:
        return
    waiting = [push for push, _ in context.ledger.unfinished() if push.name == plan.kernel]
    if not waiting:  # none that is sent before this one
        yield error(f"{plan.kernel} has no version to continue from: push without --continue")


def versions_of_inputs(context: PushContext, plan: Plan) -> dict[str, int]:
    """The version of each of the account's own kernel sources that a session gets.

    That is the last complete one, or the one that the source pins ("me/features/3").

    Raises `PreflightError` for a source without outputs, since Kaggle would start the session
    without it; in a rehearsal its files may be in the catalogue.
    """
    kaggle = context.kaggle
    versions = {}
    for source in plan.metadata.sources("kernel"):
        owner, slug, *pin = source.split("/")
        if owner.lower() != kaggle.username.lower():
            continue
        kernel = Kernel(owner, slug)
        pinned = int(pin[0]) if pin else None
        stored = kaggle.stored(kernel, pinned)
        newest = stored.version if stored else 0
        latest = range(newest, max(0, newest - LOOKED_AT), -1)
        complete = _first_complete(kaggle, kernel, [pinned] if pinned else latest)
        if complete:
            versions[source] = complete
            continue
        if context.local:
            own = context.owner or owner
            place = context.local / "catalogue" / "kernels" / own / slug
            if place.is_dir():
                continue
            files = f", put its files into {from_here(place)},"
        else:
            files = ""
        if pinned or newest <= LOOKED_AT:  # otherwise an older version may be complete
            raise PreflightError(
                f"kernel_sources: no version of {source} is complete, so it has no output to "
                "attach: push it first (--chain does, if it is in this repository) and wait for "
                f"its run{files} or take it out"
            )
    return versions


def _first_complete(kaggle: Kaggle, kernel: Kernel, versions: Iterable[int]) -> int:
    """The first of these versions whose session is complete; 0 if there is none."""
    for version in versions:
        status = kaggle.status(kernel, version)
        if status and status.state == "complete":
            return version
    return 0
