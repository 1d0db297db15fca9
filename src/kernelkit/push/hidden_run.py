"""Rehearse a code competition's hidden run: what Kaggle would show, and what it would hide.

The notebook is pushed to the local Kaggle and submitted there as a notebook; the local Kaggle runs
it again on the competition's hidden folder and scores its output.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from kernelkit import machines
from kernelkit.errors import ParameterError, RefusedError
from kernelkit.kaggle.context import CommandOptions, Push, PushContext, in_project
from kernelkit.notebook.parameters import Overrides
from kernelkit.push import plan as plans
from kernelkit.push.bundle import metadata
from kernelkit.push.command import push_kernel
from kernelkit.rehearsal.stand_in import rerun_of
from kernelkit.runs import log as logs
from kernelkit.shown import duration
from kernelkit.terminal.events import size_of

CATALOGUE = "catalogue"  # the subfolder of the local Kaggle's folder
FOLDERS = "competitions", "hidden"  # in the catalogue: the public data, and the hidden
SAMPLE = "sample_submission.csv"  # one row for each row of the test set
MESSAGE = "rerun"
SCORING = "Submission Scoring Error"  # Kaggle's message for a file that it cannot score
NO_ANSWERS = "rehearsal: "  # begins what only the local Kaggle says: it has no answers
NO_HIDDEN = (
    "there is no hidden data, so nothing was run: name it with --hidden FOLDER, or have the "
    "catalogue's command write {{catalogue}}/hidden/{slug}"
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


def rerun(
    notebook: Path | None = None,
    parameters: Overrides = (),
    *,
    metadata_file: Path | None = None,
    hidden: Path | None = None,
    rows: int | None = None,
    ignore: Sequence[str] = (),
    **options: Unpack[CommandOptions],
) -> RerunResult:
    """Run a notebook as a code competition does: on the public data, then on hidden data.

    notebook    the notebook; by default the metadata's code_file
    parameters  `name=value` strings, or a mapping of typed values
    hidden      the folder that replaces the competition's in the second run; by default
                `hidden/SLUG` of the catalogue, which the project's catalogue command may write
    rows        the size of the real hidden test set, to project the time that it would take
    ignore      the names of checks that may fail

    Raises `ParameterError` without a competition or hidden data, `RefusedError` if Kaggle would
    give no score, and what `push_kernel` raises for the first run.
    """
    options["local"] = True
    file = metadata_file or metadata.locate(notebook or Path.cwd())
    context = in_project(options, file)
    sources = metadata.load(file).sources("competition")
    if len(sources) != 1:
        raise ParameterError(f"{file} names {len(sources)} competitions: a rerun takes one")
    local, slug = context.local or context.runs, sources[0]
    place = local / CATALOGUE / "hidden" / slug
    if hidden is not None:
        _check_link(hidden, place)  # before the catalogue is filled, which may take long
    if hidden is not None or not place.is_dir():
        plan = plans.make(notebook, parameters, file, None, None)
        with replace(context, catalogue=plan.catalogue).connect():
            pass  # connecting fills the catalogue; later its command could write through a link
    if hidden is not None:
        _link(hidden, place)
    elif not place.is_dir():
        raise ParameterError(NO_HIDDEN.format(slug=slug))
    own: dict[str, Any] = {"metadata": file, "submit": MESSAGE, "force": True, "ignore": ignore}
    refusal, before = "", context.ledger.last()
    try:
        push_kernel(notebook, parameters, **options, **own)
    except RefusedError as error:
        refusal = str(error)
        if context.ledger.last() == before:  # nothing was pushed
            raise
    return _second_run(context, local, slug, refusal, rows)


def _second_run(
    context: PushContext, local: Path, slug: str, refusal: str, rows: int | None
) -> RerunResult:
    """Show and return the result of the second run; `refusal` is the submission's error, if any."""
    push = context.ledger.last()
    truth = rerun_of(local, push.submission) if push and push.submission else None
    if push is None or truth is None:
        raise RefusedError(refusal)
    if refusal and not truth.message:
        context.events("warning", refusal.removeprefix("[rehearsal] "))
    public, hidden = (_rows(local / CATALOGUE / kind / slug / SAMPLE) for kind in FOLDERS)
    result = RerunResult(
        score="" if refusal else push.score or "",
        message=truth.message or (SCORING if refusal and NO_ANSWERS not in refusal else ""),
        seconds=truth.seconds,
        memory=truth.memory,
        working=truth.working,
        why=truth.why,
        folder=truth.folder,
        hours=_project(context, push, (truth.first_seconds, truth.seconds), (public, hidden), rows)
        if rows
        else None,
    )
    lengths = f" on {hidden:,} rows (public: {public:,})" if public and hidden else ""
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
            "warning",
            f"the time for {rows:,} rows cannot be projected: both folders need a {SAMPLE}, of "
            "different lengths",
        )
        return None
    each = max(0.0, (seconds[1] - seconds[0]) / (hidden - public))
    hours = (seconds[1] + each * (rows - hidden)) / 3600
    limit = machines.LIMITS[machines.named(push.accelerator or "cpu").kind].hours_per_session
    words = f"{duration(3600 * hours)} for {rows:,} rows, of the {limit:.0f} h allowed"
    context.events("warning" if hours > limit else "projected", words)
    return hours


def _report(context: PushContext, result: RerunResult, lengths: str) -> None:
    """Show what Kaggle would hide: the failing cell, and the rerun's time, memory and output."""
    events, folder = context.events, Path(result.folder)
    lines = (folder / "log.jsonl").read_text("utf-8", "replace").splitlines()
    source = folder / "src" / "source.ipynb"  # which a script lacks
    notebook = source.read_text("utf-8", "replace") if source.is_file() else ""
    if result.message and (failure := logs.failure(f"[{','.join(lines)}]", notebook)):
        events("failure", str(failure), traceback=failure.traceback)
    outcome = f"score {result.score}" if result.score else "it finished but was not scored"
    why = f" ({result.why})" if result.why else ""
    events(
        "rerun",
        f"{result.message or outcome}{why}; {duration(result.seconds)}{lengths}, "
        f"{size_of(int(result.memory))} of memory, {size_of(int(result.working))} of output",
        **vars(result),
    )
    events("next", f"the rerun's log and outputs: {folder}")
    events.end()
