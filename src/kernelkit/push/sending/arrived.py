"""Which pushes arrived on Kaggle: the versions that show their numbers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernelkit.kaggle.answers import Stored
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.bundle.number import number_of
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.terminal.events import WAITING, Event

FOUND = Event("found")
LOOK_BACK = 5  # latest versions to search, before the kernels that ran last


def find_interrupted(context: PushContext, kernel: str) -> None:
    """Find the versions of the kernel's pushes that were interrupted while being sent.

    The ledger gets the version of each that arrived; others that were being sent are lost. The
    caller holds `context.alone_with` the kernel, because a push that another command is sending
    looks the same in the ledger. Raises `Failure`.
    """
    pushes = _without_version(context.ledger.of(kernel))
    if not pushes:
        return
    if any(push.state == State.SENDING for push in pushes):  # it may still be on its way
        context.events(WAITING, "until the interrupted push is certain to have arrived")
        context.timing.clock.sleep(sum(context.timing.settle))
    numbers = {push.number for push in pushes if push.number}
    arrived = find_arrived(context.kaggle, Kernel.of(kernel), numbers)
    for push in pushes:
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
        text = f"{found.reference}: the push was {how}, but arrived"
        context.events(FOUND, text, version=found.version)


def _without_version(pushes: Sequence[Push]) -> list[Push]:
    """The pushes after the last one with a version: Kaggle may have saved each of them.

    One that was refused, or taken for lost, is among them: a proxy may have answered after Kaggle
    had saved it.
    """
    latest: list[Push] = []
    for push in pushes:
        latest = [] if push.version else [*latest, push]
    return latest


@dataclass(frozen=True)
class Arrived:
    """A version on Kaggle that shows a push's number, and the kernel that it is of."""

    kernel: Kernel
    version: int
    stored: Stored


def find_arrived(
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
        number = number_of(stored.text) if stored else ""
        if stored and number in numbers:
            found.setdefault(number, Arrived(other, stored.newest, stored))
            if len(found) == len(numbers):
                break
    return found


def _versions_with(
    kaggle: Kaggle, kernel: Kernel, numbers: Collection[str], after: int
) -> dict[str, Arrived]:
    """The versions of a kernel after `after` with these numbers, by number.

    The newest are asked for first. Of several in a row with one number, the oldest is the push:
    later ones may be edits of it.
    """
    latest = kaggle.stored(kernel)
    newest = latest.newest if latest else 0
    found: dict[str, Arrived] = {}
    for version in range(newest, max(after, newest - LOOK_BACK), -1):
        stored = kaggle.stored(kernel, version)
        number = number_of(stored.text) if stored else ""
        if stored and number in numbers:
            found[number] = Arrived(kernel, version, stored)
        elif len(found) == len(numbers):  # all are found, and this is the version before them
            break
    return found
