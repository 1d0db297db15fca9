"""What Kaggle says of the account, and of what a plan names there: asked once, in one place.

It is compared here with the ledger: whether an earlier push is identical, and whether a version was
saved elsewhere. Answers are not kept: after a wait, ask again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from kernelkit.kaggle.answers import Quota
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.exchange.targets import Dataset
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.asked.identical import find_identical
from kernelkit.push.known.ledger import Push, since_deleted
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.rehearsal.inputs import Mounted, place_in_catalogue

LOOKED_AT = 5  # versions of an own source to search for a complete one


@dataclass(frozen=True)
class Competition:
    """What Kaggle says of the competition that a result is to be submitted to."""

    slug: str
    disabled: bool  # it accepts no submissions at all
    notebooks_only: bool
    exhausted: bool  # today's submissions are used up
    entered: bool  # the account has accepted its rules


@dataclass(frozen=True)
class ActiveSession:
    """A session that is queued or running; its `version` is 0 if Kaggle does not say it."""

    state: str
    version: int


@dataclass(frozen=True)
class Account:
    """What Kaggle says before a new session is begun.

    plan         the plan, with the account's names
    inputs       by its name, the version that a session would get now of each dataset, and of each
                 kernel of the account's that is a source; 0 for a kernel without a complete one. In
                 a rehearsal also a number for the contents of each folder that it mounts, by its
                 place in the catalogue
    earlier      the last push that is identical, and that Kaggle still has; None if there is none.
                 If the request has `force`, only one that the same command sent counts
    username     the account's
    secrets      the account's, which nothing may carry
    newest       the kernel's latest version; 0 if there is none
    elsewhere    that version, if it came after the last push from here, from somewhere else such as
                 the site's editor, and was not pulled; 0 otherwise
    active       the kernel's own session, if one is queued or running
    others       the account's other kernels with an active session on the same kind of machine
    quota        this week's hours of that kind; None if they are not counted
    competition  only where the result is to be submitted
    owner_here   in a rehearsal, the owner below whose name in the catalogue a folder may stand for
                 the output of an own kernel; empty on Kaggle
    """

    plan: Plan
    inputs: Mapping[str, int]
    earlier: Push | None
    username: str
    secrets: tuple[str, ...] = field(repr=False)
    newest: int
    elsewhere: int
    active: ActiveSession | None
    others: tuple[str, ...]
    quota: Quota | None
    competition: Competition | None
    owner_here: str


def in_account(context: PushContext, plan: Plan) -> Plan:
    """The plan with the account's name for placeholder owners; in a rehearsal for all owners."""
    return plan.owned_by(context.kaggle.username, anyone=context.rehearsal)


def ask(context: PushContext, plan: Plan, mounted: Mounted) -> Account:
    """Ask Kaggle for everything that decides whether this plan is sent now.

    `plan`: with the account's names, see `in_account`. Nothing is sent. Raises `CredentialsError`
    and `NetworkError` when Kaggle cannot be asked.
    """
    kaggle = context.kaggle
    username = kaggle.username
    every = context.ledger.of()
    of_kernel = [push for push in every if push.kernel == plan.kernel_name]
    inputs = mounted.contents | _datasets(kaggle, plan) | _own_kernels(kaggle, plan, mounted)
    counting = every
    if plan.request.force:
        counting = [push for push in every if push.number in context.begun]
    stored = kaggle.stored(plan.kernel)
    newest = stored.newest if stored else 0
    slug = plan.metadata.competition if plan.request.submit is not None else None
    return Account(
        plan=plan,
        inputs=inputs,
        earlier=find_identical(context, plan, counting, inputs),
        username=username,
        secrets=tuple(kaggle.connection.secrets),
        newest=newest,
        elsewhere=saved_elsewhere(context, of_kernel, newest),
        active=_active(kaggle, plan.kernel, of_kernel, newest),
        others=tuple(_others(kaggle, plan)),
        quota=kaggle.quota(plan.kind) if plan.kind != "cpu" else None,
        competition=_competition(kaggle, slug) if slug else None,
        owner_here=mounted.owner,
    )


