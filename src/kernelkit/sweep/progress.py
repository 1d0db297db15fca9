"""The progress of a sweep: its state before and during the runs, and the summary at the end.

Meanwhile, a terminal shows a live table, and any other stream gets plain lines.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from typing import Any

import click

from kernelkit.errors import RunFailedError
from kernelkit.reports import naming
from kernelkit.reports.many_runs import RunsPage
from kernelkit.shown import duration
from kernelkit.sweep import records, results
from kernelkit.sweep.options import SweepOptions
from kernelkit.sweep.records import Record, SweepFolder
from kernelkit.sweep.specification import PlannedRun, Specification
from kernelkit.terminal import safe_text

PREVIEWED = 60  # runs listed by a dry run
LISTED = 20  # failed runs named in the final message


class SweepProgress:
    """Shows and records the beginning and end of each run; a context manager for its display.

    `runs` are all runs of the sweep, to which a search adds; `remaining` are those to make: neither
    done nor failed, and with a retry also the failed ones.
    """

    def __init__(
        self, specification: Specification, folder: SweepFolder, options: SweepOptions
    ) -> None:
        self.specification, self.folder, self.options = specification, folder, options
        self.stream = options.stream or sys.stdout
        self.runs = list(specification.runs)
        ended = set(records.ENDED) - set(records.ENDED_BADLY if options.retry_failed else ())
        self.remaining = [
            run for run in self.runs if options.force or folder.record(run).state not in ended
        ]
        self.total = len(self.runs)
        self.ended = self._ended_before = self.total - len(self.remaining)
        self._begun, self._until = time.monotonic(), 0.0
        self._running: dict[str, tuple[PlannedRun, float]] = {}
        self._live: Any = None

    def take_up_search(self, ended_before: int) -> None:
        """Show a resumed search, with this many points already finished."""
        self.total = self.specification.search["trials"]
        self.ended = self._ended_before = ended_before

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
        self._write()

    def tell(self, run: PlannedRun, record: Record) -> None:
        """Show the state of a run, and rewrite the table when it has ended."""
        if record.state == records.RUNNING:
            self._running[run.id] = (run, time.monotonic())
            return
        self._running.pop(run.id, None)
        if record.state == records.PENDING:
            return
        page = self._write()
        shown = next(shown for shown in page.runs if shown.id == run.id)
        value = shown.metrics.get(page.shown.score)
        self.ended += 1
        each = (time.monotonic() - self._begun) / (self.ended - self._ended_before)
        self._until = time.time() + each * (self.total - self.ended)
        parts = [
            f"{self.ended}/{self.total}",
            record.state,
            "" if record.seconds is None else duration(record.seconds),
            "" if value is None else f"{page.shown.score} {value:.4f}",
            shown.name,
            record.reason,
        ]
        line = safe_text.plain("  ".join(filter(None, parts)))
        if self._live is not None:
            self._live.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=self.stream, flush=True)

    def _page(self, live: dict[str, Any] | None = None) -> RunsPage:
        return results.gather(self.folder, self.specification, self.runs, live)

    def _write(self) -> RunsPage:
        """Write the results; files that only the best runs keep are removed from the others."""
        page = self._page()
        results.keep_best(page, self.specification.keep_best)
        results.write(page)
        return page

    def live_page(self, over: bool) -> str:
        """The page as it is now, for a server that ends with `over`."""
        text = f"{self.ended} of {self.total} runs ended, {len(self._running)} running"
        if over:
            text = "The sweep is over."
            if self.ended < self.total:
                text = "The sweep was stopped; the same command continues it."
        return self._page({"text": text, "until": self._until or None, "over": over}).html()

    def conclude(self) -> None:
        """Print the summary; raises `RunFailedError` with a list if runs failed."""
        page = self._page()
        states = Counter(run.state for run in page.runs)
        counts = f"{states[records.DONE]} of {len(page.runs)} runs done"
        if pruned := states[records.PRUNED]:
            counts += f", {pruned} pruned"
        if remaining := sum(states[state] for state in records.UNFINISHED):
            counts += f", {remaining} left: the same command continues with them"
        lines = [counts]
        if best := results.best(page):
            setting, score = best
            lines.append(f"best {page.shown.score} {score:.4f}  {setting}")
        elif states[records.DONE]:
            names = ", ".join(sorted({name for run in page.runs for name in run.metrics}))
            measures = names or "none"
            lines.append(f"no run has the score {page.shown.score!r}; the measures are: {measures}")
        click.echo("\n".join([*lines, str(self.folder.path / "index.html")]), file=self.stream)
        failed = [run for run in page.runs if run.state in records.ENDED_BADLY]
        if failed:
            lines = [
                f"  {run.id} {run.state}  {run.name}\n"
                f"    {Record(error=run.error).reason or 'without a message'}"
                for run in failed[:LISTED]
            ]
            more = [f"  … and {len(failed) - LISTED} more"] if len(failed) > LISTED else []
            raise RunFailedError(
                f"{len(failed)} of {len(page.runs)} runs failed; --retry-failed runs them "
                "again:\n" + "\n".join([*lines, *more])
            )

    def preview(self) -> str:
        """What would run: the table of runs, and how many of them are done."""
        if search := self.specification.search:
            axes = ", ".join(search["space"])
            return f"a search over {axes}: {search['trials']} runs, chosen as it goes"
        varying = self.specification.varying
        runs = [(run, self.folder.record(run)) for run in self.runs]
        cells = [["run", "state", *varying]]
        for run, record in runs[:PREVIEWED]:
            cells.append([run.id, record.state, *(str(run.values[name]) for name in varying)])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
        if len(runs) > PREVIEWED:
            lines.append(f"… and {len(runs) - PREVIEWED:,} more")
        times = [record.seconds for _, record in runs if record.state == records.DONE]
        each = statistics.fmean(filter(None, times)) if any(times) else 0.0
        average = f", {duration(each)} each" * bool(each)
        lines.append(
            f"{len(runs):,} runs, {len(times):,} done{average}, {len(self.remaining):,} to run"
        )
        return "\n".join(lines)

    def _screen(self) -> Any:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=False)
        for run, since in self._running.values():
            values = {name: run.values.get(name) for name in self.specification.varying}
            elapsed = duration(time.monotonic() - since)
            table.add_row("running", elapsed, naming.setting_text(values) or run.id)
        seconds = max(0.0, self._until - time.time())
        remaining = f"{duration(seconds)} left" if self._until else ""
        table.add_row(f"{self.ended}/{self.total}", remaining, "")
        return table
