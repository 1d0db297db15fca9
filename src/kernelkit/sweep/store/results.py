"""The results of a sweep as a table: one row a run, and one a setting over its seeds."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.run_folders import history
from kernelkit.sweep.config.points import SEED
from kernelkit.sweep.config.specification import PlannedRun, Specification
from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import Record, SweepFolder


@dataclass(frozen=True)
class Row:
    """A run with its record, its metrics (flat numbers only) and its curve by epoch."""

    run: PlannedRun
    record: Record
    metrics: Mapping[str, float]
    curve: tuple[float, ...] = ()
    report: str = ""
    curve_of: str = ""  # the column of the history that the curve shows


@dataclass(frozen=True)
class ResultTable:
    """All runs of a sweep as they stand, in order."""

    name: str
    score: str
    rows: tuple[Row, ...]
    minimize: bool = False  # whether a lower score is better

    @property
    def varying(self) -> list[str]:
        """The parameters in which the runs differ, in the notebook's order."""
        if not self.rows:
            return []
        names = self.rows[0].run.values
        message = {n: {json.dumps(row.run.values.get(n)) for row in self.rows} for n in names}
        return [name for name in names if len(message[name]) > 1]

    @property
    def settings(self) -> list[tuple[dict[str, Any], list[Row]]]:
        """The rows grouped by what they set besides the seed."""
        axes = [name for name in self.varying if name != SEED]
        groups: dict[str, tuple[dict[str, Any], list[Row]]] = {}
        for row in self.rows:
            setting = {name: row.run.values.get(name) for name in axes}
            groups.setdefault(json.dumps(setting), (setting, []))[1].append(row)
        return list(groups.values())

    def scores(self, rows: Iterable[Row]) -> list[float]:
        """The scores of the rows that are done."""
        return [
            row.metrics[self.score]
            for row in rows
            if row.record.state == records.DONE and self.score in row.metrics
        ]

    @property
    def best(self) -> tuple[dict[str, Any], float] | None:
        """The setting with the best mean score, and that mean; None before any run is done."""
        scored = [(s, statistics.fmean(own)) for s, r in self.settings if (own := self.scores(r))]
        choose = min if self.minimize else max
        return choose(scored, key=lambda pair: pair[1]) if scored else None


def gather(
    folder: SweepFolder, specification: Specification, runs: Sequence[PlannedRun]
) -> ResultTable:
    """Read the results of the runs so far.

    Where no score is named, it is the first number of `metrics.json`.
    """
    score = specification.score or _first_measure(folder, runs)
    rows = tuple(_row(folder, run, score) for run in runs)
    return ResultTable(specification.name, score, rows, specification.minimize)


def _first_measure(folder: SweepFolder, runs: Sequence[PlannedRun]) -> str:
    measures = (next(iter(numbers(folder.run_folder(run))), "") for run in runs)
    return next(filter(None, measures), "")


def write(folder: SweepFolder, table: ResultTable) -> None:
    """Write `results.csv` and `results.json`, each whole or not at all."""
    files.write_text(folder.path / "results.csv", as_csv(table))
    files.write_text(folder.path / "results.json", json.dumps(as_json(table), indent=1) + "\n")


def as_csv(table: ResultTable) -> str:
    """One line a run: id, state, the parameters that differ, the metrics, what went wrong."""
    varying = table.varying
    measures = list(dict.fromkeys(name for row in table.rows for name in row.metrics))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "state", *varying, *measures, "wall_seconds", "error"])
    for row in table.rows:
        set_to = [row.run.values.get(name) for name in varying]
        measured = [row.metrics.get(name, "") for name in measures]
        wall = "" if row.record.seconds is None else row.record.seconds
        writer.writerow([row.run.id, row.record.state, *set_to, *measured, wall, row.record.reason])
    return text.getvalue()


def as_json(table: ResultTable) -> dict[str, Any]:
    """Everything that the page shows: the runs, and each setting's mean and deviation."""
    return {
        "name": table.name,
        "score": table.score,
        "minimize": table.minimize,
        "varying": table.varying,
        "runs": [
            {
                "id": row.run.id,
                "state": row.record.state,
                "parameters": {name: row.run.values.get(name) for name in table.varying},
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
    """Mean and sample deviation of the score (None below two runs) and of the seconds."""
    scores = table.scores(rows)
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
    record = folder.record(run)
    place = folder.run_folder(run)
    done = record.state == records.DONE
    metrics = numbers(place) if done or record.state == records.STOPPED else {}
    # A run that was taken up again counts its earlier sessions too, and the record does not.
    if done and record.seconds and 0 <= metrics.get("seconds", -1) <= record.seconds:
        metrics["overhead_seconds"] = round(record.seconds - metrics["seconds"], 2)
    report = f"{run.id}/report.html" if (place / "report.html").is_file() else ""
    column, values = history.curve(place, (*history.of_score(score), *history.LEARNT))
    return Row(run, record, metrics, tuple(values), report, column)


def numbers(folder: Path) -> dict[str, float]:
    """The plain numbers of a run folder's metrics; empty when there are none to read."""
    try:
        values = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def keep_best(
    scores: Mapping[Path, float], keep: Mapping[str, int], *, minimize: bool
) -> list[Path]:
    """Keep large files, such as trained models, of the best runs alone; returns those removed.

    `scores`: the folder of each finished run with its score; `keep`: {file name: runs}. A run
    without a score keeps its files.
    """
    ranked = sorted(scores, key=lambda folder: scores[folder] if minimize else -scores[folder])
    removed = []
    for name, most in keep.items():
        for folder in ranked[most:]:
            if (folder / name).is_file():
                (folder / name).unlink()
                removed.append(folder / name)
    return removed
