"""Rehearse a code competition's hidden run: what Kaggle would show, and what it would hide.

The notebook is pushed to the local Kaggle, which is the first run, and submitted there as a
notebook; the local Kaggle runs it again on the competition's hidden folder and scores its output.
That is the second run, or *rerun*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from kernelkit import project
from kernelkit.errors import ParameterError, PreflightError, RefusedError
from kernelkit.files import from_here, size_of
from kernelkit.hidden import hidden_breaks
from kernelkit.hidden.competition.gateway_files import find_gateway
from kernelkit.hidden.data.hidden_data import made_in_place, make_hidden_data
from kernelkit.hidden.projection import Projection, project_to
from kernelkit.hidden.public_and_hidden import PublicAndHidden, read_both
from kernelkit.kaggle.context.kaggle_context import CommandOptions
from kernelkit.notebook.files.own_files import EVALUATION
from kernelkit.push.delivered.results import FAILURE
from kernelkit.push.known.ledger import Push
from kernelkit.push.known.push_context import PushContext
from kernelkit.push.planned.plan import Plan, plan_push
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import push as push_request
from kernelkit.push.rehearsed.plan_inputs import gather_inputs
from kernelkit.push.rehearsed.prepare_rehearsal import fill_catalogue
from kernelkit.rehearsal.stand_in import CATALOGUE, rerun_of, why_not_isolated
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import proved
from kernelkit.session_records.failure import RunFailure
from kernelkit.shown import duration
from kernelkit.terminal.events import NEXT, PROGRESS, WARNING, Event

RERUN = Event("rerun", quiet=True)
MADE = Event("hidden")
VALIDATION = Event("validation")
BREAKS = Event("breaks", quiet=True, colour="yellow")
MESSAGE = "rerun"
SCORING = "Submission Scoring Error"  # Kaggle's message for a file that it cannot score
ONLY_HERE = "rehearsal: "  # begins what Kaggle would not say: here is nothing to score a file by
NO_INTERNET = (
    "{} has enable_internet true, and a hidden run has no internet: both runs go without it. A "
    "code competition takes a notebook only with enable_internet false"
)
NO_GATEWAY = (
    "{} imports kaggle_evaluation, and the second run would wait in vain to be asked: no "
    "kaggle_evaluation/NAME_gateway.py is among the competition's files. Put the host's "
    "kaggle_evaluation into {}"
)
GATEWAY_ALONE = "the competition's gateway runs beside the notebook, each isolated"
NO_HIDDEN = (
    "there is no hidden data, so nothing was run: name it with --hidden FOLDER, or have the "
    "catalogue's command write {{catalogue}}/hidden/{slug}, or add --make to make it from the "
    "training data"
)


@dataclass(frozen=True)
class RerunResult:
    """What Kaggle would show (a score, or a message instead), and what it would hide.

    `seconds`, `memory` and `working` (peak, in bytes) are the rerun's, `why` is the local Kaggle's
    own reason for ending it, and `folder` has its log and outputs; `hours` and `memory_projected`
    (in bytes) are projected for the given number of test rows, or None. `breaks` says what of the
    notebook broke on the hidden test set, each a line.
    """

    score: str
    message: str
    seconds: float
    memory: float
    working: float
    why: str
    folder: str
    hours: float | None = None
    memory_projected: float | None = None
    breaks: Sequence[str] = ()


@dataclass(frozen=True)
class _HiddenRun:
    """What both runs need: the command's context and options, the competition's slug, the `rows`
    to project to, and the folder of the local Kaggle that both run on."""

    context: PushContext
    options: CommandOptions
    slug: str
    rows: int | None
    local: Path


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
    make_rows   the number of rows that are made; by default see `division.divide`
    rows        the size of the real hidden test set, to project the time and memory that it would
                take

    The request is rehearsed as it is, except that its result is submitted, that it runs even if
    nothing changed, and that `make` switches the internet off, since Kaggle makes no second run
    of a session that has it. Raises `ParameterError` without a competition or hidden data, and for
    a request of something else; `PreflightError` for a gateway that is not there, or that this
    machine cannot isolate; `RefusedError` if Kaggle would give no score, and what a push raises for
    the first run.
    """
    if make_rows and not make:
        raise ParameterError("--make-rows is for hidden data that is made: add --make")
    if make and hidden is not None:
        raise ParameterError("--make makes the hidden data: give --hidden without a FOLDER")
    for name in ("submit", "chain", "dry_run"):
        if getattr(request, name):
            option = name.replace("_", "-")
            raise ParameterError(f"--hidden rehearses one submission: drop --{option}")
    options["local"] = True
    plan = plan_push(request)
    sources = plan.metadata.sources["competition"]
    if len(sources) != 1:
        raise ParameterError(
            f"{request.metadata.path} names {len(sources)} competitions: a hidden run takes one"
        )
    context = PushContext.in_project(request.project, **options)
    local = context.serves or context.runs
    slug = sources[0]
    asked = _HiddenRun(context, options, slug, rows, local)
    catalogue = local / CATALOGUE
    place = catalogue / "hidden" / slug
    if hidden is not None:
        _check_link(hidden, place)  # before the catalogue is filled, which may take long
    # The catalogue's command makes what would be downloaded otherwise; later it could write through
    # a link.
    fill_catalogue(context, plan)
    _show_public_files(context, plan, catalogue / "competitions" / slug)
    if not make:
        if hidden is not None:
            _link(hidden, place)
        elif not place.is_dir():
            raise ParameterError(NO_HIDDEN.format(slug=slug))
        return _both_runs(asked, plan)
    with made_in_place(catalogue, slug):
        _make(context, plan, catalogue, slug, make_rows)
        if plan.metadata.online:
            context.events(WARNING, NO_INTERNET.format(request.metadata.path.name))
        plan = plan_push(replace(request, internet=False))
        return _both_runs(asked, plan)


