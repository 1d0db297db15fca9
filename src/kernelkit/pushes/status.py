"""The state of a push, the list of all pushes, this week's quota; the end of a push.

Kaggle's API can stop a queued or running push only by deleting the kernel.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

from kernelkit.errors import ParameterError
from kernelkit.kaggle_api.client import Kaggle, Kernel
from kernelkit.kaggle_api.retries import Failure
from kernelkit.project import find_project
from kernelkit.pushes.resuming import NOT_THERE, earlier, stored_version
from kernelkit.terminal import safe_text
from kernelkit.workspace import ledger as ledgers
from kernelkit.workspace.context import LAST, LEDGER, CommandOptions, in_project
from kernelkit.workspace.ledger import Ledger, Push

COUNTED = ("tpu", "gpu")  # the machines with a weekly quota
HEADS = ("pushed", "push", "on", "state", "queued", "run", "score", "git", "parameters")
OPEN = (ledgers.SENDING, ledgers.QUEUED, ledgers.RUNNING)


def tell_status(reference: str = LAST, **options: Unpack[CommandOptions]) -> str:
    """Report the state of a push's session and return it: queued, running, complete, error …

    `reference`: `owner/slug/N`, or "last" for the ledger's last push. Raises `ParameterError` if
    there is no such push, `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = in_project(options)
    with context.connect(reference) as kaggle:
        push = earlier(context, reference)
        status = kaggle.status(push.name, push.version)
    if status is None:
        raise ParameterError(NOT_THERE.format(push.reference))
    why = f": {status.message}" if status.message else ""
    context.events(
        "status",
        f"{push.reference}: {status.state}{why}",
        kernel=push.kernel,
        version=push.version,
        state=status.state,
        alive=status.alive,
    )
    return status.state


def list_pushes(runs: Path | None = None, *, as_json: bool = False) -> str:
    """The ledger of pushes as a table, or `as_json` as one object per line.

    `runs` defaults to the current project's folder.
    """
    pushes = Ledger((runs or find_project(Path.cwd()).runs) / LEDGER).pushes()
    if as_json:
        return "\n".join(json.dumps({"event": "listed", **asdict(push)}) for push in pushes)
    if not pushes:
        return "no pushes yet"
    rows = [HEADS, *map(_row, pushes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return safe_text.plain("\n".join(lines))


def _row(push: Push) -> tuple[str, ...]:
    queued, run = (
        "" if minutes is None else f"{minutes:.1f} min"
        for minutes in (push.minutes_queued, push.minutes_run)
    )
    return (
        push.pushed[:16].replace("T", " "),
        push.reference + (" (rehearsal)" if push.rehearsal else ""),
        push.accelerator,
        push.state,
        queued,
        run,
        push.score or "",
        push.git,
        " ".join(f"{name}={value}" for name, value in push.parameters.items()),
    )


def tell_quota(**options: Unpack[CommandOptions]) -> dict[str, float]:
    """Report the hours left this week for each accelerator; returns {kind: hours left}.

    Raises `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = in_project(options)
    hours = {}
    with context.connect() as kaggle:
        for kind in COUNTED:
            if quota := kaggle.quota(kind):
                facts = asdict(quota) | {"left": quota.left}
                context.events("quota", quota.remaining(kind), kind=kind, **facts)
                hours[kind] = quota.left
    return hours


def stop(
    reference: str = LAST, *, confirm: Callable[[str], bool], **options: Unpack[CommandOptions]
) -> bool:
    """End the session of a push by deleting its kernel; returns whether that was done.

    reference  `owner/slug/N`, or "last" for the ledger's last push
    confirm    gets a text about what would be lost, and returns whether to continue

    Nothing is deleted if the session is over. Raises `ParameterError` if there is no such push or
    the kernel is another user's, what `confirm` raises, and `CredentialsError`, `NetworkError` or
    `RefusedError` if Kaggle did not delete it.
    """
    context = in_project(options)
    with context.connect(reference) as kaggle:
        push = earlier(context, reference)
        kernel, page = push.name, f"https://www.kaggle.com/code/{push.kernel}"
        if kernel.owner.lower() != kaggle.username.lower():
            raise ParameterError(
                f"{kernel} is {kernel.owner}'s, but the credentials are {kaggle.username}'s: only "
                "its owner can stop it"
            )
        stored, status = stored_version(context, push), kaggle.status(kernel, push.version)
        facts = {"kernel": push.kernel, "version": push.version}
        if status is None or not status.alive:
            state = status.state if status else "without a session"
            text = f"{push.reference} is {state}, and nothing was deleted"
            context.events("status", text, **facts, state=state, alive=False)
            return False
        versions = "its only version" if stored.version == 1 else f"its {stored.version} versions"
        if not confirm(
            f"{push.reference} is {status.state}. Kaggle's API cannot stop a session, only delete "
            f"the whole kernel {kernel}: {versions}, with all comments, and all outputs that are "
            f"not downloaded. To stop the run and keep the rest, cancel it on {page}"
        ):
            context.events("left", f"{push.reference} continues, and nothing was deleted")
            return False
        _delete(kaggle, kernel)
        for other in context.ledger.of(push.kernel):
            if other.state in OPEN:
                context.ledger.update(other, state=ledgers.STOPPED)
        if kaggle.stored(kernel) is not None:
            text = f"Kaggle still shows {kernel}: check on {page} whether its session has ended"
            context.events("warning", text)
        context.events("stopped", f"{kernel} is deleted, and its session ends with it", **facts)
        return True


def _delete(kaggle: Kaggle, kernel: Kernel) -> None:
    try:
        kaggle.delete(kernel)
    except Failure as failure:
        # If an answer was lost, the repeated request finds nothing left to delete.
        if failure.is_transient or kaggle.stored(kernel) is not None:
            raise
