"""Rehearse a code competition's hidden run: what Kaggle would show, and what it would hide.

The notebook is pushed to the local Kaggle and submitted there as a notebook; the local Kaggle runs
it again on the competition's hidden folder and scores its output.
"""

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from kernelkit import machines, project
from kernelkit.errors import ParameterError, RefusedError
from kernelkit.kaggle.context import CommandOptions
from kernelkit.push.ledger import Push
from kernelkit.push.plan import Plan, plan_push
from kernelkit.push.push_context import PushContext
from kernelkit.push.push_kernel import push as push_request
from kernelkit.push.request import PushRequest
from kernelkit.push.results import FAILURE
from kernelkit.rehearsal.hidden_data import make_hidden_data
from kernelkit.rehearsal.stand_in import rerun_of
from kernelkit.runs import log as logs
from kernelkit.runs import run_folder
from kernelkit.shown import duration
from kernelkit.terminal.events import NEXT, WARNING, Event, from_here, size_of

RERUN = Event("rerun", quiet=True)
PROJECTED = Event("projected")
MADE = Event("hidden")
VALIDATION = Event("validation")
CATALOGUE = "catalogue"  # the subfolder of the local Kaggle's folder
FOLDERS = "competitions", "hidden"  # in the catalogue: the public data, and the hidden
SAMPLE = "sample_submission.csv"  # one row for each row of the test set
MESSAGE = "rerun"
SCORING = "Submission Scoring Error"  # Kaggle's message for a file that it cannot score
NO_ANSWERS = "rehearsal: "  # begins what only the local Kaggle says: it has no answers
NO_HIDDEN = (
    "there is no hidden data, so nothing was run: name it with --hidden FOLDER, or have the "
    "catalogue's command write {{catalogue}}/hidden/{slug}, or add --make to make it from the "
    "training data"
)


@dataclass(frozen=True)
class RerunResult:
    """What Kaggle would show (a score, or a message instead), and what it would hide.

    `seconds`, `memory` and `working` (peak, in bytes) are the rerun's, `why` is the local Kaggle's
    own reason for ending it, and `folder` has its log and outputs; `hours` is the projected time
    for the given number of test rows, or None.
    """

    score: str
    message: str
    seconds: float
    memory: float
    working: float
    why: str
    folder: str
    hours: float | None = None


def rehearse_hidden_run(
    request: PushRequest,
    *,
    hidden: Path | None = None,
    make: bool = False,
    make_rows: int | None = None,
    rows: int | None = None,
    **options: Unpack[CommandOptions],
) -> RerunResult:
    """Rehearse a push, then run its notebook again as a code competition does: on hidden data.

    hidden      the folder that replaces the competition's in the second run; by default
                `hidden/SLUG` of the catalogue, which the project's catalogue command may write
    make        make the hidden data from the competition's own training data, once
    make_rows   the number of rows that are made
    rows        the size of the real hidden test set, to project the time that it would take

    The request is rehearsed as it is, except that its result is submitted, and that it runs even
    if nothing changed. Raises `ParameterError` without a competition or hidden data, and for a
    request of something else; `RefusedError` if Kaggle would give no score, and what a push raises
    for the first run.
    """
    for name in ("submit", "chain", "dry_run", "when_free"):
        if getattr(request, name):
            option = name.replace("_", "-")
            raise ParameterError(f"--hidden rehearses one submission: drop --{option}")
    options["local"] = True
    plan = plan_push(request)
    sources = plan.metadata.sources("competition")
    if len(sources) != 1:
        raise ParameterError(
            f"{request.metadata} names {len(sources)} competitions: a hidden run takes one"
        )
    context = PushContext.in_project(request.project, **options)
    local = context.local or context.runs
    slug = sources[0]
    if make:
        if hidden is not None:
            raise ParameterError("--make makes the hidden data: give --hidden without a FOLDER")
        _make(context, plan, local / CATALOGUE, slug, make_rows)
    else:
        _see_to_hidden_data(context, plan, hidden, local / CATALOGUE / "hidden" / slug)
    refusal = ""
    before = context.ledger.last()
    try:
        push_request(replace(request, submit=MESSAGE, force=True), **options)
    except RefusedError as error:
        refusal = str(error)
        if context.ledger.last() == before:  # nothing was pushed
            raise
    return _second_run(context, local, slug, refusal, rows)


def _fill_catalogue(context: PushContext, plan: Plan) -> None:
    """Let the catalogue's command write its inputs, which connecting does."""
    with replace(context, catalogue=plan.catalogue).connect():
        pass


def _see_to_hidden_data(context: PushContext, plan: Plan, hidden: Path | None, place: Path) -> None:
    """Let the catalogue's command write its inputs, and link the given folder as the hidden data.

    Raises `ParameterError` if there is no hidden data then.
    """
    if hidden is not None:
        _check_link(hidden, place)  # before the catalogue is filled, which may take long
    if hidden is not None or not place.is_dir():
        _fill_catalogue(context, plan)  # later its command could write through a link
    if hidden is not None:
        _link(hidden, place)
    elif not place.is_dir():
        raise ParameterError(NO_HIDDEN.format(slug=place.name))


