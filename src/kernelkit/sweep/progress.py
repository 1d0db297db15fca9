"""The progress of a sweep: its state before the runs, a line for each, and the summary."""

import contextlib
import math
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from kernelkit.files import from_here
from kernelkit.pages.many_runs.runs_page import RunsPage, ShownRun, going_on
from kernelkit.runs import run_state
from kernelkit.session_records import proved
from kernelkit.shown import duration
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.results import ranking, summary, table
from kernelkit.sweep.search import space
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.sweep.sweep_options import SweepOptions
from kernelkit.terminal import safe_text
from kernelkit.terminal.live_line import LiveLine, ticking


class SweepProgress:
    """A sweep that is being run from here, wherever its runs are: shows each run that ends, and
    writes the results.

    `runs` are all runs of the sweep, to which a search adds those that it makes. `remaining` are
    the runs to make; a search, which chooses them as it goes, has none. `total` and `ended` count
    the runs, those that a search has yet to choose among them.
    """

    def __init__(
        self, specification: Specification, folder: SweepFolder, options: SweepOptions
    ) -> None:
        self.specification = specification
        self.folder = folder
        self.options = options
        self._line = LiveLine(options.stream or sys.stdout)
        self._lock = threading.Lock()
        self.reading = threading.Lock()  # held while the results of all runs are read, or replaced
        self.runs = list(specification.runs)
        self.remaining = folder.remaining(self.runs, options.retry_failed)
        if options.force:
            self.remaining = list(self.runs)
        self.total = len(self.runs)
        self.ended = self._ended_before = self.total - len(self.remaining)
        self._begun = time.monotonic()
        self._active: dict[str, PlannedRun] = {}  # by their ids
        self._until = 0.0  # when the last run should end, in seconds since 1970
        self._again = 0.0  # seconds until the results are written again

    def show(self, text: str) -> None:
        """Show a text, some of whose words may be a notebook's."""
        with self._lock:
            self._line.stay(*safe_text.plain(text).splitlines())

    @property
    def at_a_time(self) -> int:
        """How many runs are made at a time; 0 where that is not known, as on Dask's workers."""
        if self.options.dask:
            return 0
        if self.options.kaggle:
            return 1
        return min(self.specification.workers, max(1, self.total - self.ended))

    def announce(self, where: str) -> None:
        """Say how many runs there are, where, how many at a time, and how long they should take."""
        left = self.total - self.ended
        done = f", {self.ended} of them ended already" if self.ended else ""
        parts = [f"{_runs(self.total)} of {from_here(self.specification.notebook)}{done}"]
        if left:
            parts.append(f"{self.at_a_time} at a time {where}" if self.at_a_time else where)
            seconds = self._expected(self._page().runs)
            parts.append(f"about {duration(seconds)}" if seconds else "")
        self.show(f"{': '.join(filter(None, parts))}; into {from_here(self.folder.path)}")

    @contextlib.contextmanager
    def live_line(self) -> Iterator[None]:
        """During a block, show how far the sweep is; outside a terminal each half minute."""
        with ticking(self._line, self._state_now):
            yield

    def _state_now(self) -> tuple[str]:
        with self._lock:
            return (safe_text.one_line(self._state()),)

    def _state(self) -> str:
        """How far the sweep is: runs, times, and the last line of the run that began first."""
        parts = [f"{self.ended}/{self.total} ended"]
        running = list(self._active.values())
        if running:
            parts.append(f"{len(running)} running")
        parts.append(duration(time.monotonic() - self._begun))
        if running:
            printed = run_state.activity(self.folder.run_folder(running[0].id))[1]
            # An indented line belongs to another, like the line of code under a warning.
            lines = [line for line in printed.splitlines() if not line[:1].isspace()]
            parts += lines[-1:]
        remaining = self._until - time.time()
        if self._until and remaining > 0:
            parts.append(f"about {duration(remaining)} left")
        return "  ".join(filter(None, parts))

    def interrupted(self) -> None:
        """Say what is done and kept when the command was told to end."""
        states = Counter(self.folder.record(run.id).state for run in self.runs)
        done = states[sweep_folder.DONE]
        ended = sum(states[state] for state in sweep_folder.ENDED)
        others = f", {ended - done} failed or stopped" if ended > done else ""
        left = self.total - ended
        self.show(
            f"interrupted: {done} of {_runs(self.total)} done{others}, kept in "
            f"{from_here(self.folder.path)}; {self._command} continues with the other {left}"
        )

    @property
    def _command(self) -> str:
        """The command that does what is left, in words."""
        return "the same command without --force" if self.options.force else "the same command"

    def take_up_search(self, ended_before: int) -> None:
        """Show a resumed search, with this many points already finished."""
        self.total = max(space.trials(self.specification), len(self.runs))
        self.ended = self._ended_before = ended_before

    def tell(self, run: PlannedRun, record: Record, *, just_now: bool = True) -> None:
        """Note a run's new state; show a run that has ended, or that its session's clock stopped.

        `just_now`: whether it ended now, and did not come home with others from a session; then
        the time that the remaining ones need is told, too.
        """
        with self._lock:
            self._active.pop(run.id, None)
            if record.state == sweep_folder.RUNNING:
                self._active[run.id] = run
        if record.state in (sweep_folder.RUNNING, sweep_folder.PENDING):
            return
        has_ended = record.state in sweep_folder.ENDED
        remaining = 0.0
        if has_ended:
            self.ended += 1
        if has_ended and just_now:
            each = (time.monotonic() - self._begun) / (self.ended - self._ended_before)
            remaining = each * (self.total - self.ended)
            self._until = time.time() + remaining
        shown = table.shown_run(self.folder, self.specification, run)
        name = self.specification.score
        value = shown.metrics.get(name)
        score = "" if value is None else f"{name} {value:.4f}"
        if score and shown.unverified:
            score += f" ({proved.NOT_VERIFIED}: {shown.unverified})"
        parts = [
            f"{self.ended}/{self.total}",
            record.state,
            "" if record.seconds is None else duration(record.seconds),
            score,
            shown.name,
            sweep_folder.reason(record.error),
            f"({duration(remaining)} left)" if remaining else "",
        ]
        self.show("  ".join(filter(None, parts)))

    def _page(self) -> RunsPage:
        text = f"{self.ended} of {self.total} runs ended"
        live = going_on(text, self._again, self._until or None)
        return table.gather(self.folder, self.specification, self.runs, live)

    def write(self, again: float) -> None:
        """Write the results; files that only the best runs keep are removed from the others.

        `again`: the seconds until they are written again, 0 for never.
        """
        self._again = again
        with self.reading:
            page = self._page()
            ranking.keep_best(page, self.specification.keep_best)
        table.write(page)

    def conclude(self) -> None:
        """Print the summary; raises `RunFailedError` with a list if runs failed."""
        page = self._page()
        in_own_folders = self.specification.in_own_folders
        self.show(summary.summary(page, self._command, in_own_folders=in_own_folders))
        summary.refuse_failed(page.runs)

    def preview(self) -> str:
        """What would run: the runs with their states, and the time expected for the rest."""
        if self.specification.search:
            axes = ", ".join(self.specification.varying)
            count = space.trials(self.specification)
            points = space.points(self.folder, self.specification)
            left = points
            if not self.options.force:
                left = self.folder.remaining(points, self.options.retry_failed)
            ended = "" if len(left) == len(points) else f", {len(points) - len(left)} ended already"
            return f"a search over {axes}: {count} runs, chosen as it goes{ended}"
        runs = self._page().runs
        lines = [f"{run.id}  {run.state:8}  {run.name}" for run in runs]
        done = len([run for run in runs if run.state == sweep_folder.DONE])
        lines.append(f"{_runs(len(runs))}, {done} done, {len(self.remaining)} to run")
        seconds = self._expected(runs)
        if seconds:
            lines[-1] += f": about {duration(seconds)} with {self.at_a_time} at a time"
        return "\n".join(lines)

    def _expected(self, runs: Sequence[ShownRun]) -> float:
        """The seconds that the remaining runs should take.

        0 before a run is done, and where it is not known how many are made at a time.
        """
        done = [run.seconds or 0.0 for run in runs if run.state == sweep_folder.DONE]
        if not done or not self.at_a_time:
            return 0.0
        return statistics.fmean(done) * math.ceil((self.total - self.ended) / self.at_a_time)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
