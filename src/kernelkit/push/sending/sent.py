"""Send a push that is ready, as one version at most; or take up an identical one in its place.

Its line in the ledger is written before the request is sent, and again once Kaggle's answer is
certain. Until then, `save_once` looks for the version before it sends the request again.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kernelkit.errors import KernelkitError
from kernelkit.exits.signals import EndedBySignal
from kernelkit.kaggle.answers import Saved, Stored
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.push.asked.identical import refuse_repeated
from kernelkit.push.bundle.number import number_of, stamped
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan
from kernelkit.push.sending.ready import Ready
from kernelkit.push.sending.save_once import Sending, may_have_arrived
from kernelkit.push.sending.saved import check_saved, check_stored
from kernelkit.terminal.events import INTERRUPTED, Event

PUSHED = Event("pushed")
SKIPPED = Event("skipped")


@dataclass(frozen=True)
class Sent:
    """A push that is on Kaggle: its line in the ledger, and the notebook that runs."""

    push: Push
    text: str

    @classmethod
    def earlier(cls, push: Push, text: str) -> "Sent":
        """A push that was sent before, whose notebook Kaggle stores as `text`."""
        return cls(push, stamped(text, push.number) if push.number else text)

    @property
    def number(self) -> str:
        """The push's number, which proves its files."""
        return self.push.number or number_of(self.text)


def send(context: PushContext, ready: Ready) -> Sent:
    """Send a push: at most one version of its kernel, and so at most one session, comes of it.

    It is in the ledger before it is sent. The caller holds `context.alone_with` its kernel, from
    Kaggle's answers about the account until here, so that they still hold.

    Raises `Failure`, and `RefusedError` for a run that is not the requested one.
    """
    plan = ready.plan
    push = context.ledger.begin(ready.push)
    context.begun.add(push.number)
    text = stamped(plan.bundle.text, push.number)
    fields = plan.save_fields | {"text": text}
    pauses = context.timing.settle
    try:
        saved = Sending(context.kaggle, plan.kernel, fields, pauses, ready.newest).once()
    except Failure as failure:
        if not may_have_arrived(failure):
            context.ledger.update(push, state=State.REFUSED)
            raise
        raise failure.advising(_unknown(context)) from None
    except (KeyboardInterrupt, EndedBySignal):
        context.events(INTERRUPTED, _unknown(context))
        raise
    state = State.SENT if push.runs else State.SAVED
    arrived: dict[str, Any] = {"kernel": saved.ref, "version": saved.version, "state": state}
    with context.naming_the_way_back(replace(push, **arrived)):  # if the ledger fails now
        push = context.ledger.update(push, **arrived)
    facts = {"kernel": push.kernel, "version": saved.version, "url": saved.url}
    context.events(PUSHED, f"{push.words}: {saved.url}", **facts)
    _compare(context, plan, push, saved)
    return Sent(push, text)


def _unknown(context: PushContext) -> str:
    """What to do about a push of which no answer came; to repeat it with --force is another one."""
    if context.serves:
        return "The local Kaggle stops with this command"
    return "It is not known whether the push arrived: `kernelkit resume` looks for it, and goes on"


def _compare(context: PushContext, plan: Plan, push: Push, saved: Saved) -> None:
    """Warn of what Kaggle saved otherwise than planned, or refuse it, see `check_saved`."""
    with _failed_if_refused(context, push):
        check_saved(context, plan, push, saved)


@contextlib.contextmanager
def _failed_if_refused(context: PushContext, push: Push) -> Iterator[None]:
    """A block that compares what Kaggle saved; a push that is not what was requested has failed."""
    try:
        yield
    except KernelkitError:
        context.ledger.update(push, state=State.FAILED)  # whose session may run nevertheless
        raise


def take_up(context: PushContext, earlier: Push, plan: Plan) -> Sent:
    """The earlier push that is identical to a plan, in place of a new one.

    What Kaggle saved is compared with the plan, if it may not have been yet. Raises what
    `refuse_repeated` and `check_saved` raise.
    """
    stored = context.kaggle.existing(earlier.name, earlier.version)
    if _is_to_be_compared(earlier):
        saved = Saved(earlier.version or 0, "", earlier.kernel, stored=stored)
        _compare(context, plan, earlier, saved)
    refuse_repeated(context, earlier, plan.request)
    if earlier.state == State.LOST:  # and Kaggle shows it again
        earlier = context.ledger.update(earlier, state=State.SENT)
    words = f"{earlier.reference} is {earlier.state}, and nothing changed since"
    context.events(SKIPPED, words, kernel=earlier.kernel, version=earlier.version)
    return Sent.earlier(earlier, stored.text)


def go_on(context: PushContext, push: Push, stored: Stored) -> Sent:
    """A push that was sent before, of which Kaggle stores this version, without its plan.

    Raises what `check_stored` raises.
    """
    if push.pushed and _is_to_be_compared(push) and not context.serves:
        with _failed_if_refused(context, push):
            check_stored(push, stored)
    return Sent.earlier(push, stored.text)


def _is_to_be_compared(push: Push) -> bool:
    """Whether the command that sent a push may have been killed before it compared what Kaggle
    saved: no later stage has noted anything since."""
    return push.state in (State.SENT, State.LOST, State.SAVED)
