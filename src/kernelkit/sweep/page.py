"""A sweep's page: one file that opens from disk, with table, filters, curves and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelkit import files, project
from kernelkit.reports import trail
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.reports.naming import setting_text
from kernelkit.sweep.results import ResultTable, Row
from kernelkit.sweep.sweep_file import SEED


def write_page(path: Path, table: ResultTable) -> Path:
    """Write the page of a table to `path`, whole or not at all."""
    shown = project.shown(path.parent)
    above = path.resolve().parent.parent / trail.INDEX
    back = {trail.ALL_RUNS: trail.address(above, path.parent)} if above.is_file() else {}
    first = table.rows[0].run if table.rows else None
    same = {n: v for n, v in (first.values if first else {}).items() if n not in table.varying}
    given = {name: same.pop(name) for name in (first.given if first else {}) if name in same}
    labels = shown.measures or {name: name for row in table.rows for name in row.metrics}
    page = RunsPage(
        table.name,
        [_shown_run(table, row) for row in table.rows],
        replace(shown, score=table.score, measures=labels),
        columns=table.varying,
        axes=table.varying,
        minimize=table.minimize,
        base=given,
        defaults=same,
        curve=next((row.curve_of for row in table.rows if row.curve), ""),
    )
    return files.write_text(path, page.html(back))


def _shown_run(table: ResultTable, row: Row) -> ShownRun:
    values = table.values(row)
    return ShownRun(
        id=row.run.id,
        name=setting_text(values) or row.run.id,
        setting=setting_text({n: v for n, v in values.items() if n != SEED}) or row.run.id,
        parameters=values,
        metrics=row.metrics,
        state=row.record.state,
        seconds=row.record.seconds,
        error=row.record.error,
        report=row.report,
        folder=row.run.id,
        curve=row.curve,
    )