def _show_public_files(context: PushContext, plan: Plan, place: Path) -> None:
    """Link the competition's public files of an `input/` folder to their place in the catalogue,
    where the hidden data is compared with them and made of them.

    A catalogue that has files of its own there, or a command that writes them, keeps them.
    """
    own = gather_inputs(context, plan).beside.get(f"competitions/{place.name}")
    is_free = place.is_symlink() or not place.exists()
    if own and is_free and not plan.catalogue_command:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(own.resolve())


def _both_runs(asked: _HiddenRun, plan: Plan) -> RerunResult:
    """Run a plan on the public data and then on the hidden data, which are in their places."""
    sets = read_both(asked.local / CATALOGUE, asked.slug)
    _check_gateway(plan, sets)
    refusal = ""
    before = asked.context.ledger.last()
    try:
        request = replace(plan.request, submit=MESSAGE, force=True)
        push_request(request, **asked.options)
    except RefusedError as error:
        refusal = str(error)
        if asked.context.ledger.last() == before:  # nothing was pushed
            raise
    return _second_run(asked, sets, refusal)


def _check_gateway(plan: Plan, sets: PublicAndHidden) -> None:
    """Raise `PreflightError` for a gateway that cannot run here, and for one that is not there."""
    if find_gateway(sets.public) or find_gateway(sets.hidden):
        obstacle = why_not_isolated()
        if obstacle:
            raise PreflightError(f"{GATEWAY_ALONE}, and {obstacle}")
    elif EVALUATION in plan.bundle.imports:
        place = plan.bundle.imports[EVALUATION]
        raise PreflightError(NO_GATEWAY.format(place, from_here(sets.public)))


def _make(context: PushContext, plan: Plan, catalogue: Path, slug: str, count: int | None) -> None:
    """Make the hidden data of a competition from its public files in the catalogue."""

    def tell(line: str) -> None:
        context.events(PROGRESS, f"making the hidden data: {line.strip()}")

    made = make_hidden_data(catalogue, slug, plan.project, count, tell)
    words = "used again" if made.reused else "made now"
    text = f"{made.rows:,} hidden rows, {words}: {from_here(made.folder)}"
    context.events(MADE, "\n".join([text, *made.notes]), rows=made.rows, notes=list(made.notes))


