"""Runs in flight: as many at a time as asked for, as far as memory allows."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil  # type: ignore[import-untyped]

from kernelkit.run_folders.run_folder import OUT_OF_TIME
from kernelkit.sweep import records
from kernelkit.sweep.records import Record, SweepFolder
from kernelkit.sweep.specification import PlannedRun
from kernelkit.sweep.workers.launchers import Launcher, RunProcess

TIME_LIMIT = "time_limit"  # the parameter with which a run bounds itself
POLL_SECONDS = 0.1  # between looks at the runs in flight
MEMORY_SECONDS = 0.5  # between looks at their memory
ATTEMPTS = 3  # of a run that ends because the process that had started it did
FULL = 0.85  # share of the machine's memory that runs may hold together
SPARE = 0.04  # share of it that must be free, whichever process holds the rest

Request = Callable[[PlannedRun], Mapping[str, Any]]
Tell = Callable[[PlannedRun, Record], None]


class RunSource(Protocol):
    """The source of runs: a list known beforehand, or a search that learns from finished runs."""

    def next(self) -> PlannedRun | None:
        """The next run to start, None when there is none for now."""
        return None

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Hear how a run that was handed out ended."""
        return

    def hopeless(self, run: PlannedRun) -> str:
        """The reason to stop a run in flight, from the files it has written so far; "" to go on."""
        return ""


class Listed(RunSource):
    """Runs in a given order."""

    def __init__(self, runs: Iterable[PlannedRun]) -> None:
        self._runs = iter(runs)

    def next(self) -> PlannedRun | None:
        """The next in order."""
        return next(self._runs, None)


@dataclass(frozen=True)
class WorkerLimits:
    """The limits of runs: `seconds` and `bytes` for each (0 = any), and `stop_at` for all.

    `stop_at` is a `time.monotonic()`, 0 for none; runs in flight at that time become pending.
    """

    workers: int = 1
    seconds: float = 0.0
    bytes: int = 0
    stop_at: float = 0.0


class Flight(NamedTuple):
    """A run in flight."""

    run: PlannedRun
    process: RunProcess
    record: Record


