"""End a push's session by the one way that Kaggle's API has: its kernel is deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from kernelkit.errors import ParameterError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Kernel, Status, Stored
from kernelkit.plans import plan
from kernelkit.pushes.follow import kernel_of
from kernelkit.pushes.resuming import earlier
from kernelkit.pushes.status import state_of
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import LAST, CommandOptions, PushContext, in_project
from kernelkit.workspace.ledger import Push

OPEN = (ledgers.SENDING, ledgers.QUEUED, ledgers.RUNNING)


def stop(
    reference: str = LAST,
    *,
    confirm: Callable[[str], bool],
    **options: Unpack[CommandOptions],
) -> bool:
    """End the session of a push by deleting its kernel; returns whether that was done.

    reference  `owner/slug/N`, or "last" of the ledger
    confirm    is told what would be lost, and answers whether to go on

    Nothing is deleted where the session is over. Raises `ParameterError` where there is no such
    push or the kernel is another's, what `confirm` raises, and `CredentialsError`,
    `NetworkError` or `RefusedError` where Kaggle did not delete it.
    """
    context = in_project(plan.here(None), options)
    with context.asking(reference) as kaggle:
        push = earlier(context, kaggle, reference)
        kernel = kernel_of(push)
        _check_owner(kaggle, kernel)
        stored, status = state_of(kaggle, push)
        if status is None or not status.alive:
            state = status.state if status else "without a session"
            over = f"its session is over ({state})" if status else "it has no session"
            context.events(
                "status",
                f"{push.reference}: {over}, and nothing was deleted",
                kernel=push.kernel,
                version=push.version,
                state=state,
                alive=False,
            )
            return False
        if not confirm(_warning(push, stored, status)):
            context.events("left", f"{push.reference} goes on, and nothing was deleted")
            return False
        _delete(kaggle, kernel)
        _note(context, push)
        if kaggle.stored(kernel) is not None:
            context.events(
                "warning",
                f"Kaggle still shows {kernel}: look at "
                f"https://www.kaggle.com/code/{kernel} whether its session has ended",
            )
        context.events(
            "stopped",
            f"{kernel} is deleted, and its session ends with it",
            kernel=push.kernel,
            version=push.version,
        )
        return True


def _check_owner(kaggle: Kaggle, kernel: Kernel) -> None:
    if kernel.owner.lower() != kaggle.username.lower():
        raise ParameterError(
            f"{kernel} is {kernel.owner}'s and the credentials are {kaggle.username}'s: only its "
            "owner can stop it"
        )


def _warning(push: Push, stored: Stored, status: Status) -> str:
    page = f"https://www.kaggle.com/code/{push.kernel}"
    versions = "its one version" if stored.version == 1 else f"its {stored.version} versions"
    return (
        f"{push.reference} is {status.state}. Kaggle's API stops no session; it only deletes the "
        f"whole kernel {push.kernel}: {versions}, and every output and comment of them that is "
        f"not at home. To stop the run and keep the rest, cancel it on {page}"
    )


def _delete(kaggle: Kaggle, kernel: Kernel) -> None:
    try:
        kaggle.delete(kernel)
    except Failure as failure:
        # Where an answer was lost, the request after it finds nothing to delete any more.
        if failure.is_transient or kaggle.stored(kernel) is not None:
            raise failure.error() from None


def _note(context: PushContext, stopped: Push) -> None:
    """The ledger says of every open push of the kernel that it was stopped."""
    for push in context.ledger.of(stopped.kernel, rehearsal=context.events.rehearsal):
        if push.state in OPEN:
            context.ledger.update(push, state=ledgers.STOPPED)
