"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun, going_on
from kernelkit.pages.shared import ending, naming, thumbnail, trail
from kernelkit.pages.shared.attempts import attempt
from kernelkit.runs import claims, run_folder, run_state, submitted
from kernelkit.scores.evaluation import Evaluation
from kernelkit.scores.metrics import Metrics
from kernelkit.scores.score_agreement import ScoreAgreement
from kernelkit.shown import Shown
from kernelkit.terminal import safe_text

LONGEST_NOTE = 200  # characters
UNFINISHED = "did not finish"


def runs_under(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the paths and up to two levels below them (a sweep's), sorted.

    Deeper lie a rehearsal's own files.
    """
    places = [place for path in paths for place in (path, *path.glob("*/"), *path.glob("*/*/"))]
    hidden = {path for path in places if ".kernelkit" in path.parts}
    return sorted(filter(run_folder.is_run, {*places} - hidden))


def write(runs: Mapping[Path, object], page: Path) -> Path:
    """Write the page over {run folder: why it has no report, if so}; returns `page`.

    Links are relative to it. A run that cannot be read is listed with the reason.
    """
    return files.write_text(page, render(runs, page.parent))


def write_as_it_is(folder: Path, again: float) -> Path:
    """Write the page over all runs below a folder as they are now; returns its path.

    `again`: the seconds until it is written again, 0 for never.
    """
    folders = runs_under([folder])
    count = sum(map(run_state.is_active, folders))
    text = {0: "no active runs", 1: "1 active run"}.get(count, f"{count} active runs")
    page = render(dict.fromkeys(folders), folder, going_on(text, again))
    return files.write_text(folder / trail.INDEX, page)


def render(runs: Mapping[Path, object], base: Path, live: Mapping[str, Any] | None = None) -> str:
    """The page's HTML; links start from `base`."""
    home, shown = project.find_project(base), project.shown(base)
    rows = [_run(folder, base, home, shown, problem) for folder, problem in runs.items()]
    scored = {folder: submitted.public_score(folder) for folder in runs}
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


def _run(
    folder: Path, base: Path, home: project.Project, shown: Shown, problem: object
) -> ShownRun:
    run, error = attempt(_read, folder, base, home, shown)
    run = run or ShownRun(id=trail.address(folder, base), name=folder.name, setting=folder.name)
    return replace(run, note=str(error or problem or run.note))


def _read(folder: Path, base: Path, home: project.Project, shown: Shown) -> ShownRun:
    metrics = Metrics.of_run(folder, shown.score)
    running = run_state.is_active(folder)
    began, log = run_state.activity(folder) if running else (0.0, "")
    ended = ending.Ending(reached=True) if running else ending.of_run(folder, metrics)
    note = "" if running else _note(metrics, ended, shown)
    name, setting = naming.run_name(folder)
    sweep = trail.sweep_of(folder)
    measured = Evaluation.of(folder, metrics, shown.score)
    if running:
        measured = replace(measured, when=began)
    notebook = _notebook(folder, home)
    if not measured.content:  # data that has no name is another in each notebook
        measured = replace(measured, content=notebook)
    return ShownRun(
        id=trail.address(folder, base),
        name=name,
        setting=setting,
        notebook=notebook,
        parameters=naming.parameters(folder),
        state="running" if running else "",
        note=note,
        reached_end=ended.reached,
        report=trail.link(run_folder.report_place(folder), base),
        group=sweep.name if sweep else "",
        sweep=trail.link(sweep / trail.INDEX, base) if sweep else "",
        device=str(metrics.device),
        log=log,
        thumbnail=thumbnail.of_run(folder),
        **vars(measured),
    )


def _notebook(folder: Path, home: project.Project) -> str:
    """The name of a run's notebook in the project, or of its kernel on Kaggle; "" if unknown."""
    own = run_state.notebook(folder)
    if own:
        return home.name(own)
    push = claims.owner_of(folder)
    return push.kernel if push else ""


def _note(metrics: Metrics, ended: ending.Ending, shown: Shown) -> str:
    """What to know of a run beside its measures: that it failed, was stopped, or has no score."""
    if metrics.is_damaged:
        return f"{run_folder.METRICS} cannot be read"
    notes = []
    if ended.interrupted:
        notes.append("interrupted")
    elif ended.error:
        notes.append(f"failed: {ended.error.splitlines()[0][:LONGEST_NOTE]}")
    elif not ended.reached:
        notes.append(UNFINISHED)
    elif metrics.stopped:
        notes.append(f"stopped: {safe_text.plain(metrics.stopped)[:LONGEST_NOTE]}")
    if shown.score in metrics.values and shown.score not in metrics.numbers:
        notes.append(f"no {shown.measures.get(shown.score, shown.score)}")
    return "; ".join(notes)
