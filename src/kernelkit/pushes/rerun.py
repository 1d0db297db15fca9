"""Rehearse a code competition's hidden run: what Kaggle would show, and what it would hide.

The notebook is pushed to the local Kaggle and submitted there as a notebook; the local Kaggle runs
it again on the competition's hidden folder and scores its output.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from kernelkit import machines
from kernelkit.errors import ParameterError, RefusedError
from kernelkit.plans import metadata
from kernelkit.pushes.command import push_kernel
from kernelkit.run_folders import kit_folder
from kernelkit.run_folders import log as logs
from kernelkit.shown import duration
from kernelkit.terminal.events import size_of
from kernelkit.workspace.context import CommandOptions, PushContext, in_project, rerun_of
from kernelkit.workspace.ledger import Push

CATALOGUE = "catalogue"  # the subfolder of the local Kaggle's folder
SAMPLE = "sample_submission.csv"  # one row for each row of the test set
MESSAGE = "rerun"
SCORING = "Submission Scoring Error"  # Kaggle's message for a file that it cannot score
NO_ANSWERS = (
    "rehearsal: "  # the prefix of a message that only the local Kaggle sends: it has no answers
)
NO_HIDDEN = (
    "there is no hidden data, so nothing was run again: name it with --hidden FOLDER, or have the "
    "catalogue's command write {{catalogue}}/hidden/{slug}"
)


@dataclass(frozen=True)
class RerunResult:
    """What Kaggle would show (a score, or a message instead), and what it would hide.

    `seconds`, `memory` and `working` (peak, in bytes) are the rerun's; `hours` is the projected
    time for the given number of test rows, or None.
    """

    score: str
    message: str
    seconds: float
    memory: float
    working: float
    hours: float | None = None


def rerun(
    notebook: Path | None = None,
    parameters: Sequence[str] | Mapping[str, Any] = (),
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
    catalogue, slug = (context.local or context.runs) / CATALOGUE, sources[0]
    if hidden is not None:
        _link(hidden, catalogue / "hidden" / slug)
    refusal = ""
    try:
        push_kernel(
            notebook,
            parameters,
            metadata=file,
            submit=MESSAGE,
            force=True,
            ignore=ignore,
            **options,
        )
    except RefusedError as error:
        refusal = str(error)
    return _second_run(context, catalogue, slug, refusal, rows)


def _second_run(
    context: PushContext, catalogue: Path, slug: str, refusal: str, rows: int | None
) -> RerunResult:
    """Show and return the result of the second run; `refusal` is the submission's error, if any."""
    push = context.ledger.last(rehearsal=True)
    truth = rerun_of(catalogue.parent, push.submission) if push and push.submission else None
    if push is None or truth is None:
        raise RefusedError(refusal) if refusal else ParameterError(NO_HIDDEN.format(slug=slug))
    unscored = not truth["message"] and NO_ANSWERS in refusal
    if refusal and not truth["message"]:
        context.events("warning", refusal.removeprefix("[rehearsal] "))
    samples = [_rows(catalogue / kind / slug / SAMPLE) for kind in ("competitions", "hidden")]
    result = RerunResult(
        score="" if refusal else push.score or "",
        message=truth["message"] or (SCORING if refusal and not unscored else ""),
        hours=_hours(push, truth["seconds"], samples, rows) if rows else None,
        **{name: truth[name] for name in ("seconds", "memory", "working")},
    )
    if rows and result.hours is None:
        context.events(
            "warning",
            f"the time for {rows:,} rows cannot be projected: that needs a {SAMPLE} in both "
            "folders, with different lengths",
        )
    _report(context, push, truth, result, samples)
    if result.message:
        raise RefusedError(f"Kaggle would only show: {result.message}")
    return result


def _link(folder: Path, place: Path) -> None:
    """Link the catalogue's hidden folder to the given one."""
    if not folder.is_dir():
        raise ParameterError(f"--hidden {folder}: there is no such folder")
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        raise ParameterError(f"{place} already has hidden data: remove it to use --hidden")
    place.unlink(missing_ok=True)
    place.symlink_to(folder.resolve())


def _rows(sample: Path) -> int | None:
    """The number of rows of a sample submission, without its header; None if there is none."""
    if not sample.is_file():
        return None
    with sample.open(newline="", encoding="utf-8") as file:
        return max(0, sum(1 for _ in csv.reader(file)) - 1)


def _hours(push: Push, seconds: float, samples: Sequence[int | None], rows: int) -> float | None:
    """Hours for this many rows, extrapolated linearly from the two runs (fixed + per row)."""
    public, hidden = samples
    log = kit_folder.path(Path(push.folder or "."), kit_folder.LOG)
    if not public or not hidden or public == hidden or not log.is_file():
        return None
    first = max((entry.seconds for entry in logs.decode(log.read_text("utf-8"))), default=0.0)
    each = max(0.0, (seconds - first) / (hidden - public))
    return (seconds + each * (rows - hidden)) / 3600


def _report(
    context: PushContext,
    push: Push,
    truth: Mapping[str, Any],
    result: RerunResult,
    rows: Sequence[int | None],
) -> None:
    """Show what Kaggle would hide: the failing cell, and the rerun's time, memory and output."""
    events, folder = context.events, Path(truth["folder"])
    lines = (folder / "log.jsonl").read_text(encoding="utf-8", errors="replace").splitlines()
    log = f"[{','.join(lines)}]"
    if truth["message"] and (failure := logs.failure(log, "")):
        events("failure", str(failure), traceback=failure.traceback)
    limits = machines.LIMITS[machines.named(push.accelerator or "cpu").kind]
    why = f" ({truth['why']})" if truth["why"] else ""
    outcome = f"score {result.score}" if result.score else "it finished, and was not scored"
    of_rows = f" on {rows[1]:,} rows (public: {rows[0]:,})" if rows[0] and rows[1] else ""
    events(
        "rerun",
        f"{result.message or outcome}{why}; {duration(result.seconds)}{of_rows}, "
        f"{size_of(int(result.memory))} of memory, {size_of(int(result.working))} of output",
        **vars(result),
    )
    if result.hours is not None:
        over = result.hours > limits.hours_per_session
        events(
            "warning" if over else "projected",
            f"{duration(3600 * result.hours)} for the given number of rows, of the "
            f"{limits.hours_per_session:.0f} h allowed",
        )
    events("next", f"the rerun's log and outputs: {folder}")
    events.end()