def _make(context: PushContext, plan: Plan, catalogue: Path, slug: str, count: int | None) -> None:
    """Make the hidden data of a competition from its public files in the catalogue."""
    _fill_catalogue(context, plan)
    made = make_hidden_data(catalogue, slug, plan.project.hidden, count)
    words = "used again" if made.reused else "made from the training data"
    context.events(MADE, f"{made.rows:,} hidden rows, {words}: {from_here(made.folder)}")


def _tell_validation(context: PushContext, push: Push, score: str) -> None:
    """Tell the notebook's own validation score beside that of the hidden run."""
    if not push.folder:
        return
    folder = Path(push.folder)
    metrics = run_folder.metrics(folder) or {}
    name = project.shown(folder).score
    own = run_folder.numbers(metrics).get(name)
    if own is None:
        text = "the notebook left no validation score to compare it with: see metrics.json"
        context.events(VALIDATION, text)
        return
    words = f"the notebook's own {name} is {own:.4g}, and the hidden run scored {score}"
    ends = run_folder.interval(metrics, name)
    if ends:
        low, high = ends
        inside = low <= float(score) <= high
        agrees = "they agree" if inside else "they do not agree"
        words += f": {agrees} (95 % interval of the validation {low:.4g} to {high:.4g})"
    context.events(VALIDATION, words)


def _second_run(
    context: PushContext, local: Path, slug: str, refusal: str, rows: int | None
) -> RerunResult:
    """Show and return the result of the second run; `refusal` is the submission's error, if any."""
    push = context.ledger.last()
    truth = rerun_of(local, push.submission) if push and push.submission else None
    if push is None or truth is None:
        raise RefusedError(refusal)
    if refusal and not truth.message:
        context.events(WARNING, refusal.removeprefix("[rehearsal] "))
    public, hidden = (_rows(local / CATALOGUE / kind / slug / SAMPLE) for kind in FOLDERS)
    hours = None
    if rows:
        seconds = (truth.first_seconds, truth.seconds)
        hours = _project(context, push, seconds, (public, hidden), rows)
    result = RerunResult(
        score="" if refusal else push.score or "",
        message=truth.message or (SCORING if refusal and NO_ANSWERS not in refusal else ""),
        seconds=truth.seconds,
        memory=truth.memory,
        working=truth.working,
        why=truth.why,
        folder=truth.folder,
        hours=hours,
    )
    lengths = f" on {hidden:,} rows (public: {public:,})" if public and hidden else ""
    if result.score:
        _tell_validation(context, push, result.score)
    _report(context, result, lengths)
    if result.message:
        raise RefusedError(f"Kaggle would only show: {result.message}")
    return result


def _link(folder: Path, place: Path) -> None:
    """Link the catalogue's hidden folder to the given one."""
    _check_link(folder, place)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(folder.resolve())


def _check_link(folder: Path, place: Path) -> None:
    """Raise `ParameterError` unless the catalogue's hidden folder can link to the given one."""
    if folder.is_file():
        raise ParameterError(
            f"--hidden {folder} is a file: give a folder, and write the notebook before --hidden"
        )
    if not folder.is_dir():
        raise ParameterError(f"--hidden {folder}: there is no such folder")
    if place.is_dir() and not place.is_symlink():
        raise ParameterError(f"{place} already has hidden data: remove it to use --hidden")


def _rows(sample: Path) -> int:
    """The number of rows of a sample submission, without its header; 0 if there is none."""
    if not sample.is_file():
        return 0
    with sample.open(newline="", encoding="utf-8") as file:
        return max(0, sum(1 for _ in csv.reader(file)) - 1)


def _project(
    context: PushContext,
    push: Push,
    seconds: tuple[float, float],
    lengths: tuple[int, int],
    rows: int,
) -> float | None:
    """Show and return the hours for this many rows, on the line through the two runs."""
    public, hidden = lengths
    if not public or not hidden or public == hidden:
        context.events(
            WARNING,
            f"the time for {rows:,} rows cannot be projected: both folders need a {SAMPLE}, of "
            "different lengths",
        )
        return None
    each = max(0.0, (seconds[1] - seconds[0]) / (hidden - public))
    hours = (seconds[1] + each * (rows - hidden)) / 3600
    limit = machines.LIMITS[machines.named(push.accelerator or "cpu").kind].hours_per_session
    words = f"{duration(3600 * hours)} for {rows:,} rows, of the {limit:.0f} h allowed"
    context.events(WARNING if hours > limit else PROJECTED, words)
    return hours


def _report(context: PushContext, result: RerunResult, lengths: str) -> None:
    """Show what Kaggle would hide: the failing cell, and the rerun's time, memory and output."""
    events = context.events
    folder = Path(result.folder)
    lines = (folder / "log.jsonl").read_text("utf-8", "replace").splitlines()
    source = folder / "src" / "source.ipynb"  # which a script lacks
    notebook = source.read_text("utf-8", "replace") if source.is_file() else ""
    failure = logs.failure(f"[{','.join(lines)}]", notebook)
    if result.message and failure:
        events(FAILURE, str(failure), traceback=failure.traceback)
    outcome = f"score {result.score}" if result.score else "it finished but was not scored"
    why = f" ({result.why})" if result.why else ""
    events(
        RERUN,
        f"{result.message or outcome}{why}; {duration(result.seconds)}{lengths}, "
        f"{size_of(int(result.memory))} of memory, {size_of(int(result.working))} of output",
        **vars(result),
    )
    events(NEXT, f"the rerun's log and outputs: {folder}")
    events.end()