def saved_elsewhere(context: PushContext, pushes: Sequence[Push], newest: int) -> int:
    """The newest version of a kernel on Kaggle, if it came after the last of these pushes of it,
    and is not here; 0 otherwise."""
    last = next((push for push in reversed(since_deleted(pushes)) if push.version), None)
    if last is None or newest <= (last.version or 0):
        return 0
    return 0 if context.has_sources_of(last.name, newest, pushes) else newest


def _active(
    kaggle: Kaggle, kernel: Kernel, pushes: Sequence[Push], newest: int
) -> ActiveSession | None:
    """The kernel's session that is queued or running: of the last version that was pushed from here
    to run, or else of the newest."""
    begun = [push.version for push in pushes if push.version and push.runs]
    if begun:
        # Without a version, Kaggle may still report the one before it.
        state = _alive(kaggle, kernel, begun[-1])
        if state:
            return ActiveSession(state, begun[-1])
    state = _alive(kaggle, kernel)
    return ActiveSession(state, newest) if state else None


def _alive(kaggle: Kaggle, kernel: Kernel, version: int | None = None) -> str:
    """The state of a version's session, by default of the latest; "" unless it is alive."""
    status = kaggle.status(kernel, version)
    return status.state if status and status.alive else ""


def _others(kaggle: Kaggle, plan: Plan) -> Iterable[str]:
    """The account's other kernels that run on the same kind of machine."""
    for other in kaggle.recent(plan.kind):
        if str(other) != plan.kernel_name and _alive(kaggle, other):
            yield str(other)


def _competition(kaggle: Kaggle, slug: str) -> Competition:
    about = kaggle.repeated(partial(kaggle.competitions.get_competition, slug))
    limits = kaggle.repeated(partial(kaggle.competitions.get_submission_limits, slug))
    return Competition(
        slug,
        disabled=bool(about.submissions_disabled),
        notebooks_only=bool(about.is_kernels_submissions_only),
        exhausted=bool(limits.num_total and not limits.num_allowed_now),
        entered=bool(about.user_has_entered),
    )


def _datasets(kaggle: Kaggle, plan: Plan) -> dict[str, int]:
    """The version of each dataset that a session gets: Kaggle attaches the latest.

    Left out are those that the plan brings itself, whose contents are part of its own, and those of
    which the source names a version.
    """
    brought = {f"{kaggle.username}/{own.slug}" for own in plan.datasets}
    versions = {}
    for source in plan.metadata.sources["dataset"]:
        pinned = source.count("/") != 1
        if pinned or source in brought:
            continue
        latest = Dataset(source).latest(kaggle)
        if latest:
            versions[source] = latest
    return versions


def _own_kernels(kaggle: Kaggle, plan: Plan, mounted: Mounted) -> dict[str, int]:
    """The version of each of the account's own kernel sources that a session gets; 0 for none.

    That is the last complete version, or the one that the source pins ("me/features/3"). Left out
    are sources whose files a rehearsal mounts, and those with more versions than are
    looked at, of which an older one may be complete.
    """
    username = kaggle.username
    versions: dict[str, int] = {}
    for source in plan.metadata.sources["kernel"]:
        owner, slug, *pin = source.split("/")
        if owner.lower() != username.lower():
            continue
        kernel = Kernel(owner, slug)
        pinned = int(pin[0]) if pin else None
        stored = kaggle.stored(kernel, pinned)
        newest = stored.newest if stored else 0
        latest = range(newest, max(0, newest - LOOKED_AT), -1)
        complete = _first_complete(kaggle, kernel, [pinned] if pinned else latest)
        if complete:
            versions[source] = complete
        elif place_in_catalogue("kernel", f"{mounted.owner}/{slug}") in mounted.folders:
            continue
        elif pinned or newest <= LOOKED_AT:
            versions[source] = 0
    return versions


def _first_complete(kaggle: Kaggle, kernel: Kernel, versions: Iterable[int]) -> int:
    """The first of these versions whose session is complete; 0 if there is none."""
    for version in versions:
        status = kaggle.status(kernel, version)
        if status and status.state == "complete":
            return version
    return 0
