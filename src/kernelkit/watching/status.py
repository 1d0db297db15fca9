"""The state of a push, this week's quota, and the list of all pushes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Unpack

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.context.kaggle_context import CommandOptions, KaggleContext
from kernelkit.project import COUNTED, find_project, shown
from kernelkit.push.asked.account import saved_elsewhere
from kernelkit.push.delivered.results import USED
from kernelkit.push.known.ledger import Ledger, LedgerError, Push, State
from kernelkit.push.known.push_context import LAST, PushContext
from kernelkit.push.resume import earlier_push
from kernelkit.runs import submitted
from kernelkit.scores.metrics import Metrics
from kernelkit.scores.score_agreement import Pair, ScoreAgreement
from kernelkit.session_records import machine_use, proved
from kernelkit.submissions.standing import tell_standing
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import STATUS, Event
from kernelkit.terminal.live_line import fitted, in_columns

QUOTA = Event("quota", quiet=True)
ELSEWHERE = Event("edited")
HEADS = (
    "pushed",
    "push",
    "on",
    "state",
    "queued",
    "run",
    "validation",
    "score",
    "rank",
    "git",
    "parameters",
)
SUBMITTED_HEADS = (
    "submitted",
    "competition",
    "number",
    "run",
    "file",
    "SHA-256",
    "git",
    "score",
    "rank then",
    "message",
)
LONGEST_CELL = 1000  # characters; `--json` has all of them
CONTRADICTS = "* the public score contradicts the validation, as most other pushes order them"


def tell_status(reference: str = LAST, **options: Unpack[CommandOptions]) -> str:
    """Report the state of a push's session and the week's hours; returns the state: queued,
    running, complete, error …

    `reference`: `owner/slug/N`, or "last" for the ledger's last push. Raises `ParameterError` if
    there is no such push, `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = PushContext.in_project(**options)
    with context.announcing_errors(), earlier_push(context, reference) as push:
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
        use = machine_use.in_words(Path(push.folder)) if push.folder else ""
        if use:
            context.events(USED, use)
        _tell_elsewhere(context, push)
        if push.competition and push.score:
            tell_standing(context, push.competition)
        _tell_hours(context)
    return status.state


def _tell_elsewhere(context: PushContext, push: Push) -> None:
    """Tell a version that was saved on Kaggle since the kernel's last push from here."""
    stored = context.kaggle.stored(push.name)
    pushes = context.ledger.of(push.kernel)
    version = saved_elsewhere(context, pushes, stored.newest if stored else 0)
    if version:
        words = (
            f"{push.kernel}/{version} was saved on Kaggle since the last push from here: "
            "`kernelkit pull` brings its edits into your files"
        )
        context.events(ELSEWHERE, words, kernel=push.kernel, version=version)


def tell_quota(**options: Unpack[CommandOptions]) -> dict[str, float]:
    """Report the hours left this week for each accelerator; returns {kind: hours left}.

    Raises `CredentialsError` or `NetworkError` if Kaggle cannot be reached.
    """
    context = PushContext.in_project(**options)
    with context.announcing_errors(), context.connect():
        return _tell_hours(context)


def _tell_hours(context: KaggleContext) -> dict[str, float]:
    hours = {}
    for kind in COUNTED:
        quota = context.kaggle.quota(kind)
        if quota:
            facts = asdict(quota) | {"left": quota.left}
            context.events(QUOTA, quota.remaining(kind), kind=kind, **facts)
            hours[kind] = quota.left
    if not hours:
        context.events(QUOTA, "Kaggle does not say how many hours are left this week")
    return hours


def list_pushes(runs: Path | None = None, *, as_json: bool = False) -> str:
    """The ledger of pushes and of submissions as tables, or `as_json` as one object per line.

    `runs` defaults to the current project's folder. A push that Kaggle refused is left out once its
    kernel was pushed again, and an entry that cannot be read always; see `check_ledger`.
    """
    runs = runs or find_project(Path.cwd()).runs
    ledger = Ledger(runs)
    pushes = _without_repeated(ledger.pushes())
    if as_json:
        return "\n".join(_json_lines(pushes, ledger))
    lines = [*_table_of_pushes(pushes), *_table_of_submissions(ledger)]
    if not lines:
        return "no pushes yet"
    return safe_text.plain("\n".join(lines))


def _without_repeated(pushes: Sequence[Push]) -> list[Push]:
    """The pushes but those that were refused and repeated, as `push --when-free` does for hours."""
    again: set[tuple[str, bool]] = set()
    listed = []
    for push in reversed(pushes):
        kernel = (push.kernel, push.rehearsal)
        if push.state != State.REFUSED or kernel not in again:
            listed.append(push)
        again.add(kernel)
    return listed[::-1]


def _json_lines(pushes: Sequence[Push], ledger: Ledger) -> Iterator[str]:
    for push in pushes:
        yield json.dumps({"event": "listed"} | asdict(push))
    for fields in ledger.submissions():
        yield json.dumps({"event": "submitted"} | fields)


def _table_of_pushes(pushes: Sequence[Push]) -> list[str]:
    """All pushes, oldest first, and whether public scores follow the validation; nothing without
    one."""
    if not pushes:
        return []
    validations = [_validation(push) for push in pushes]
    contradicting: set[int] = set()  # places in the list of pushes
    sentences = []
    for competition, pairs in _compared(pushes, validations).items():
        agreement = ScoreAgreement.of(list(pairs.values()))
        for place, contradicts in zip(pairs, agreement.contradicting, strict=True):
            if contradicts:
                contradicting.add(place)
        words = agreement.in_words(competition, f"{len(pairs)} pushes")
        if words:
            sentences.append(words)
    if contradicting:
        sentences.append(CONTRADICTS)
    rows = []
    for place, push in enumerate(pushes):
        rows.append(_row(push, validations[place], marked=place in contradicting))
    return [*_table(HEADS, rows), *sentences]


def check_ledger(runs: Path | None = None) -> None:
    """Raise `LedgerError` if the ledger has entries that cannot be read, and so are not listed.

    `runs` defaults to the current project's folder.
    """
    ledger = Ledger(runs or find_project(Path.cwd()).runs)
    unreadable = [f"push {key}" for key in ledger.unreadable()]
    for key, fields in ledger.submission_rows():
        if fields is None or submitted.of_fields(fields) is None:
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
        return text if self.verified else proved.marked(text)


def _validation(push: Push) -> Validation | None:
    """The validation score of a push; None if it is not known."""
    if not push.folder:
        return None
    folder = Path(push.folder)
    name = shown(folder).score
    metrics = Metrics.of_run(folder, name)
    score = metrics.numbers.get(name)
    if score is None:
        return None
    return Validation(score, not metrics.doubt(folder))


def _compared(
    pushes: Sequence[Push], validations: Sequence[Validation | None]
) -> dict[str, dict[int, Pair]]:
    """{competition: {place in the list: (validation, public)}} of the pushes with both scores.

    Rehearsals and validation scores that are not verified do not count.
    """
    compared: dict[str, dict[int, Pair]] = {}
    for place, (push, validation) in enumerate(zip(pushes, validations, strict=True)):
        public = submitted.number(push.score)
        if push.rehearsal or public is None:
            continue
        if validation is None or not validation.verified:
            continue
        pair = (validation.score, public)
        compared.setdefault(push.competition or "", {})[place] = pair
    return compared


def _table_of_submissions(ledger: Ledger) -> list[str]:
    """All submissions, oldest first, below an empty line; nothing without one."""
    found = [submitted.of_fields(fields) for fields in ledger.submissions()]
    rows = [_submission_row(each) for each in found if each]
    return ["", *_table(SUBMITTED_HEADS, rows)] if rows else []


def _submission_row(each: submitted.Submitted) -> tuple[str, ...]:
    return (
        each.when[:16].replace("T", " "),
        each.shown_competition,
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
    """The lines of a table, no cell longer than a reader can use."""
    lines = [heads]
    for row in rows:
        lines.append([fitted(safe_text.one_line(cell), LONGEST_CELL) for cell in row])
    return in_columns(lines)


def _row(push: Push, validation: Validation | None, *, marked: bool) -> tuple[str, ...]:
    name = push.reference
    if push.rehearsal:
        name += " (rehearsal)"
    score = push.score or ""
    if marked:
        score += " *"
    return (
        push.pushed[:16].replace("T", " "),
        name,
        push.accelerator,
        push.state,
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
