"""The state of a push, the list of all pushes, this week's quota; the end of a push.

Kaggle's API can stop a queued or running push only by deleting the kernel.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Unpack

from kernelkit.errors import NOT_VISIBLE, ParameterError, RefusedError
from kernelkit.kaggle.context import LAST, CommandOptions, Ledger, Push, State, in_project
from kernelkit.project import find_project
from kernelkit.push.resuming import earlier_push
from kernelkit.terminal import safe_text

COUNTED = ("tpu", "gpu")  # the machines with a weekly quota
HEADS = ("pushed", "push", "on", "state", "queued", "run", "score", "git", "parameters")


def tell_status(reference: str = LAST, **options: Unpack[CommandOptions]) -> str:
    """Report the state of a push's session and return it: queued, running, complete, error …

    `reference`: `owner/slug/N`, or "last" for the ledger's last push. Raises `ParameterError` if
    there is no such push, `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = in_project(options)
    with earlier_push(context, reference) as push:
        status = context.kaggle.status(push.name, push.version)
    if status is None:
        raise ParameterError(NOT_VISIBLE.format(push.reference))
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
    pushes = Ledger(runs or find_project(Path.cwd()).runs).pushes()
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


def stop_push(
    reference: str = LAST, *, confirm: Callable[[str], bool], **options: Unpack[CommandOptions]
) -> None:
    """End the session of a push by deleting its kernel, if `confirm`, told the loss, agrees.

    Nothing is deleted if the session is over. Raises `ParameterError` if the kernel is another
    user's, and `RefusedError` or `NetworkError` if Kaggle did not delete it.
    """
    context = in_project(options)
    with earlier_push(context, reference) as push:
        kaggle = context.kaggle
        page = f"https://www.kaggle.com/code/{push.kernel}"
        if push.name.owner.lower() != kaggle.username.lower():
            raise ParameterError(f"only its owner can stop {push.kernel}, not {kaggle.username}")
        status = kaggle.status(push.name, push.version)
        if status and status.alive:
            loss = (
                f"{push.reference} is {status.state}. Kaggle's API cannot stop a session, only "
                f"delete the whole kernel {push.kernel}: all its versions and comments, and all "
                "outputs that are not downloaded. To stop the run and keep the rest, cancel it on "
                f"{page}"
            )
            if not confirm(loss):
                context.events("left", f"{push.reference} continues: nothing was deleted")
                return
            status = kaggle.status(push.name, push.version)  # it may have ended meanwhile
        if not (status and status.alive):
            context.events("status", f"{push.reference} is not running: nothing was deleted")
            return
        kaggle.if_there(partial(kaggle.calls.delete_kernel, push.name))
        if kaggle.stored(push.name):
            raise RefusedError(f"Kaggle still has {push.kernel}: see on {page} whether it runs")
        for other in context.ledger.of(push.kernel):
            if other.state in (State.SENDING, State.QUEUED, State.LOST):
                context.ledger.update(other, state=State.STOPPED)
        context.events("stopped", f"{push.kernel} is deleted, and its session ends with it")
