"""The state of a push, this week's quota, and the list of all pushes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.context import CommandOptions, KaggleContext
from kernelkit.project import find_project
from kernelkit.push.context import LAST, PushContext
from kernelkit.push.ledger import Ledger, Push, State
from kernelkit.push.resume import earlier_push
from kernelkit.push.when_free import state_of
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import STATUS, Event

QUOTA = Event("quota", quiet=True)
COUNTED = ("tpu", "gpu")  # the machines with a weekly quota
HEADS = ("pushed", "push", "on", "state", "queued", "run", "score", "git", "parameters")


def tell_status(reference: str = LAST, **options: Unpack[CommandOptions]) -> str:
    """Report the state of a push's session and the week's hours; returns the state: queued,
    running, complete, error …

    `reference`: `owner/slug/N`, or "last" for the ledger's last push. Raises `ParameterError` if
    there is no such push, `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = PushContext.in_project(**options)
    with earlier_push(context, reference) as push:
        status = context.kaggle.status(push.name, push.version)
        if status is None:
            raise ParameterError(NOT_VISIBLE.format(push.reference))
        words = f"{push.reference}: {status.state}"
        if status.message:
            words += f": {status.message}"
        context.events(
            STATUS,
            words,
            kernel=push.kernel,
            version=push.version,
            state=status.state,
            alive=status.alive,
        )
        _tell_hours(context)
    return status.state


def tell_quota(**options: Unpack[CommandOptions]) -> dict[str, float]:
    """Report the hours left this week for each accelerator; returns {kind: hours left}.

    Raises `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = PushContext.in_project(**options)
    with context.connect():
        return _tell_hours(context)


def _tell_hours(context: KaggleContext) -> dict[str, float]:
    hours = {}
    for kind in COUNTED:
        quota = context.kaggle.quota(kind)
        if quota:
            facts = asdict(quota) | {"left": quota.left}
            context.events(QUOTA, quota.remaining(kind), kind=kind, **facts)
            hours[kind] = quota.left
    return hours


def list_pushes(runs: Path | None = None, *, as_json: bool = False) -> str:
    """The ledger of pushes as a table, or `as_json` as one object per line.

    A push that waits is shown with its number, which `kernelkit stop` takes. `runs` defaults to
    the current project's folder.
    """
    runs = runs or find_project(Path.cwd()).runs
    pushes = Ledger(runs).pushes()
    unfinished = [Ledger(runs, rehearsal=local).unfinished() for local in (False, True)]
    states = {push.pushed: state_of(push, plan) for each in unfinished for push, plan in each}
    if as_json:
        return "\n".join(
            json.dumps(
                {
                    "event": "listed",
                    **asdict(push),
                    "state": states.get(push.pushed, push.state),
                    "unfinished": push.pushed in states,
                }
            )
            for push in pushes
        )
    if not pushes:
        return "no pushes yet"
    rows = [HEADS, *(_row(push, states.get(push.pushed, push.state)) for push in pushes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return safe_text.plain("\n".join(lines))


def _row(push: Push, state: str) -> tuple[str, ...]:
    name = push.reference
    if push.state == State.WAITING:
        name += f" {push.number}"
    if push.rehearsal:
        name += " (rehearsal)"
    return (
        push.pushed[:16].replace("T", " "),
        name,
        push.accelerator,
        state,
        _minutes(push.minutes_queued),
        _minutes(push.minutes_run),
        push.score or "",
        push.git,
        " ".join(f"{name}={value}" for name, value in push.parameters.items()),
    )


def _minutes(minutes: float | None) -> str:
    return "" if minutes is None else f"{minutes:.1f} min"
