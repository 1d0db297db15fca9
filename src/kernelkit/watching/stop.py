"""Stop a push: Kaggle's API can end a queued or running session only by deleting the kernel."""

from collections.abc import Callable
from functools import partial
from typing import Unpack

from kernelkit.errors import NOT_VISIBLE, ParameterError, RefusedError
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.context.kaggle_context import CommandOptions
from kernelkit.kaggle.kernel import Kernel
from kernelkit.push.known.ledger import Push, State
from kernelkit.push.known.push_context import LAST, PushContext
from kernelkit.push.push_kernel import LEFT
from kernelkit.push.resume import earlier_push
from kernelkit.terminal.events import STATUS, STOPPED


def stop_push(
    reference: str = LAST, *, confirm: Callable[[str], bool], **options: Unpack[CommandOptions]
) -> None:
    """End the session of a push by deleting its kernel, if `confirm`, told the loss, agrees.

    reference  `owner/slug/N`, or "last" for the last push

    Nothing is deleted if the session is over. Raises `ParameterError` if there is no such version
    or the kernel is another user's, and `RefusedError` or `NetworkError` if Kaggle did not delete
    it.
    """
    context = PushContext.in_project(**options)
    with context.announcing_errors(), earlier_push(context, reference) as push:
        kaggle = context.kaggle
        page = f"https://www.kaggle.com/code/{push.kernel}"
        if push.name.owner.lower() != kaggle.username.lower():
            raise ParameterError(f"only its owner can stop {push.kernel}, not {kaggle.username}")
        if not _exists(context, push):
            if push.state != State.STOPPED:
                raise ParameterError(NOT_VISIBLE.format(push.reference))
            context.events(STATUS, f"{push.reference} was stopped before: nothing is left to stop")
            return
        status = kaggle.status(push.name, push.version)
        if status and status.alive:
            loss = (
                f"{push.reference} is {status.state}. Kaggle's API cannot stop a session, only "
                f"delete the whole kernel {push.kernel}: all its versions and comments, and all "
                "outputs that are not downloaded. To stop the run and keep the rest, cancel it on "
                f"{page}"
            )
            if not confirm(loss):
                context.events(LEFT, f"{push.reference} continues: nothing was deleted")
                return
            status = kaggle.status(push.name, push.version)  # it may have ended meanwhile
        if not (status and status.alive):
            context.events(STATUS, f"{push.reference} is not running: nothing was deleted")
            return
        reason = _delete(kaggle, push.name)
        if kaggle.stored(push.name):
            said = f" ({reason})" if reason else ""
            raise RefusedError(
                f"Kaggle still has {push.kernel}{said}: see on {page} whether it runs"
            )
        for other in context.ledger.of(push.kernel):
            is_open = other.state in (State.SENDING, State.SENT, State.LOST)
            if is_open or other.version == push.version:
                context.ledger.update(other, state=State.STOPPED)
        context.events(STOPPED, f"{push.kernel} is deleted, and its session ends with it")


def _delete(kaggle: Kaggle, kernel: Kernel) -> str:
    """Ask Kaggle to delete a kernel; returns what it says against it, as of one that is gone."""
    try:
        answer = kaggle.repeated(partial(kaggle.kernels.delete_kernel, kernel))
    except RefusedError as error:
        return str(error)
    return str(answer.error_message)


def _exists(context: PushContext, push: Push) -> bool:
    """Whether Kaggle has this version: of one that it never had, it may show another's status."""
    stored = context.kaggle.stored(push.name, push.version)
    return stored is not None and (push.version or 0) <= stored.newest
