"""The page of a sweep: one file that opens from disk, with table, filters, curves, pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelkit import files, project
from kernelkit.pages import many_runs, naming, trail
from kernelkit.pages.many_runs import ShownRun
from kernelkit.shown import Shown
from kernelkit.sweep.store.results import ResultTable, Row


def write(path: Path, table: ResultTable) -> Path:
    """Write the page of a table to `path`, whole or not at all."""
    above = path.resolve().parent.parent / trail.INDEX
    back = {trail.ALL_RUNS: trail.address(above, path.parent)} if above.is_file() else {}
    return files.write_text(path, render(table, project.shown(path.parent), back))


def render(table: ResultTable, shown: Shown, back: dict[str, str] | None = None) -> str:
    """The page's HTML, with style, script and data inside it and nothing to fetch."""
    labels = shown.measures or {name: name for row in table.rows for name in row.metrics}
    first = table.rows[0].run if table.rows else None
    same = {n: v for n, v in (first.values if first else {}).items() if n not in table.varying}
    given = {name: same.pop(name) for name in (first.given if first else {}) if name in same}
    curve = next((row.curve_of for row in table.rows if row.curve), "")
    return many_runs.render(
        table.name,
        [_shown_run(row, table.varying) for row in table.rows],
        replace(shown, score=table.score, measures=labels),
        columns=table.varying,
        axes=table.varying,
        minimize=table.minimize,
        base=given,
        defaults=same,
        curve=curve,
        back=back,
    )


def _shown_run(row: Row, varying: list[str]) -> ShownRun:
    parameters = {name: row.run.values.get(name) for name in varying}
    setting = {name: value for name, value in parameters.items() if name != naming.SEED}
    return ShownRun(
        id=row.run.id,
        name=naming.setting_text(parameters) or row.run.id,
        setting=naming.setting_text(setting) or row.run.id,
        parameters=parameters,
        metrics=row.metrics,
        state=row.record.state,
        seconds=row.record.seconds,
        error=row.record.error,
        report=row.report,
        folder=row.run.id,
        curve=row.curve,
    )
