"""The state of a push, this week's quota, and the list of all pushes."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Unpack

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.context import CommandOptions, KaggleContext
from kernelkit.project import COUNTED, find_project, shown
from kernelkit.push.ledger import Ledger, LedgerError, Push, State
from kernelkit.push.push_context import LAST, PushContext
from kernelkit.push.resume import earlier_push
from kernelkit.push.standing import tell_standing
from kernelkit.push.when_free import state_of
from kernelkit.runs import proved, run_folder, submissions
from kernelkit.runs.submissions import Pair
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import STATUS, Event

QUOTA = Event("quota", quiet=True)
HEADS = (
    *("pushed", "push", "on", "state", "queued", "run"),
    *("validation", "score", "rank", "git", "parameters"),
)
SUBMITTED_HEADS = (
    *("submitted", "competition", "number", "run", "file", "SHA-256", "git"),
    *("score", "rank then", "message"),
)


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
    """The ledger of pushes and of submissions as tables, or `as_json` as one object per line.

    A push that waits is shown with its number, which `kernelkit stop` takes. `runs` defaults to
    the current project's folder. An entry that cannot be read is left out; see `check_ledger`.
    """
    runs = runs or find_project(Path.cwd()).runs
    pushes = Ledger(runs).pushes()
    unfinished = [Ledger(runs, rehearsal=local).unfinished() for local in (False, True)]
    states = {push.pushed: state_of(push, plan) for each in unfinished for push, plan in each}
    if as_json:
        lines = []
        for push in pushes:
            state = states.get(push.pushed, push.state)
            own = {"state": state, "unfinished": push.pushed in states}
            lines.append(json.dumps({"event": "listed"} | asdict(push) | own))
        for fields in Ledger(runs).submissions():
            lines.append(json.dumps({"event": "submitted"} | fields))
        return "\n".join(lines)
    submitted = _submissions(Ledger(runs))
    if not pushes and not submitted:
        return "no pushes yet"
    marked = _contradicting(pushes)
    rows = []
    for push in pushes:
        row = _row(push, states.get(push.pushed, push.state), marked=push.pushed in marked)
        rows.append(row)
    lines = _table(HEADS, rows) if rows else []
    lines += [*_agreement(pushes), *submitted]
    if marked:
        lines.append(
            "* the public score contradicts the validation, as most other pushes order them"
        )
    return safe_text.plain("\n".join(lines))


def check_ledger(runs: Path | None = None) -> None:
    """Raise `LedgerError` if the ledger has entries that cannot be read, and so are not listed.

    `runs` defaults to the current project's folder.
    """
    ledger = Ledger(runs or find_project(Path.cwd()).runs)
    unreadable = [f"push {key}" for key in ledger.unreadable()]
    for key, fields in ledger.submission_rows():
        if fields is None or submissions.of_fields(fields) is None:
            unreadable.append(f"submission {key}")
    if unreadable:
        listed = "\n".join(f"  - {safe_text.one_line(each)}" for each in unreadable)
        raise LedgerError(
            f"entries of the ledger {ledger.path} cannot be read, and no list shows them. If a "
            "later version of kernelkit wrote them, update this one. A push is reached as "
            f"OWNER/SLUG/N all the same:\n{listed}"
        )


@dataclass(frozen=True)
class Validation:
    """The score that a push's run reached on its validation data, and whether it is verified."""

    score: float
    verified: bool

    def __str__(self) -> str:
        text = f"{self.score:.4f}"
        return text if self.verified else f"{text} ({proved.NOT_VERIFIED})"


def _validation(push: Push) -> Validation | None:
    """The validation score of a push; None if it is not known."""
    if not push.folder:
        return None
    folder = Path(push.folder)
    measures = run_folder.numbers(run_folder.metrics(folder) or {})
    score = measures.get(shown(folder).score)
    if score is None:
        return None
    return Validation(score, not proved.doubt(folder, run_folder.METRICS))


def _compared(pushes: Sequence[Push]) -> dict[str, list[tuple[Push, Pair]]]:
    """The pushes of each competition that have both scores, with (validation, public).

    Validation scores that are not verified do not count.
    """
    found: dict[str, list[tuple[Push, Pair]]] = {}
    for push in pushes:
        validation = _validation(push)
        public = submissions.number(push.score)
        if validation is None or not validation.verified or public is None or push.rehearsal:
            continue
        pair = (validation.score, public)
        found.setdefault(push.competition or "", []).append((push, pair))
    return found


def _contradicting(pushes: Sequence[Push]) -> set[str]:
    """When the pushes were made whose public score contradicts their validation."""
    found = set()
    for compared in _compared(pushes).values():
        marks = submissions.contradicting([pair for _, pair in compared])
        found |= {push.pushed for (push, _), mark in zip(compared, marks, strict=True) if mark}
    return found


def _agreement(pushes: Sequence[Push]) -> list[str]:
    """Whether public scores follow the validation scores, once there are enough of both."""
    lines = []
    for competition, compared in _compared(pushes).items():
        pairs = [pair for _, pair in compared]
        correlation = submissions.rank_correlation(pairs)
        if correlation is None:
            continue
        words = f"{competition}: rank correlation of validation and public score {correlation:.2f}"
        lines.append(f"{words}, over {len(pairs)} pushes")
        if correlation <= 0:
            lines.append("  public scores contradict the validation: look at how it is split")
    return lines


def _submissions(ledger: Ledger) -> list[str]:
    """The table of all submissions, oldest first; nothing without one."""
    found = [submissions.of_fields(fields) for fields in ledger.submissions()]
    rows = [_submission_row(each) for each in found if each]
    return ["", *_table(SUBMITTED_HEADS, rows)] if rows else []


def _submission_row(each: submissions.Submitted) -> tuple[str, ...]:
    return (
        each.when[:16].replace("T", " "),
        each.place,
        str(each.reference or ""),
        each.push or each.run,
        each.file,
        each.sha256[:12],
        each.git,
        each.outcome.partition("\n")[0],
        each.standing,
        each.message.partition("\n")[0],
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, its columns as wide as they need to be."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [heads, *rows]]


def _row(push: Push, state: str, *, marked: bool) -> tuple[str, ...]:
    name = push.reference
    if push.state == State.WAITING:
        name += f" {push.number}"
    if push.rehearsal:
        name += " (rehearsal)"
    validation = _validation(push)
    score = push.score or ""
    if marked:
        score += " *"
    return (
        push.pushed[:16].replace("T", " "),
        name,
        push.accelerator,
        state,
        _minutes(push.minutes_queued),
        _minutes(push.minutes_run),
        "" if validation is None else str(validation),
        score,
        "" if push.rank is None else f"{push.rank:,}/{push.teams:,}",
        push.git,
        " ".join(f"{name}={value}" for name, value in push.parameters.items()),
    )


def _minutes(minutes: float | None) -> str:
    return "" if minutes is None else f"{minutes:.1f} min"