class Engine:
    """Starts runs, watches them and writes down how each ended."""

    def __init__(
        self,
        folder: SweepFolder,
        launcher: Launcher,
        limits: WorkerLimits,
        request: Request,
        tell: Tell,
    ) -> None:
        self.folder, self.launcher, self.limits = folder, launcher, limits
        self.request, self.tell = request, tell
        self.workers = limits.workers
        self._flights: dict[str, Flight] = {}
        self._again: deque[PlannedRun] = deque()
        self._longest, self._peak, self._measured = 0.0, 0, 0.0
        self._lost: Counter[str] = Counter()
        self._closing = False  # the session's time is up for one run, so that none is begun

    def work(self, source: RunSource, longest: float = 0.0) -> None:
        """Run all that `source` gives; `longest`: seconds that a run took before.

        However this ends, no process is left and no run is in the state `running`.
        """
        self._source, self._longest = source, longest
        try:
            while True:
                while self._has_room() and (run := self._next()):
                    self._start(run)
                if not self._flights:
                    return
                time.sleep(POLL_SECONDS)
                self._look()
        finally:
            self._stop_all()

    def _next(self) -> PlannedRun | None:
        return self._again.popleft() if self._again else self._source.next()

    def _has_room(self) -> bool:
        """Whether one more run may start: a worker free, memory for it, and time enough."""
        stop_at = self.limits.stop_at
        if self._closing or (stop_at and time.monotonic() + self._longest >= stop_at):
            return False
        fits = len(self._flights) < self.workers and available_bytes() > 1.1 * self._peak
        return fits or not self._flights

    def _start(self, run: PlannedRun) -> None:
        earlier = self.folder.record(run)
        cut_off = earlier.state in (records.PENDING, records.RUNNING, records.STOPPED)
        self.folder.clear(run, keep=[records.CHECKPOINTS] if cut_off else ())
        record = Record(records.RUNNING, dict(run.given), attempts=earlier.attempts + 1)
        self._note(run, record)
        try:
            child = self.launcher.start(self.request(run))
        except BaseException:
            self._note(run, replace(record, state=records.PENDING))
            raise
        self._flights[run.id] = Flight(run, RunProcess(child, self.folder.run_folder(run)), record)

    def _look(self) -> None:
        for flight in list(self._flights.values()):
            run, process, _ = flight
            seconds, code = self.limits.seconds, process.child.poll()
            if code is not None and process.lost and self._lost[run.id] < ATTEMPTS - 1:
                self._lost[run.id] += 1
                process.kill()  # it may outlive the process that had started it by a moment
                self._put_back(flight)
            elif code is not None:
                self._end(flight, *_outcome(run, process, code))
            elif seconds and process.seconds > seconds:
                process.kill()
                message = f"stopped after {seconds / 60:g} minutes, its time limit"
                self._end(flight, records.TIMEOUT, message)
            elif message := self._source.hopeless(run):
                process.kill()
                self._end(flight, records.PRUNED, message)
        self._check_memory()
        if self.limits.stop_at and time.monotonic() >= self.limits.stop_at:
            self._stop_all()

    def _end(self, flight: Flight, state: str, message: str = "") -> None:
        run, process, record = flight
        self._longest = max(self._longest, process.seconds)
        self._closing = self._closing or state == records.STOPPED
        del self._flights[run.id]
        record = replace(
            record,
            state=state,
            error=message,
            seconds=round(process.seconds, 2),
            peak_bytes=process.peak_bytes,
        )
        self._note(run, record)
        self._source.ended(run, record)

    def _check_memory(self) -> None:
        """Stop the run with the most memory if it takes more than it may, or than there is."""
        if time.monotonic() - self._measured < MEMORY_SECONDS or not self._flights:
            return
        self._measured = time.monotonic()
        held = {id: flight.process.memory() for id, flight in self._flights.items()}
        biggest = max(held, key=lambda id: held[id])
        flight, limit, machine = self._flights[biggest], self.limits.bytes, machine_bytes()
        self._peak = max(self._peak, held[biggest])
        over = bool(limit) and held[biggest] > limit
        if over:
            bound = f"the {limit / 1e9:g} GB it may take"
        elif sum(held.values()) > FULL * machine or available_bytes() < SPARE * machine:
            bound = "this machine bears"
        else:
            return
        flight.process.kill()
        if not over and len(self._flights) > 1:
            # Too much for two at a time is not yet too much for one.
            self.workers = 1
            self._put_back(flight)
            return
        size = f"{held[biggest] / 1e9:.1f} GB"
        self._end(flight, records.FAILED, f"stopped at {size} of memory, more than {bound}")

    def _put_back(self, flight: Flight) -> None:
        del self._flights[flight.run.id]
        self._note(flight.run, replace(flight.record, state=records.PENDING))
        self._again.append(flight.run)

    def _stop_all(self) -> None:
        """End the runs in flight; they will be run again."""
        flights, self._flights = list(self._flights.values()), {}
        for flight in flights:
            flight.process.kill()
        for run, _, record in flights:
            self._note(run, replace(record, state=records.PENDING))

    def _note(self, run: PlannedRun, record: Record) -> None:
        self.folder.write(run, record)
        self.tell(run, record)


def _outcome(run: PlannedRun, process: RunProcess, code: int) -> tuple[str, str]:
    """The state and the message of a run that ended by itself."""
    if code:
        return records.FAILED, process.error(code)
    metrics = process.folder / "metrics.json"
    try:
        values = json.loads(metrics.read_text()) if metrics.is_file() else {}
        stopped = values.get("stopped") == OUT_OF_TIME
    except (OSError, ValueError, AttributeError):
        return records.FAILED, f"it left a {metrics.name} that cannot be read"
    if stopped and not run.given.get(TIME_LIMIT):
        message = "ended early with the scores it had, in time for its session's end"
        return records.STOPPED, message
    return records.DONE, ""


def machine_bytes() -> int:
    """The memory that may be used: the machine's, or a container's limit where that is less."""
    total = int(psutil.virtual_memory().total)
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(file).read_text()))
    return total


def available_bytes() -> int:
    """The memory that could be had at this moment."""
    return int(psutil.virtual_memory().available)
