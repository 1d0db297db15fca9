"""Send a push that is ready: exactly one version, even if Kaggle's answer is lost or wrong.

Its line in the ledger is written before the request is sent. SaveKernel starts a session each time
it arrives, so it is never simply repeated. After each answer, and after a failure that leaves open
whether it arrived, the versions on Kaggle are searched for this push's number; the push is sent
again only if none shows it after a while. An earlier push that is identical is taken up instead.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelkit.errors import KernelkitError
from kernelkit.kaggle.client import Kaggle, Saved, Stored
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.push.bundle import build
from kernelkit.push.known.identical import refuse_repeated
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.push.sending.ready import Ready
from kernelkit.push.sending.saved import check_saved
from kernelkit.terminal.events import WAITING, Event

PUSHED = Event("pushed")
SKIPPED = Event("skipped")
FOUND = Event("found")
LOOK_BACK = 5  # latest versions to search for an interrupted push
MOST_SENDS = 3


@dataclass(frozen=True)
class Sent:
    """A push that is on Kaggle: its line in the ledger, and the notebook that runs."""

    push: Push
    text: str

    @classmethod
    def earlier(cls, push: Push, text: str) -> "Sent":
        """A push that was sent before, whose notebook Kaggle stores as `text`."""
        return cls(push, build.stamped(text, push.number) if push.number else text)

    @property
    def number(self) -> str:
        """The push's number, which proves its files."""
        return self.push.number or build.number_of(self.text)


def send(context: PushContext, ready: Ready) -> Sent:
    """Send a push: at most one version of its kernel, and so at most one session, comes of it.

    It is in the ledger before it is sent. The caller holds `context.alone_with` its kernel, from
    Kaggle's answers about the account until here, so that they still hold.

    Raises `Failure`, and `RefusedError` for a run that is not the requested one.
    """
    plan = ready.plan
    push = context.ledger.begin(ready.push)
    context.begun.add(push.number)
    text = build.stamped(plan.bundle.text, push.number)
    fields = plan.save_fields | {"text": text}
    try:
        settle = context.timing.settle
        saved = Sending(context.kaggle, plan.kernel, fields, settle, ready.newest).once()
    except Failure as failure:
        if not _may_have_arrived(failure):
            context.ledger.update(push, state=State.REFUSED)
            raise
        raise failure.advising(
            "It is not known whether the push arrived. The next push of this kernel looks for it "
            f"first; you can also see https://www.kaggle.com/code/{push.kernel}"
        ) from None
    state = State.SENT if push.runs else State.SAVED
    arrived: dict[str, Any] = {"kernel": saved.ref, "version": saved.version, "state": state}
    with context.naming_the_way_back(replace(push, **arrived)):
        push = context.ledger.update(push, **arrived)
    facts = {"kernel": push.kernel, "version": saved.version, "url": saved.url}
    context.events(PUSHED, f"{push.kernel} version {saved.version}: {saved.url}", **facts)
    _compare(context, plan, push, saved)
    return Sent(push, text)


def _compare(context: PushContext, plan: Plan, push: Push, saved: Saved) -> None:
    """Compare what Kaggle saved with the plan; a push that is not what was asked for has failed."""
    try:
        check_saved(context, plan, saved)
    except KernelkitError:
        context.ledger.update(push, state=State.FAILED)  # whose session may run nevertheless
        raise


def take_up(context: PushContext, earlier: Push, plan: Plan) -> Sent:
    """The earlier push that is identical to a plan, in place of a new one.

    Until its session is over, what Kaggle saved is compared with the plan again, since the command
    that sent it may have been killed before that. Raises what `refuse_repeated` and `check_saved`
    raise.
    """
    refuse_repeated(context, earlier, plan.request)
    words = f"{earlier.reference} is {earlier.state}, and nothing changed since"
    context.events(SKIPPED, words, kernel=earlier.kernel, version=earlier.version)
    if earlier.state == State.LOST:  # and Kaggle shows it again
        earlier = context.ledger.update(earlier, state=State.SENT)
    stored = context.kaggle.existing(earlier.name, earlier.version)
    if earlier.state == State.SENT:
        saved = Saved(stored.version, "", earlier.kernel, stored=stored)
        _compare(context, plan, earlier, saved)
    return Sent.earlier(earlier, stored.text)


def look_after_cut_off(context: PushContext, kernel: str) -> None:
    """Find the versions of the kernel's pushes that were interrupted while being sent.

    Those are looked for that came after the last push with a version. One that was refused is
    among them: a proxy may have answered after Kaggle had saved it. The caller holds
    `context.alone_with` the kernel, because a push that another command is sending looks the same
    in the ledger. Raises `Failure`.
    """
    waiting: list[Push] = []
    for push in context.ledger.of(kernel):
        waiting = [] if push.version else [*waiting, push]
    if not waiting:
        return
    if any(push.state == State.SENDING for push in waiting):  # it may still be on its way
        context.events(WAITING, "until the interrupted push is certain to have arrived")
        context.timing.clock.sleep(sum(context.timing.settle))
    numbers = {push.number for push in waiting if push.number}
    arrived = _arrived(context.kaggle, Kernel.of(kernel), numbers)
    for push in waiting:
        shown = arrived.get(push.number)
        if shown is None:
            if push.state == State.SENDING:
                context.ledger.update(push, state=State.LOST)
            continue
        how = "refused" if push.state == State.REFUSED else "interrupted while being sent"
        state = State.SENT if push.runs else State.SAVED
        found = context.ledger.update(
            push, kernel=str(shown.kernel), version=shown.version, state=state
        )
        text = f"{found.reference}: the push was {how}, and arrived"
        context.events(FOUND, text, version=found.version)


