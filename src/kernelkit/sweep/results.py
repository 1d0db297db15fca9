"""The results of a sweep: one row per run, and one per setting over its seeds; files and a page."""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.reports import naming, trail
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.run_folders import active, history, run_folder
from kernelkit.sweep import records
from kernelkit.sweep.records import Record, SweepFolder
from kernelkit.sweep.specification import PlannedRun, Specification
from kernelkit.sweep.sweep_file import SEED


@dataclass(frozen=True)
class Row:
    """A run with its record, its metrics (plain numbers only) and its curve by epoch."""

    run: PlannedRun
    record: Record
    metrics: Mapping[str, float]
    curve: tuple[float, ...] = ()
    report: str = ""
    curve_of: str = ""  # the history's column in the curve
    ended: float = 0.0  # seconds since 1970; 0.0 if unknown


@dataclass(frozen=True)
class ResultTable:
    """All runs of a sweep in their current state, in order."""

    name: str
    score: str
    rows: tuple[Row, ...]
    varying: Sequence[str]  # the parameters that distinguish the runs
    minimize: bool = False  # whether a lower score is better
    notebook: str = ""  # from the folder that the sweep was started in

    def values(self, row: Row) -> dict[str, Any]:
        """A run's values of these parameters."""
        return {name: row.run.values.get(name) for name in self.varying}

    @property
    def settings(self) -> list[tuple[dict[str, Any], list[Row]]]:
        """The rows grouped by their settings other than the seed."""
        groups: dict[str, tuple[dict[str, Any], list[Row]]] = {}
        for row in self.rows:
            setting = {name: value for name, value in self.values(row).items() if name != SEED}
            groups.setdefault(json.dumps(setting), (setting, []))[1].append(row)
        return list(groups.values())

    def scores(self, rows: Iterable[Row]) -> dict[str, float]:
        """The scores of the finished rows, by run id."""
        return {
            row.run.id: row.metrics[self.score]
            for row in rows
            if row.record.state == records.DONE and self.score in row.metrics
        }

    @property
    def best(self) -> tuple[dict[str, Any], float] | None:
        """The setting with the best mean score, and that mean; None before any run is done."""
        scored = [
            (setting, statistics.fmean(scores.values()))
            for setting, rows in self.settings
            if (scores := self.scores(rows))
        ]
        choose = min if self.minimize else max
        return choose(scored, key=lambda pair: pair[1]) if scored else None


def gather(
    folder: SweepFolder, specification: Specification, runs: Sequence[PlannedRun]
) -> ResultTable:
    """Read the results of the runs so far.

    If no score is named, it is the first number in `metrics.json`.
    """
    measures = (next(iter(numbers(folder.run_folder(run))), "") for run in runs)
    score = specification.score or next(filter(None, measures), "")
    rows = tuple(_row(folder, run, score) for run in runs)
    varying, minimize = specification.varying, specification.minimize
    notebook = os.path.relpath(specification.notebook)
    return ResultTable(specification.name, score, rows, varying, minimize, notebook)


def write(folder: SweepFolder, table: ResultTable) -> None:
    """Write `results.csv`, `results.json` and the page `index.html`, each atomically."""
    files.write_text(folder.path / "results.csv", _csv(table))
    files.write_text(folder.path / trail.RESULTS, json.dumps(_json(table), indent=1) + "\n")
    write_page(folder.path / trail.INDEX, table)


def write_page(path: Path, table: ResultTable) -> Path:
    """Write a page that opens from disk, with table, filters, curves and pictures, to `path`."""
    above = path.resolve().parent.parent / trail.INDEX
    back = {trail.ALL_RUNS: trail.address(above, path.parent)} if above.is_file() else {}
    return files.write_text(path, page(path.parent, table).html(back))


def page(folder: Path, table: ResultTable, live: Mapping[str, Any] | None = None) -> RunsPage:
    """The page of a sweep in this folder; a `live` one has the last lines of what runs print."""
    shown = project.shown(folder)
    shared, overrides = {}, {}
    if table.rows:
        run = table.rows[0].run
        shared = {n: value for n, value in run.values.items() if n not in table.varying}
        overrides = {name: shared.pop(name) for name in run.overrides if name in shared}
    labels = shown.measures or {name: name for row in table.rows for name in row.metrics}
    runs = [_shown_run(row, table.values(row)) for row in table.rows]
    if live:
        runs = [
            replace(run, log=active.activity(folder / run.id).log)
            if run.state == records.RUNNING
            else run
            for run in runs
        ]
    return RunsPage(
        table.name,
        runs,
        replace(shown, score=table.score, measures=labels, minimize=table.minimize),
        columns=table.varying,
        axes=table.varying,
        base=overrides,
        defaults=shared,
        curve=next((row.curve_of for row in table.rows if row.curve), ""),
        folder=folder,
        notebook=table.notebook,
        live=live or {},
    )


