"""Execute runs: as many at a time as requested, as far as memory allows."""

import contextlib
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from kernelkit import files, processes
from kernelkit.runs import run_folder
from kernelkit.scores.metrics import Metrics
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.search.search import Search
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.sweep.workers import launchers
from kernelkit.sweep.workers.run_process import ERROR, LOG

TIME_LIMIT = "time_limit"  # the parameter with which a run limits its own time
POLL_SECONDS = 0.2  # between looks at the active runs and their memory
ATTEMPTS = 3  # for a run that ends because its fork server ended
FULL = 0.85  # share of the machine's memory that all runs may use together
SPARE = 0.04  # share of it that must stay free, whichever process uses the rest


@dataclass
class Flight:
    """An active run and its process."""

    run: PlannedRun
    child: subprocess.Popen[bytes] | launchers.ForkedRun
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.begun

    def kill(self) -> None:
        """Kill it and its descendants, and wait a limited time for their end."""
        processes.kill_family(self.child.pid)
        end = time.monotonic() + launchers.KILL_SECONDS
        while self.child.poll() is None and time.monotonic() < end:
            time.sleep(0.02)


class Engine:
    """Starts the runs of a sweep, monitors them and records how each ended.

    tell         gets each run and its record whenever that changes
    report       whether each run writes a report.html
    search       learns from each run that has ended, and may stop one earlier; None without one
    accelerator  the machine for runs whose own parameter `accelerator` accepts any
    stop_at      a `time.monotonic()`, 0 for none: runs that are active then become pending
    """

    def __init__(
        self,
        sweep: Specification,
        folder: SweepFolder,
        tell: Callable[[PlannedRun, Record], None],
        report: bool,
        search: Search | None = None,
        accelerator: str = "",
        stop_at: float = 0.0,
    ) -> None:
        self.sweep = sweep
        self.folder = folder
        self.tell = tell
        self.report = report
        self.search = search
        self.accelerator = accelerator
        self.stop_at = stop_at
        log = files.make_folder(folder.path) / ".imports.log"
        self.launcher = launchers.launcher(sweep.notebook.parent, sweep.warm, log)
        self.workers = sweep.workers
        self._flights: dict[str, Flight] = {}
        self._again: list[PlannedRun] = []  # runs to repeat, before any other starts
        self._attempts: Counter[str] = Counter()  # by the ids of the runs
        self._longest = 0.0
        self._peak = 0
        self._closing = False  # no other run starts, as the time is up or the code has changed

    def work(
        self, runs: Iterable[PlannedRun], may_begin: Callable[[], bool] = lambda: True
    ) -> None:
        """Make these runs; the next is asked for when it may begin, as a search chooses it then.

        `may_begin` is asked before each run begins, whether for the first time or again; once it is
        false, those that are active run to their end, and no other begins. However this ends, no
        process remains and no run stays `running`.
        """
        source = iter(runs)
        try:
            while True:
                while self._has_room():
                    run = self._again.pop() if self._again else next(source, None)
                    if run is None:
                        break
                    if not may_begin():
                        self._closing = True
                        break
                    self._start(run)
                if not self._flights:
                    return
                time.sleep(POLL_SECONDS)
                self._look()
        finally:
            try:
                self._stop_all()
            finally:
                self.launcher.close()

    def _has_room(self) -> bool:
        """Whether another run may start: with a free worker, enough memory and enough time."""
        if self._closing or self._is_late(self._longest):
            return False
        free = psutil.virtual_memory().available > 1.1 * self._peak
        return not self._flights or (free and len(self._flights) < self.workers)

    def _is_late(self, seconds: float = 0.0) -> bool:
        """Whether all runs must have ended in so many seconds."""
        return bool(self.stop_at) and time.monotonic() + seconds >= self.stop_at

    def _start(self, run: PlannedRun) -> None:
        place, earlier = self.folder.run_folder(run.id), self.folder.record(run.id)
        interrupted = earlier.state in sweep_folder.UNFINISHED
        self.folder.clear(run.id, keep=[sweep_folder.CHECKPOINTS] if interrupted else ())
        self._note(run, sweep_folder.RUNNING)
        self._attempts[run.id] += 1
        takes_any = self.accelerator and run.values.get("accelerator") == "auto"
        machine = {"accelerator": self.accelerator} if takes_any else {}
        request = {
            "notebook": str(self.sweep.notebook),
            "values": run.assignments(**machine),
            "folder": str(place.resolve()),
            "report": self.report,
            "in_folder": self.sweep.in_own_folders,
        }
        try:
            message = f"its process was killed, or never began; its output is in {place / LOG}\n"
            files.write_text(place / ERROR, message)  # until it ends by itself
            self._flights[run.id] = Flight(run, self.launcher.start(request))
        except BaseException:
            self._note(run, sweep_folder.PENDING)
            raise

    def _look(self) -> None:
        minutes = self.sweep.time_limit
        for flight in list(self._flights.values()):
            if flight.child.poll() is not None:
                state, message = _outcome(self.folder.run_folder(flight.run.id), flight.run)
                lost = state == sweep_folder.FAILED and getattr(flight.child, "lost", False)
                if lost and self._attempts[flight.run.id] < ATTEMPTS:
                    self._put_back(flight)
                else:
                    self._end(flight, state, message)
            elif minutes and flight.seconds > 60 * minutes:
                message = f"stopped after {minutes:g} minutes, its time limit"
                self._stop(flight, sweep_folder.TIMEOUT, message)
            elif self.search and (message := self.search.hopeless(flight.run)):
                self._stop(flight, sweep_folder.PRUNED, message)
        self._check_memory()
        if self._is_late():
            self._stop_all()

    def _stop(self, flight: Flight, state: str, message: str) -> None:
        flight.kill()
        self._end(flight, state, message)

    def _end(self, flight: Flight, state: str, message: str) -> None:
        self._longest = max(self._longest, flight.seconds)
        self._closing = self._closing or state == sweep_folder.STOPPED
        del self._flights[flight.run.id]
        record = self._note(flight.run, state, round(flight.seconds, 2), message)
        if self.search:
            self.search.ended(flight.run, record)

    def _check_memory(self) -> None:
        """Stop the run with the most memory if it exceeds its limit or the machine's memory."""
        if not self._flights:
            return
        sizes = {id: processes.usage(flight.child.pid)[0] for id, flight in self._flights.items()}
        flight = self._flights[max(sizes, key=sizes.__getitem__)]
        size = max(sizes.values())
        limit = self.sweep.memory
        machine = machine_bytes()
        available = psutil.virtual_memory().available
        self._peak = max(self._peak, size)
        if limit and size > 1e9 * limit:
            bound = f"its limit of {limit:g} GB"
        elif sum(sizes.values()) <= FULL * machine and available >= SPARE * machine:
            return
        elif len(sizes) > 1:
            self.workers = 1  # the memory may be too small for two, but large enough for one
            self._put_back(flight)
            return
        else:
            bound = "this machine has available"
        message = f"stopped at {size / 1e9:.1f} GB of memory, more than {bound}"
        self._stop(flight, sweep_folder.FAILED, message)

    def _put_back(self, flight: Flight) -> None:
        """Repeat a run later in this sweep."""
        flight.kill()
        del self._flights[flight.run.id]
        self._note(flight.run, sweep_folder.PENDING)
        self._again.append(flight.run)

    def _stop_all(self) -> None:
        """End the active runs, which will be repeated."""
        flights = list(self._flights.values())
        self._flights = {}
        for flight in flights:
            flight.kill()
        for flight in flights:
            self._note(flight.run, sweep_folder.PENDING)

    def _note(
        self, run: PlannedRun, state: str, seconds: float | None = None, error: str = ""
    ) -> Record:
        record = self.folder.write(run.id, Record(state, run.overrides, seconds, error))
        self.tell(run, record)
        return record


def _outcome(folder: Path, run: PlannedRun) -> tuple[str, str]:
    """The state and the message of a run that ended by itself."""
    if (folder / ERROR).is_file():
        return sweep_folder.FAILED, (folder / ERROR).read_text("utf-8").strip()
    written = Metrics.of_run(folder)
    if written.is_damaged:
        return sweep_folder.FAILED, f"its {run_folder.METRICS} cannot be read"
    if written.is_out_of_time and not run.overrides.get(TIME_LIMIT):
        message = "ended early with the scores it had, before the end of its session"
        return sweep_folder.STOPPED, message
    return sweep_folder.DONE, ""


def machine_bytes() -> int:
    """The usable memory in bytes: the machine's, or a container's limit if that is lower."""
    total = int(psutil.virtual_memory().total)
    with contextlib.suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text("utf-8")))
    return total