def _tell_validation(context: PushContext, push: Push, score: str) -> None:
    """Tell the notebook's own validation score beside that of the hidden run."""
    if not push.folder:
        return
    folder = Path(push.folder)
    name = project.shown(folder).score
    metrics = Metrics.of_run(folder, name)
    own = metrics.numbers.get(name)
    if own is None:
        text = "the notebook left no validation score to compare it with: see metrics.json"
        context.events(VALIDATION, text)
        return
    validated = f"{own:.4g}"
    if metrics.doubt(folder):
        validated = proved.marked(validated)
    words = f"the notebook's own {name} is {validated}, and the hidden run scored {score}"
    ends = metrics.interval(name)
    if ends is None:
        words += "; the run gave no interval to judge that by"
    else:
        low, high = ends
        inside = low <= float(score) <= high
        agrees = "they agree" if inside else "they do not agree"
        level = f"{100 * metrics.level:g} %"
        words += f": {agrees} ({level} interval of the validation {low:.4g} to {high:.4g})"
    context.events(VALIDATION, words)


def _second_run(asked: _HiddenRun, sets: PublicAndHidden, refusal: str) -> RerunResult:
    """Show and return the result of the second run; `refusal` is the submission's error, if any.

    Raises `RefusedError` if there was no second run, or if Kaggle would give it no score.
    """
    context = asked.context
    push = context.ledger.last()
    rerun = rerun_of(asked.local, push.submission) if push and push.submission else None
    if push is None or rerun is None:
        raise RefusedError(refusal)
    if refusal and not rerun.message:
        context.events(WARNING, refusal.removeprefix("[rehearsal] "))
    failure = _failure(Path(rerun.folder)) if rerun.message else None
    found = hidden_breaks.in_failure(failure, sets)
    if not rerun.message:
        found += hidden_breaks.in_submission(Path(rerun.file), sets)
    for line in found:
        context.events(BREAKS, line)
    projection = Projection()
    if asked.rows:
        projection = project_to(context, push, rerun, sets, asked.rows)
    message = rerun.message
    if not message and refusal and ONLY_HERE not in refusal:
        message = SCORING  # the run ended well, and its file could not be scored
    result = RerunResult(
        score="" if refusal else push.score or "",
        message=message,
        seconds=rerun.seconds,
        memory=rerun.memory,
        working=rerun.working,
        why=rerun.why,
        folder=rerun.folder,
        hours=projection.hours,
        memory_projected=projection.memory,
        breaks=found,
    )
    if result.score:
        _tell_validation(context, push, result.score)
    if result.message and failure:
        context.events(FAILURE, str(failure), traceback=failure.traceback)
    _report(context, result, sets)
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


def _failure(folder: Path) -> RunFailure | None:
    """The failing cell of a second run, from its log; None if nothing failed."""
    lines = (folder / "log.jsonl").read_text("utf-8", "replace").splitlines()
    source = folder / "src" / "source.ipynb"  # which a script lacks
    notebook = source.read_text("utf-8", "replace") if source.is_file() else ""
    return RunFailure.of_log(f"[{','.join(lines)}]", notebook)


def _report(context: PushContext, result: RerunResult, sets: PublicAndHidden) -> None:
    """Show what Kaggle would hide: the second run's time, memory and output."""
    events = context.events
    lengths = ""
    if sets.public_rows and sets.hidden_rows:
        lengths = f" on {sets.hidden_rows:,} rows (public: {sets.public_rows:,})"
    outcome = result.message
    if not outcome:
        outcome = f"score {result.score}" if result.score else "it finished but was not scored"
    why = f" ({result.why})" if result.why else ""
    events(
        RERUN,
        f"{outcome}{why}; {duration(result.seconds)}{lengths}, "
        f"{size_of(int(result.memory))} of memory, {size_of(int(result.working))} of output",
        **vars(result),
    )
    events(NEXT, f"the second run's log and outputs: {result.folder}")
    events.end()
