"""The progress of a sweep: its state before the runs, a line for each, and the summary."""

import math
import statistics
import sys
import time
from collections import Counter

from kernelkit.errors import RunFailedError
from kernelkit.pages.many_runs import RunsPage, going_on
from kernelkit.shown import duration
from kernelkit.sweep import results, search
from kernelkit.sweep import sweep_folder as records
from kernelkit.sweep.request import SweepOptions
from kernelkit.sweep.specification import NAME_SCORE, PlannedRun, Specification
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import LiveLine

LISTED = 20  # failed runs named in the final message


class SweepProgress:
    """Shows each run that ends, and rewrites the results.

    `runs` are all runs of the sweep, to which a search adds; `remaining` are those to make.
    """

    def __init__(
        self, specification: Specification, folder: SweepFolder, options: SweepOptions
    ) -> None:
        self.specification, self.folder, self.options = specification, folder, options
        self.runs = list(specification.runs)
        self.remaining = folder.remaining(self.runs, options.retry_failed)
        if options.force:
            self.remaining = self.runs
        self.total = len(self.runs)
        self.ended = self._ended_before = self.total - len(self.remaining)
        self._begun = time.monotonic()
        self._until = 0.0  # when the last run should end, in seconds since 1970
        self._again = 0.0  # seconds until the page is written again

    def show(self, text: str) -> None:
        """Show a text, some of whose words may be a notebook's."""
        LiveLine(self.options.stream or sys.stdout).stay(safe_text.plain(text))

    def take_up_search(self, ended_before: int) -> None:
        """Show a resumed search, with this many points already finished."""
        self.total = search.trials(self.specification)
        self.ended = self._ended_before = ended_before

    def tell(self, run: PlannedRun, record: Record) -> None:
        """Show a run that has ended, and rewrite the results."""
        if record.state in (records.RUNNING, records.PENDING):
            return
        self.ended += 1
        each = (time.monotonic() - self._begun) / (self.ended - self._ended_before)
        remaining = each * (self.total - self.ended)
        self._until = time.time() + remaining
        page = self.write()
        shown = next(shown for shown in page.runs if shown.id == run.id)
        value = shown.metrics.get(page.shown.score)
        parts = [
            f"{self.ended}/{self.total}",
            record.state,
            "" if record.seconds is None else duration(record.seconds),
            "" if value is None else f"{page.shown.score} {value:.4f}",
            shown.name,
            records.reason(record.error),
            f"({duration(remaining)} left)" if remaining else "",
        ]
        self.show("  ".join(filter(None, parts)))

    def _page(self) -> RunsPage:
        text = f"{self.ended} of {self.total} runs ended"
        live = going_on(text, self._again, self._until or None)
        return results.gather(self.folder, self.specification, self.runs, live)

    def write(self) -> RunsPage:
        """Write the results; files that only the best runs keep are removed from the others."""
        page = self._page()
        results.keep_best(page, self.specification.keep_best)
        results.write(page)
        return page

    def write_page(self, again: float) -> None:
        """Write the page alone; `again`: the seconds until it is written again, 0 for never."""
        self._again = again
        results.write_page(self._page())

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
        measures = ", ".join(sorted({name for run in page.runs for name in run.metrics}))
        if best := results.best(page):
            setting, score = best
            lines.append(f"best {page.shown.score} {score:.4f}  {setting}".rstrip())
        elif measures:
            name = page.shown.score
            reason = f"no run has the score {name!r}" if name else f"no score: {NAME_SCORE}"
            lines.append(f"{reason}; the measures are: {measures}")
        elif states[records.DONE]:
            lines.append(
                "no run left a metrics.json in its folder, which the parameter output names"
            )
        self.show("\n".join([*lines, str(self.folder.path / "index.html")]))
        if failed := [run for run in page.runs if run.state in records.ENDED_BADLY]:
            listed = "".join(
                f"\n  {run.id} {run.state}  {run.name}\n    "
                f"{records.reason(run.error) or 'without a message'}"
                for run in failed[:LISTED]
            )
            raise RunFailedError(
                f"{len(failed)} of {len(page.runs)} runs failed; --retry-failed runs them again:"
                + listed
            )

    def preview(self) -> str:
        """What would run: the runs with their states, and the time expected for the rest."""
        if self.specification.search:
            axes, count = ", ".join(self.specification.varying), search.trials(self.specification)
            return f"a search over {axes}: {count} runs, chosen as it goes"
        runs = self._page().runs
        lines = [f"{run.id}  {run.state:8}  {run.name}" for run in runs]
        done = [run.seconds or 0.0 for run in runs if run.state == records.DONE]
        lines.append(f"{len(runs)} runs, {len(done)} done, {len(self.remaining)} to run")
        if done and self.remaining:
            workers = 1 if self.options.kaggle else self.specification.workers
            seconds = statistics.fmean(done) * math.ceil(len(self.remaining) / workers)
            lines[-1] += f": about {duration(seconds)} with {workers} at a time"
        return "\n".join(lines)
