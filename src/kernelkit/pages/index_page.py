"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, project
from kernelkit.errors import NotebookError
from kernelkit.notebook import document
from kernelkit.pages import naming, notebook_html, shown_first, trail
from kernelkit.pages.many_runs import RunsPage, ShownRun, going_on
from kernelkit.pages.report_page import attempt
from kernelkit.runs import active, kit_folder, measures, proved, run_folder, submissions
from kernelkit.runs.score_agreement import ScoreAgreement
from kernelkit.shown import Shown

LONGEST_NOTE = 200  # characters
UNFINISHED = "did not finish"
_ERROR = re.compile(rb'"output_type"\s*:\s*"error"')


def runs_under(
    paths: Sequence[Path], is_run: Callable[[Path], bool] = run_folder.is_run
) -> list[Path]:
    """The run folders among the paths and up to two levels below them (a sweep's), sorted.

    Deeper lie a rehearsal's own files.
    """
    places = [place for path in paths for place in (path, *path.glob("*/"), *path.glob("*/*/"))]
    hidden = {path for path in places if ".kernelkit" in path.parts}
    return sorted(filter(is_run, {*places} - hidden))


def write(runs: Mapping[Path, object], page: Path) -> Path:
    """Write the page over {run folder: why it has no report, if so}; returns `page`.

    Links are relative to it. A run that cannot be read is listed with the reason.
    """
    return files.write_text(page, render(runs, page.parent))


def write_as_it_is(folder: Path, again: float) -> Path:
    """Write the page over all runs below a folder as they are now; returns its path.

    `again`: the seconds until it is written again, 0 for never.
    """
    folders = runs_under([folder], lambda path: run_folder.is_run(path) or active.is_active(path))
    count = sum(map(active.is_active, folders))
    text = {0: "no active runs", 1: "1 active run"}.get(count, f"{count} active runs")
    page = render(dict.fromkeys(folders), folder, going_on(text, again))
    return files.write_text(folder / trail.INDEX, page)


def render(runs: Mapping[Path, object], base: Path, live: Mapping[str, Any] | None = None) -> str:
    """The page's HTML; links start from `base`."""
    shown = project.shown(base)
    rows = [_run(folder, base, shown, problem) for folder, problem in runs.items()]
    scored = {folder: submissions.public_score(folder) for folder in runs}
    rows, agreement = _with_public_scores(rows, list(scored.values()), shown.score)
    page = RunsPage(
        "Runs",
        rows,
        shown,
        shown.parameters,
        folder=base,
        live=live or {},
        agreement=agreement,
    )
    return page.html()


def _with_public_scores(
    rows: Sequence[ShownRun], scored: Sequence[tuple[str, float] | None], name: str
) -> tuple[list[ShownRun], str]:
    """The runs with their public scores, and whether these follow the validation, in a sentence.

    Runs are compared within each competition. `name` is the measure of the validation.
    """
    rows = list(rows)
    places: dict[str, list[int]] = {}
    for place, found in enumerate(scored):
        if found is None:
            continue
        rows[place] = replace(rows[place], public=found[1])
        if name in rows[place].metrics:
            places.setdefault(found[0], []).append(place)
    sentences = []
    for competition, own in places.items():
        pairs = [(rows[place].metrics[name], rows[place].public or 0.0) for place in own]
        agreement = ScoreAgreement.of(pairs)
        for place, contradicts in zip(own, agreement.contradicting, strict=True):
            rows[place] = replace(rows[place], contradicts=contradicts)
        words = agreement.in_words(competition, f"{len(own)} runs")
        if words:
            sentences.append(f"{words}.")
    return rows, " ".join(sentences)


def _run(folder: Path, base: Path, shown: Shown, problem: object) -> ShownRun:
    run, error = attempt(_read, folder, base, shown)
    run = run or ShownRun(trail.address(folder, base), folder.name, folder.name, {}, {})
    return replace(run, note=str(error or problem or run.note))


def _read(folder: Path, base: Path, shown: Shown) -> ShownRun:
    metrics = measures.of_run(folder, shown.score)
    running = active.is_active(folder)
    began, log = active.activity(folder) if running else (0.0, "")
    measured = metrics is not None
    metrics = metrics or {}
    note = ""
    if not running:
        note = _note(folder, metrics, shown) if measured else _why_without_metrics(folder)
    name, setting = naming.run_name(folder)
    sweep = trail.sweep_of(folder)
    return ShownRun(
        id=trail.address(folder, base),
        name=name,
        setting=setting,
        parameters=naming.parameters(folder),
        metrics=run_folder.numbers(metrics),
        interval=run_folder.interval(metrics, shown.score) or (),
        chance=run_folder.numbers(run_folder.part(metrics, "chance")).get(shown.score),
        state="running" if running else "",
        when=began if running else run_folder.ended(metrics, run_folder.written(folder)),
        note=note,
        report=trail.link(run_folder.report_place(folder), base),
        group=sweep.name if sweep else "",
        sweep=trail.link(sweep / trail.INDEX, base) if sweep else "",
        device=run_folder.device_name(metrics),
        data=run_folder.data_name(metrics),
        content=run_folder.data_content(folder, metrics),
        log=log,
        unverified=proved.doubt(folder, run_folder.METRICS),
        thumbnail=shown_first.thumbnail(folder),
    )


def _note(folder: Path, metrics: run_folder.Metrics, shown: Shown) -> str:
    """What to know of a run beside its measures: that it failed, was stopped, or has no score."""
    notes = []
    stopped = metrics.get("stopped")
    if failure := _failure_after_metrics(folder):
        notes.append(failure)
    elif stopped and isinstance(stopped, str):
        notes.append(f"stopped: {stopped}")
    elif kit_folder.read_json(folder, kit_folder.STATE).get("over") is False:
        notes.append(UNFINISHED)
    if metrics.get(shown.score, 0) is None:
        notes.append(f"no {shown.measures.get(shown.score, shown.score)}")
    return "; ".join(notes)


def _failure_after_metrics(folder: Path) -> str:
    """Why a run failed that had written its measures before, "" if it did not.

    Of the notebooks of many runs, only those are parsed whose text has an error in it.
    """
    executed = run_folder.executed(folder)
    if executed is None or not _ERROR.search(executed.read_bytes()):
        return ""
    with contextlib.suppress(NotebookError):
        return _failed(document.read(executed))
    return ""


def _failed(notebook: nbformat.NotebookNode) -> str:
    failure = notebook_html.failure(notebook)
    return f"failed: {failure.splitlines()[0][:LONGEST_NOTE]}" if failure else ""


def _why_without_metrics(folder: Path) -> str:
    """Why a run has no measures; "" for a notebook that measures nothing and reached its end."""
    if (folder / run_folder.METRICS).is_file():
        return "metrics.json cannot be read"
    with contextlib.suppress(NotebookError):
        executed = run_folder.executed(folder)
        content = document.read(executed) if executed else None
        if content and notebook_html.reached_end(content):
            return ""
        failure = _failed(content) if content else ""
        if failure:
            return failure
    return UNFINISHED
