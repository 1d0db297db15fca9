"""The state of a push, this week's quota, and the list of all pushes."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.context import CommandOptions, KaggleContext
from kernelkit.project import find_project, shown
from kernelkit.push.ledger import Ledger, Push, State
from kernelkit.push.push_context import LAST, PushContext
from kernelkit.push.resume import earlier_push
from kernelkit.push.standing import tell_standing
from kernelkit.push.when_free import state_of
from kernelkit.runs import run_folder
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import STATUS, Event

QUOTA = Event("quota", quiet=True)
COUNTED = ("tpu", "gpu")  # the machines with a weekly quota
HEADS = (
    *("pushed", "push", "on", "state", "queued", "run"),
    *("validation", "score", "rank", "git", "parameters"),
)
FEWEST_COMPARED = 5  # pushes, from which on validation and public scores are compared


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
        if push.competition and push.score:
            tell_standing(context, push.competition)
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
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return safe_text.plain("\n".join([*lines, *_agreement(pushes)]))


def _validation(push: Push) -> float | None:
    """The score that a push's run reached on its validation data; None if it is not known."""
    if not push.folder:
        return None
    folder = Path(push.folder)
    measures = run_folder.numbers(run_folder.metrics(folder) or {})
    return measures.get(shown(folder).score)


def _public(push: Push) -> float | None:
    try:
        return float(push.score or "")
    except ValueError:
        return None


def _agreement(pushes: Sequence[Push]) -> list[str]:
    """Whether public scores follow the validation scores, once there are enough of both.

    For each competition: Spearman's rank correlation (1904).
    """
    lines = []
    of_competition: dict[str, list[tuple[float, float]]] = {}
    for push in pushes:
        validation = _validation(push)
        public = _public(push)
        if validation is not None and public is not None and not push.rehearsal:
            of_competition.setdefault(push.competition or "", []).append((validation, public))
    for competition, compared in of_competition.items():
        if len(compared) < FEWEST_COMPARED:
            continue
        correlation = _rank_correlation(compared)
        if correlation is None:
            continue
        words = f"{competition}: rank correlation of validation and public score {correlation:.2f}"
        lines.append(f"{words}, over {len(compared)} pushes")
        if correlation <= 0:
            lines.append("  public scores contradict the validation: look at how it is split")
    return lines


def _rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation; None if all values of one side are equal."""
    first = _ranks([a for a, _ in pairs])
    second = _ranks([b for _, b in pairs])
    if len(set(first)) == 1 or len(set(second)) == 1:
        return None
    return statistics.correlation(first, second)


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1, equal ones sharing their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _row(push: Push, state: str) -> tuple[str, ...]:
    name = push.reference
    if push.state == State.WAITING:
        name += f" {push.number}"
    if push.rehearsal:
        name += " (rehearsal)"
    validation = _validation(push)
    return (
        push.pushed[:16].replace("T", " "),
        name,
        push.accelerator,
        state,
        _minutes(push.minutes_queued),
        _minutes(push.minutes_run),
        "" if validation is None else f"{validation:.4f}",
        push.score or "",
        "" if push.rank is None else f"{push.rank:,}/{push.teams:,}",
        push.git,
        " ".join(f"{name}={value}" for name, value in push.parameters.items()),
    )


def _minutes(minutes: float | None) -> str:
    return "" if minutes is None else f"{minutes:.1f} min"
