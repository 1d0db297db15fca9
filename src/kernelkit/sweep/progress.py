"""The progress of a sweep: its state before and during the runs, and the summary at the end.

Meanwhile, a terminal shows a live table, and any other stream gets plain lines.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from kernelkit.errors import RunFailedError
from kernelkit.reports import naming
from kernelkit.shown import duration
from kernelkit.sweep import records, results
from kernelkit.sweep.options import SweepOptions
from kernelkit.sweep.records import Record, SweepFolder, expected_seconds
from kernelkit.sweep.results import ResultTable
from kernelkit.sweep.specification import PlannedRun, Specification
from kernelkit.terminal import safe_text

PREVIEWED = 60  # runs listed by a dry run
LISTED = 20  # failed runs named in the final message


class SweepProgress:
    """Shows and records the beginning and end of each run; a context manager for its display.

    `runs` are all runs of the sweep, `remaining` is the number of them to run now. A search adds to
    `runs`, and sets `total` and `ended_before`.
    """

    def __init__(
        self,
        specification: Specification,
        folder: SweepFolder,
        options: SweepOptions,
        remaining: int,
    ) -> None:
        self.specification, self.folder, self.options = specification, folder, options
        self.runs = list(specification.runs)
        self.stream = options.stream or sys.stdout
        self.total = len(self.runs)
        self.ended = self.ended_before = self.total - remaining
        self._begun, self._until = time.monotonic(), 0.0
        self._running: dict[str, tuple[PlannedRun, float]] = {}
        self._live: Any = None

    def take_up_search(self, ended_before: int) -> None:
        """Show a resumed search, with this many points already finished."""
        self.total = self.specification.search["trials"]
        self.ended = self.ended_before = ended_before

    def __enter__(self) -> SweepProgress:
        for id in sorted(self.folder.damaged):
            click.echo(f"{self.folder.path / id} is damaged: its run will be repeated", self.stream)
        if self.stream.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self.stream)
            self._live = Live(console=console, refresh_per_second=2, get_renderable=self._screen)
            self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None
        self.write()

    def tell(self, run: PlannedRun, record: Record) -> None:
        """Show the state of a run, and rewrite the table when it has ended."""
        if record.state == records.RUNNING:
            self._running[run.id] = (run, time.monotonic())
            return
        self._running.pop(run.id, None)
        if record.state == records.PENDING:
            return
        table = self.write()
        metrics = next(row.metrics for row in table.rows if row.run.id == run.id)
        score = f"{table.score} {metrics[table.score]:.4f}" if table.score in metrics else ""
        self.ended += 1
        each = (time.monotonic() - self._begun) / (self.ended - self.ended_before)
        self._until = time.time() + each * (self.total - self.ended)
        count = f"{self.ended}/{self.total}"
        took = "" if record.seconds is None else duration(record.seconds)
        parts = [count, record.state, took, score, self.label(run), record.reason]
        line = safe_text.plain("  ".join(part for part in parts if part))
        if self._live is not None:
            self._live.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=self.stream, flush=True)

    def label(self, run: PlannedRun) -> str:
        """The settings that distinguish this run from the others."""
        names = self.specification.varying or list(run.overrides)
        return naming.setting_text({name: run.values.get(name) for name in names})

    def table(self) -> ResultTable:
        """All runs in their current state."""
        return results.gather(self.folder, self.specification, self.runs)

    def write(self) -> ResultTable:
        """Write results.csv, results.json and index.html; returns the table.

        Files that only the best runs keep are removed from the others.
        """
        table = self.table()
        results.keep_best(self.folder, table, self.specification)
        results.write(self.folder, table)
        return table

    def live_page(self, over: bool) -> str:
        """The page as it is now, for a server that ends with `over`."""
        text = f"{self.ended} of {self.total} runs ended, {len(self._running)} running"
        if over:
            text = "The sweep is over."
            if self.ended < self.total:
                text = "The sweep was stopped; the same command continues it."
        live = {"text": text, "until": self._until or None, "over": over}
        return results.page(self.folder.path, self.table(), live).html()

    def conclude(self) -> None:
        """Print the summary; raises `RunFailedError` with a list if runs failed."""
        table = self.table()
        index = str(self.folder.path / "index.html")
        click.echo("\n".join([*_verdict(table), index]), file=self.stream)
        bad = [row for row in table.rows if row.record.state in records.ENDED_BADLY]
        if bad:
            lines = [
                f"  {row.run.id} {row.record.state}  {self.label(row.run)}\n"
                f"    {row.record.reason or 'without a message'}"
                for row in bad[:LISTED]
            ]
            more = [f"  … and {len(bad) - LISTED} more"] if len(bad) > LISTED else []
            raise RunFailedError(
                f"{len(bad)} of {len(table.rows)} runs failed; --retry-failed runs them "
                "again:\n" + "\n".join([*lines, *more])
            )

    def preview(self, workers: int) -> str:
        """What would run: the table of runs, those already done, and the time for the rest."""
        if search := self.specification.search:
            axes = ", ".join(search["space"])
            return f"a search over {axes}: {search['trials']} runs, chosen as it goes"
        rows = [(run, self.folder.record(run)) for run in self.runs]
        varying = self.specification.varying
        cells = [["run", "state", *varying]]
        for run, record in rows[:PREVIEWED]:
            cells.append([run.id, record.state, *(str(run.values[name]) for name in varying)])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
        if len(rows) > PREVIEWED:
            lines.append(f"… and {len(rows) - PREVIEWED:,} more")
        done = sum(record.state == records.DONE for _, record in rows)
        remaining = self.total - self.ended
        time = _time([record for _, record in rows], workers, remaining)
        lines.append(f"{len(rows):,} runs, {done:,} done, {remaining:,} to run: {time}")
        return "\n".join(lines)

    def _screen(self) -> Any:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=False)
        for run, since in self._running.values():
            table.add_row("running", duration(time.monotonic() - since), self.label(run))
        seconds = max(0.0, self._until - time.time())
        remaining = f"{duration(seconds)} left" if self._until else ""
        table.add_row(f"{self.ended}/{self.total}", remaining, "")
        return table


def _time(earlier: Sequence[Record], workers: int, remaining: int) -> str:
    each = expected_seconds(earlier)
    if not remaining:
        return "nothing left to do"
    if not each:
        return "no run is done yet to estimate the time"
    expected = duration(each * -(-remaining // workers))
    return f"about {expected} with {workers} at a time (so far {duration(each)} each)"


def _verdict(table: ResultTable) -> list[str]:
    """The number of runs in each state, and the best."""
    states = Counter(row.record.state for row in table.rows)
    counts = f"{states[records.DONE]} of {len(table.rows)} runs done"
    if pruned := states[records.PRUNED]:
        counts += f", {pruned} pruned"
    if remaining := sum(states[s] for s in (records.PENDING, records.RUNNING, records.STOPPED)):
        counts += f", {remaining} left: the same command continues with them"
    if table.best:
        setting, score = table.best
        return [counts, f"best {table.score} {score:.4f}  {naming.setting_text(setting)}".rstrip()]
    if not states[records.DONE]:
        return [counts]
    measures = ", ".join(sorted({name for row in table.rows for name in row.metrics})) or "none"
    return [counts, f"no run has the score {table.score!r}; the measures are: {measures}"]
