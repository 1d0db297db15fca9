"""The state of a push, the list of all pushes, this week's quota."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

from kernelkit.errors import ParameterError
from kernelkit.project import find_project
from kernelkit.pushes.resuming import NOT_THERE, earlier
from kernelkit.terminal import safe_text
from kernelkit.workspace.context import LAST, LEDGER, CommandOptions, in_project
from kernelkit.workspace.ledger import Ledger, Push

COUNTED = ("tpu", "gpu")  # the machines with a weekly quota
HEADS = ("pushed", "push", "on", "state", "queued", "run", "score", "git", "parameters")


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
