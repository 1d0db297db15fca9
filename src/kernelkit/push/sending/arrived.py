"""Which pushes arrived on Kaggle: the versions that show their numbers."""

from collections.abc import Collection
from dataclasses import dataclass

from kernelkit.kaggle.client import Kaggle, Stored
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.bundle.number import number_of
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import PushContext
from kernelkit.terminal.events import WAITING, Event

FOUND = Event("found")
LOOK_BACK = 5  # latest versions to search for an interrupted push


def find_interrupted(context: PushContext, kernel: str) -> None:
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
    arrived = find_arrived(context.kaggle, Kernel.of(kernel), numbers)
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
        number = number_of(stored.text) if stored else ""
        if stored and number in numbers:
            found[number] = Arrived(kernel, version, stored)
        elif len(found) == len(numbers):
            break
    return found
