"""A sweep under way: the table and the page after every run, and the verdict at the end.

The page is one file that opens from disk, with table, filters, curves and pictures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import click

from kernelkit import files, project
from kernelkit.errors import RunFailedError
from kernelkit.reports import naming, trail
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.reports.naming import setting_text
from kernelkit.shown import Shown
from kernelkit.sweep.config.specification import PlannedRun, Specification
from kernelkit.sweep.report.progress import SweepProgress
from kernelkit.sweep.store import records, results
from kernelkit.sweep.store.records import Record, SweepFolder
from kernelkit.sweep.store.results import ResultTable, Row

LISTED = 20  # failed runs named in the last message


class SweepReport:
    """Told of every run as it begins and ends; used as a context for its screen.

    `runs` are all of the sweep's, `left` those to run now; a search adds to the first.
    """

    def __init__(
        self,
        asked: Specification,
        folder: SweepFolder,
        runs: Sequence[PlannedRun],
        left: int,
        *,
        report: bool = True,
        stream: TextIO | None = None,
    ) -> None:
        self.asked, self.folder, self.runs = asked, folder, list(runs)
        self.report, self.stream = report, stream
        self.progress = SweepProgress(len(self.runs), self.table().varying, stream)
        self.progress.skip(len(self.runs) - left)

    def __enter__(self) -> SweepReport:
        for id in self.folder.damaged:
            click.echo(
                f"{self.folder.path / id} is damaged and will be run again", file=self.stream
            )
        self.write()
        self.progress.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.__exit__(kind, error, trace)

    def request(self, run: PlannedRun) -> dict[str, Any]:
        """What the process of a run is asked."""
        return {
            "notebook": str(self.asked.notebook),
            "values": dict(run.given),
            "folder": str(self.folder.run_folder(run).resolve()),
            "report": self.report,
        }

    def tell(self, run: PlannedRun, record: Record) -> None:
        """Show how a run stands, and write the table anew when it has ended."""
        if record.state in (records.RUNNING, records.PENDING):
            self.progress.tell(run, record)
            return
        table = self.write()
        row = next(row for row in table.rows if row.run.id == run.id)
        score = row.metrics.get(table.score)
        self.progress.tell(run, record, f"{table.score} {score:.4f}" if score is not None else "")

    def table(self) -> ResultTable:
        """All runs as they stand."""
        return results.gather(self.folder, self.asked, self.runs)

    def write(self) -> ResultTable:
        """Write results.csv, results.json and index.html; returns the table.

        Files that only the best runs keep are removed from the others.
        """
        table = self.table()
        scores = {
            self.folder.run_folder(row.run): row.metrics[table.score]
            for row in table.rows
            if row.record.state == records.DONE and table.score in row.metrics
        }
        results.keep_best(scores, self.asked.keep_best, minimize=table.minimize)
        results.write(self.folder, table)
        write_page(self.folder.path / "index.html", table)
        return table

    def conclude(self) -> None:
        """Say what came of it; raises `RunFailedError` with a list when runs ended badly."""
        table = self.write()
        index = str(Path(self.folder.path) / "index.html")
        click.echo("\n".join([*_verdict(table), index]), file=self.stream)
        bad = [row for row in table.rows if row.record.state in records.ENDED_BADLY]
        if bad:
            listed = [
                f"  {row.run.id} {row.record.state}  {self.progress.label(row.run)}\n"
                f"    {row.record.reason or 'it left no message'}"
                for row in bad[:LISTED]
            ]
            more = [f"  … and {len(bad) - LISTED} more"] if len(bad) > LISTED else []
            raise RunFailedError(
                f"{len(bad)} of {len(table.rows)} runs ended badly; --retry-failed runs them "
                "again:\n" + "\n".join([*listed, *more])
            )


def _verdict(table: ResultTable) -> list[str]:
    """How many runs came to what, and the best."""
    states = Counter(row.record.state for row in table.rows)
    counts = f"{states[records.DONE]} of {len(table.rows)} runs done"
    if pruned := states[records.PRUNED]:
        counts += f", {pruned} pruned"
    if left := sum(states[s] for s in (records.PENDING, records.RUNNING, records.STOPPED)):
        counts += f", {left} left: the same command goes on with them"
    if table.best:
        setting, score = table.best
        return [counts, f"best {table.score} {score:.4f}  {setting_text(setting)}".rstrip()]
    if not states[records.DONE]:
        return [counts]
    known = ", ".join(sorted({name for row in table.rows for name in row.metrics})) or "none"
    return [counts, f"no run has the score {table.score!r}; known are: {known}"]


def write_page(path: Path, table: ResultTable) -> Path:
    """Write the page of a table to `path`, whole or not at all."""
    above = path.resolve().parent.parent / trail.INDEX
    back = {trail.ALL_RUNS: trail.address(above, path.parent)} if above.is_file() else {}
    return files.write_text(path, render_page(table, project.shown(path.parent), back))


def render_page(table: ResultTable, shown: Shown, back: dict[str, str] | None = None) -> str:
    """The page's HTML, with style, script and data inside it and nothing to fetch."""
    labels = shown.measures or {name: name for row in table.rows for name in row.metrics}
    first = table.rows[0].run if table.rows else None
    same = {n: v for n, v in (first.values if first else {}).items() if n not in table.varying}
    given = {name: same.pop(name) for name in (first.given if first else {}) if name in same}
    curve = next((row.curve_of for row in table.rows if row.curve), "")
    page = RunsPage(
        table.name,
        [_shown_run(row, table.varying) for row in table.rows],
        replace(shown, score=table.score, measures=labels),
        columns=table.varying,
        axes=table.varying,
        minimize=table.minimize,
        base=given,
        defaults=same,
        curve=curve,
    )
    return page.html(back)


def _shown_run(row: Row, varying: list[str]) -> ShownRun:
    parameters = {name: row.run.values.get(name) for name in varying}
    setting = {name: value for name, value in parameters.items() if name != naming.SEED}
    return ShownRun(
        id=row.run.id,
        name=setting_text(parameters) or row.run.id,
        setting=setting_text(setting) or row.run.id,
        parameters=parameters,
        metrics=row.metrics,
        state=row.record.state,
        seconds=row.record.seconds,
        error=row.record.error,
        report=row.report,
        folder=row.run.id,
        curve=row.curve,
    )