def _shown_run(row: Row, values: Mapping[str, Any]) -> ShownRun:
    id, record = row.run.id, row.record
    name, setting = naming.texts(values, id)
    return ShownRun(
        id=id,
        name=name,
        setting=setting,
        parameters=values,
        metrics=row.metrics,
        state=record.state,
        seconds=record.seconds,
        when=row.ended,
        error=record.error,
        report=row.report,
        folder=id,
        curve=row.curve,
    )


def _csv(table: ResultTable) -> str:
    """One line per run: id, state, the parameters that differ, the metrics, the error."""
    measures = list(dict.fromkeys(name for row in table.rows for name in row.metrics))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "state", *table.varying, *measures, "wall_seconds", "error"])
    for row in table.rows:
        values = [*table.values(row).values(), *(row.metrics.get(name) for name in measures)]
        record = row.record
        writer.writerow([row.run.id, record.state, *values, record.seconds, record.reason])
    return text.getvalue()


def _json(table: ResultTable) -> dict[str, Any]:
    """All data on the page: the runs, and each setting's mean and standard deviation."""
    return {
        "name": table.name,
        "score": table.score,
        "minimize": table.minimize,
        "varying": table.varying,
        "runs": [
            {
                "id": row.run.id,
                "state": row.record.state,
                "parameters": table.values(row),
                "metrics": dict(row.metrics),
                "wall_seconds": row.record.seconds,
                "peak_bytes": row.record.peak_bytes,
                "attempts": row.record.attempts,
                "error": row.record.error,
                "report": row.report,
                "curve": [round(value, 5) for value in row.curve],
            }
            for row in table.rows
        ],
        "settings": [
            {"parameters": setting, "runs": [row.run.id for row in rows], **_spread(table, rows)}
            for setting, rows in table.settings
        ],
    }


def _spread(table: ResultTable, rows: Sequence[Row]) -> dict[str, Any]:
    """Mean and sample standard deviation (None below two runs) of the score and the seconds."""
    scores = list(table.scores(rows).values())
    seconds = [
        row.metrics.get("seconds", row.record.seconds or 0.0)
        for row in rows
        if row.record.state == records.DONE
    ]
    return {
        "count": len(scores),
        "mean": statistics.fmean(scores) if scores else None,
        "deviation": statistics.stdev(scores) if len(scores) > 1 else None,
        "seconds": statistics.fmean(seconds) if seconds else None,
    }


def _row(folder: SweepFolder, run: PlannedRun, score: str) -> Row:
    record, place = folder.record(run), folder.run_folder(run)
    done = record.state == records.DONE
    values = run_folder.metrics(place) or {}
    metrics = run_folder.numbers(values) if done or record.state == records.STOPPED else {}
    # A resumed run counts its earlier sessions too, but its record does not.
    if done and record.seconds and 0 <= metrics.get("seconds", -1) <= record.seconds:
        metrics["overhead_seconds"] = round(record.seconds - metrics["seconds"], 2)
    report = f"{run.id}/report.html" if (place / "report.html").is_file() else ""
    column, points = history.curve(place, score)
    ended = run_folder.ended(values, 0.0)
    return Row(run, record, metrics, tuple(points), report, column, ended)


def numbers(folder: Path) -> dict[str, float]:
    """The plain numbers of a run folder's metrics; empty if there are none."""
    return run_folder.numbers(run_folder.metrics(folder) or {})


def keep_best(folder: SweepFolder, table: ResultTable, specification: Specification) -> None:
    """Keep large files, such as trained models, only of the best runs.

    An unfinished run, or one without a score, keeps its files.
    """
    scores = table.scores(table.rows)
    ranked = sorted(scores, key=lambda id: scores[id], reverse=not specification.minimize)
    for name, most in specification.keep_best.items():
        for id in ranked[most:]:
            (folder.path / id / name).unlink(missing_ok=True)