@dataclass(frozen=True)
class Arrived:
    """A version on Kaggle that shows a push's number, and the kernel that it is of."""

    kernel: Kernel
    version: int
    stored: Stored


def _arrived(
    kaggle: Kaggle, kernel: Kernel, numbers: Collection[str], after: int = 0
) -> dict[str, Arrived]:
    """The versions with the numbers of these pushes, by number.

    They are looked for among those of the kernel after version `after`, and then among the
    account's kernels that ran last, since Kaggle may have saved one under another name.
    """
    found = _versions_with(kaggle, kernel, numbers, after)
    if len(found) == len(numbers):
        return found
    for other in kaggle.recent():
        if str(other).lower() == str(kernel).lower():
            continue
        stored = kaggle.stored(other)
        number = build.number_of(stored.text) if stored else ""
        if stored and number in numbers:
            found.setdefault(number, Arrived(other, stored.version, stored))
            if len(found) == len(numbers):
                break
    return found


def _versions_with(
    kaggle: Kaggle, kernel: Kernel, numbers: Collection[str], after: int
) -> dict[str, Arrived]:
    """The versions of a kernel after `after` with these numbers, by number.

    Of several in a row with one number it is the oldest, as later ones may be edits of it.
    """
    latest = kaggle.stored(kernel)
    newest = latest.version if latest else 0
    found: dict[str, Arrived] = {}
    for version in range(newest, max(after, newest - LOOK_BACK), -1):
        stored = kaggle.stored(kernel, version)
        number = build.number_of(stored.text) if stored else ""
        if stored and number in numbers:
            found[number] = Arrived(kernel, version, stored)
        elif len(found) == len(numbers):
            break
    return found


class Sending:
    """One push on its way to Kaggle; its number in the request's `text` tells it from any other.

    `settle` are the pauses before each look for a push whose answer was lost; `before` is the
    kernel's latest version before the push, 0 if there is none.
    """

    def __init__(
        self,
        kaggle: Kaggle,
        kernel: Kernel,
        fields: Mapping[str, Any],
        settle: Sequence[float],
        before: int,
    ) -> None:
        self._kaggle = kaggle
        self._kernel = kernel
        self._fields = fields
        self._settle = settle
        self._number = build.number_of(fields["text"])
        self._before = before

    def once(self) -> Saved:
        """Push a new version of the kernel, at most once.

        Raises `Failure`. After a network, server or malformed failure that was `sent`, it is
        unknown whether the push arrived; any other failure means that nothing runs.
        """
        failures: list[Failure] = []
        while True:
            try:
                saved = self._kaggle.save(self._fields)
            except Failure as failure:
                failures.append(failure)
                # The previous attempt may have arrived late, and be the reason for this refusal.
                if not failure.is_transient and len(failures) == 1:
                    raise
                try:
                    recovered = self._look(failure)
                except Failure:  # of the search, so it is still unknown whether any attempt arrived
                    raise next(filter(_may_have_arrived, failures), failure) from None
                if recovered:
                    return recovered
                if not failure.is_transient or len(failures) == MOST_SENDS:
                    raise
            else:
                return self._read_back(saved)

    def _read_back(self, saved: Saved) -> Saved:
        """The answer with the version as Kaggle stores it, or with this push's actual version.

        Raises `Failure` if Kaggle shows another push's version and none of this push.
        """
        here = self._kernel
        *above, slug = saved.ref.strip("/").split("/")
        named = Kernel(above[-1] if above else "", slug)
        elsewhere = here if str(named).lower() == str(here).lower() else named
        try:
            for pause in (0.0, *self._settle):
                self._kaggle.retries.clock.sleep(pause)
                shown = False
                for place in dict.fromkeys((elsewhere, here)):
                    stored = self._kaggle.stored(place, saved.version)
                    shown = shown or stored is not None
                    if stored and build.number_of(stored.text) == self._number:
                        return replace(saved, ref=str(place), stored=stored)
                recovered = self._recovered(saved)
                if recovered:
                    return recovered
                if not shown:
                    return replace(saved, ref=str(here))
        except Failure:  # it arrived; the session's log proves the version
            return replace(saved, ref=str(here))
        raise Failure(
            FailureKind.MALFORMED,
            "SaveKernel",
            f"Kaggle's answer names version {saved.version}, which is another push's",
        )

    def _look(self, failure: Failure) -> Saved | None:
        """The version that a failed push created after all; polls until it would be visible."""
        retries = self._kaggle.retries
        for pause in self._settle if _may_have_arrived(failure) else self._settle[-1:]:
            retries.rest(failure, max(pause, failure.retry_after or 0.0))
            recovered = self._recovered(Saved(0, ""))
            if recovered:
                return recovered
        return None

    def _recovered(self, saved: Saved) -> Saved | None:
        """The answer with the version that this push created, if Kaggle shows one."""
        found = _arrived(self._kaggle, self._kernel, {self._number}, self._before)
        arrived = found.get(self._number)
        if arrived is None:
            return None
        return replace(
            saved,
            ref=str(arrived.kernel),
            version=arrived.version,
            url=f"https://www.kaggle.com/code/{arrived.kernel}",
            stored=arrived.stored,
            recovered=True,
        )


def _may_have_arrived(failure: Failure) -> bool:
    """Whether a failed SaveKernel may have started a session."""
    return failure.is_transient and failure.sent and failure.kind is not FailureKind.THROTTLED
