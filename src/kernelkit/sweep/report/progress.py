"""The state of a sweep as text: before it runs, and while it runs.

While it runs, a terminal shows a table that moves, and any other stream plain lines.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

from kernelkit.reports.naming import setting_text
from kernelkit.shown import duration
from kernelkit.sweep.config.specification import PlannedRun
from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import Record
from kernelkit.sweep.store.results import ResultTable
from kernelkit.terminal import safe_text

SHOWN = 60  # runs listed


class SweepProgress:
    """Told of each run's state; `label` holds what tells the runs apart."""

    def __init__(self, total: int, varying: Sequence[str], stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.total, self.varying = total, list(varying)
        self.ended = self.begun_with = 0
        self._begun = time.monotonic()
        self._running: dict[str, tuple[PlannedRun, float]] = {}
        self._live: Any = None

    def __enter__(self) -> SweepProgress:
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

    def skip(self, count: int) -> None:
        """So many runs were done before."""
        self.ended = self.begun_with = count

    def tell(self, run: PlannedRun, record: Record, score: str = "") -> None:
        """A run began or ended."""
        if record.state == records.RUNNING:
            self._running[run.id] = (run, time.monotonic())
            return
        self._running.pop(run.id, None)
        if record.state == records.PENDING:
            return
        self.ended += 1
        took = duration(record.seconds) if record.seconds is not None else ""
        parts = [
            f"{self.ended}/{self.total}",
            record.state,
            took,
            score,
            self.label(run),
            record.reason,
        ]
        line = safe_text.plain("  ".join(part for part in parts if part))
        if self._live is not None:
            self._live.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=self.stream, flush=True)

    def label(self, run: PlannedRun) -> str:
        """What tells this run from the others."""
        names = self.varying or list(run.given)
        return setting_text({name: run.values.get(name) for name in names})

    def _screen(self) -> Any:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=False)
        for run, since in self._running.values():
            table.add_row("running", duration(time.monotonic() - since), self.label(run))
        table.add_row(f"{self.ended}/{self.total}", self._left(), "")
        return table

    def _left(self) -> str:
        done = self.ended - self.begun_with
        if not done:
            return ""
        seconds = (time.monotonic() - self._begun) / done * (self.total - self.ended)
        return f"{duration(seconds)} left"


def preview(table: ResultTable, workers: int, left: int) -> str:
    """The table of runs, what is done, and the time expected for the `left` ones."""
    varying = table.varying
    heads = ["run", "state", *varying]
    cells = [
        [row.run.id, row.record.state, *(str(row.run.values.get(name)) for name in varying)]
        for row in table.rows[:SHOWN]
    ]
    widths = [max(len(line[n]) for line in [heads, *cells]) for n in range(len(heads))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in [heads, *cells]
    ]
    if len(table.rows) > SHOWN:
        lines.append(f"… and {len(table.rows) - SHOWN:,} more")
    done = sum(row.record.state == records.DONE for row in table.rows)
    rest = _time(table, workers, left)
    lines.append(f"{len(table.rows):,} runs, {done:,} done, {left:,} to run: {rest}")
    return "\n".join(lines)


def expected_seconds(kept: Sequence[Record]) -> float:
    """The mean time of runs that are done; 0 when none is."""
    times = [record.seconds for record in kept if record.state == records.DONE and record.seconds]
    return statistics.fmean(times) if times else 0.0


def _time(table: ResultTable, workers: int, left: int) -> str:
    each = expected_seconds([row.record for row in table.rows])
    if not left:
        return "nothing left to do"
    if not each:
        return "the time they take is known once one is done"
    expected = duration(each * -(-left // workers))
    return f"about {expected} with {workers} at a time ({duration(each)} each so far)"
