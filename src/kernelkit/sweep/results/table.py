"""The results of a sweep so far: their page, `results.csv` and `results.json`."""

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelkit import files, project
from kernelkit.notebook.interface.values import for_json
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun
from kernelkit.pages.shared import naming, trail
from kernelkit.runs import run_folder, run_state
from kernelkit.scores import history
from kernelkit.scores.evaluation import Evaluation
from kernelkit.scores.metrics import Metrics
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.sweep_folder import SweepFolder


def gather(
    folder: SweepFolder,
    sweep: Specification,
    runs: Sequence[PlannedRun],
    live: Mapping[str, Any] | None = None,
) -> RunsPage:
    """The page of these runs in their current state; `live` as `RunsPage` takes it."""
    rows = [shown_run(folder, sweep, run) for run in runs]
    given, defaults = _shared(sweep, runs)
    shown = project.shown(folder.path)
    return RunsPage(
        sweep.name,
        rows,
        replace(shown, score=sweep.score, minimize=sweep.minimize),
        columns=sweep.varying,
        base=given,
        defaults=defaults,
        ends={name: sweep.declared[name].ends for name in sweep.varying},
        folder=folder.path,
        notebook=os.path.relpath(sweep.notebook),
        searched=bool(sweep.search),
        live=live or {},
    )


def _shared(
    sweep: Specification, runs: Sequence[PlannedRun]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters that all runs have in common: those that the sweep sets, and the others.

    Both are empty without runs.
    """
    given: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    if not runs:
        return given, defaults
    first = runs[0]
    for name, value in for_json(first.values).items():
        if name in sweep.varying:
            continue
        if name in first.overrides:
            given[name] = value
        else:
            defaults[name] = value
    return given, defaults


def shown_run(folder: SweepFolder, sweep: Specification, run: PlannedRun) -> ShownRun:
    """A run in its current state, as the page shows it."""
    record, place = folder.record(run.id), folder.run_folder(run.id)
    metrics = Metrics.of_run(place, sweep.score)
    parameters = for_json({name: run.values.get(name) for name in sweep.varying})
    name, setting = naming.name_and_setting(parameters, run.id)
    curve = history.curve(place, sweep.score)
    has_measured = record.state in (sweep_folder.DONE, sweep_folder.STOPPED)
    measured = Evaluation.of(place, metrics, sweep.score) if has_measured else Evaluation()
    return ShownRun(
        id=run.id,
        name=name,
        setting=setting,
        parameters=parameters,
        state=record.state,
        seconds=record.seconds,
        error=record.error,
        reason=sweep_folder.reason(record.error),
        report=trail.link(run_folder.report_place(place), folder.path),
        curve=list(filter(math.isfinite, curve)),
        log=run_state.activity(place)[1] if record.state == sweep_folder.RUNNING else "",
        **vars(measured),
    )


def write(page: RunsPage) -> None:
    """Write `results.csv`, `results.json` and the page `index.html`, each atomically."""
    files.write_text(page.folder / "results.csv", _csv(page))
    content = {
        "name": page.title,
        "score": page.shown.score,
        "minimize": page.shown.minimize,
        "varying": page.columns,
        "runs": [vars(run) for run in page.runs],
    }
    files.write_text(page.folder / "results.json", json.dumps(content, indent=1) + "\n")
    files.write_text(page.folder / trail.INDEX, page.html(trail.way_back(page.folder, page.folder)))


def _csv(page: RunsPage) -> str:
    """One line per run: id, state, the parameters that differ, the metrics, its seconds, the error.

    If any run's metrics are unverified, a last column says why.
    """
    measures = list(dict.fromkeys(name for run in page.runs for name in run.metrics))
    header = ["id", "state", *page.columns, *measures, "wall_seconds", "error"]
    doubtful = any(run.unverified for run in page.runs)
    if doubtful:
        header.append("unverified")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for run in page.runs:
        row: list[object] = [run.id, run.state]
        row += [run.parameters.get(name) for name in page.columns]
        row += [run.metrics.get(name) for name in measures]
        row += [run.seconds, run.reason]
        if doubtful:
            row.append(run.unverified)
        writer.writerow(row)
    return text.getvalue()
