"""Execute runs: as many at a time as requested, as far as memory allows."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import psutil  # type: ignore[import-untyped]

from kernelkit.run_folders import run_folder
from kernelkit.sweep import records
from kernelkit.sweep.records import Record, SweepFolder
from kernelkit.sweep.specification import PlannedRun
from kernelkit.sweep.workers.launchers import Flight, Launcher

TIME_LIMIT = "time_limit"  # the parameter with which a run limits its own time
POLL_SECONDS = 0.1  # between polls of the active runs
MEMORY_SECONDS = 0.5  # between checks of their memory
ATTEMPTS = 3  # for a run that ends because the process that started it ended
FULL = 0.85  # share of the machine's memory that all runs may use together
SPARE = 0.04  # share of it that must stay free, whichever process uses the rest

Request = Callable[[PlannedRun], Mapping[str, Any]]
Tell = Callable[[PlannedRun, Record], None]


class RunSource(Protocol):
    """The source of runs: a list known beforehand, or a search that learns from finished runs."""

    def next(self) -> PlannedRun | None:
        """The next run to start; None if there is none for now."""
        return None

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Receive the result of a run from `next`."""
        return

    def hopeless(self, run: PlannedRun) -> str:
        """The reason to stop an active run, from the files it has written so far; "" for none."""
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
    """The limits of runs: `seconds` and `bytes` for each (0 = no limit), and `stop_at` for all.

    `stop_at` is a `time.monotonic()`, 0 for none; runs that are active then become pending.
    """

    workers: int = 1
    seconds: float = 0.0
    bytes: int = 0
    stop_at: float = 0.0


class Engine:
    """Starts runs, monitors them and records how each ended."""

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
        self._closing = False  # the session's time is up for one run, so that no other starts

    def work(self, source: RunSource, longest: float = 0.0) -> None:
        """Run everything that `source` provides; `longest`: the seconds of the longest earlier run.

        However this ends, no process remains and no run stays `running`.
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
            self.launcher.close()

    def _next(self) -> PlannedRun | None:
        return self._again.popleft() if self._again else self._source.next()

    def _has_room(self) -> bool:
        """Whether another run may start: with a free worker, enough memory and enough time."""
        stop_at = self.limits.stop_at
        if self._closing or (stop_at and time.monotonic() + self._longest >= stop_at):
            return False
        fits = len(self._flights) < self.workers and available_bytes() > 1.1 * self._peak
        return fits or not self._flights

    def _start(self, run: PlannedRun) -> None:
        earlier = self.folder.record(run)
        cut_off = earlier.state in (records.PENDING, records.RUNNING, records.STOPPED)
        self.folder.clear(run, keep=[records.CHECKPOINTS] if cut_off else ())
        record = Record(records.RUNNING, dict(run.overrides), attempts=earlier.attempts + 1)
        self._note(run, record)
        try:
            child = self.launcher.start(self.request(run))
        except BaseException:
            self._note(run, record, state=records.PENDING)
            raise
        self._flights[run.id] = Flight(run, record, child, self.folder.run_folder(run))

    def _look(self) -> None:
        limit = self.limits.seconds
        for flight in list(self._flights.values()):
            code = flight.child.poll()
            if code is not None and flight.lost and self._lost[flight.run.id] < ATTEMPTS - 1:
                self._lost[flight.run.id] += 1
                self._put_back(flight)  # it may briefly outlive the process that started it
            elif code is not None:
                self._end(flight, *_outcome(flight, code))
            elif limit and flight.seconds > limit:
                message = f"stopped after {limit / 60:g} minutes, its time limit"
                self._stop(flight, records.TIMEOUT, message)
            elif message := self._source.hopeless(flight.run):
                self._stop(flight, records.PRUNED, message)
        self._check_memory()
        if self.limits.stop_at and time.monotonic() >= self.limits.stop_at:
            self._stop_all()

    def _stop(self, flight: Flight, state: str, message: str) -> None:
        flight.kill()
        self._end(flight, state, message)

    def _end(self, flight: Flight, state: str, message: str = "") -> None:
        self._longest = max(self._longest, flight.seconds)
        self._closing = self._closing or state == records.STOPPED
        del self._flights[flight.run.id]
        record = self._note(
            flight.run,
            flight.record,
            state=state,
            error=message,
            seconds=round(flight.seconds, 2),
            peak_bytes=flight.peak_bytes,
        )
        self._source.ended(flight.run, record)

    def _check_memory(self) -> None:
        """Stop the run with the most memory if it exceeds its limit or the machine's."""
        if time.monotonic() - self._measured < MEMORY_SECONDS or not self._flights:
            return
        self._measured = time.monotonic()
        held = {id: flight.memory() for id, flight in self._flights.items()}
        flight = self._flights[max(held, key=held.__getitem__)]
        size, limit, machine = max(held.values()), self.limits.bytes, machine_bytes()
        self._peak = max(self._peak, size)
        if limit and size > limit:
            bound = f"its limit of {limit / 1e9:g} GB"
        elif sum(held.values()) <= FULL * machine and available_bytes() >= SPARE * machine:
            return
        elif len(held) > 1:
            self.workers = 1  # memory for two may be lacking, but one may still fit
            self._put_back(flight)
            return
        else:
            bound = "this machine has available"
        message = f"stopped at {size / 1e9:.1f} GB of memory, more than {bound}"
        self._stop(flight, records.FAILED, message)

    def _put_back(self, flight: Flight) -> None:
        flight.kill()
        del self._flights[flight.run.id]
        self._note(flight.run, flight.record, state=records.PENDING)
        self._again.append(flight.run)

    def _stop_all(self) -> None:
        """End the active runs, which will be repeated."""
        flights, self._flights = list(self._flights.values()), {}
        for flight in flights:
            flight.kill()
        for flight in flights:
            self._note(flight.run, flight.record, state=records.PENDING)

    def _note(self, run: PlannedRun, record: Record, **changes: Any) -> Record:
        record = self.folder.write(run, replace(record, **changes))
        self.tell(run, record)
        return record


def _outcome(flight: Flight, code: int) -> tuple[str, str]:
    """The state and the message of a run that ended by itself."""
    if code:
        return records.FAILED, flight.error(code)
    metrics = run_folder.metrics(flight.folder)
    if metrics is None and (flight.folder / run_folder.METRICS).is_file():
        return records.FAILED, f"its {run_folder.METRICS} cannot be read"
    out_of_time = (metrics or {}).get("stopped") == run_folder.OUT_OF_TIME
    if out_of_time and not flight.run.overrides.get(TIME_LIMIT):
        message = "ended early with the scores it had, before the end of its session"
        return records.STOPPED, message
    return records.DONE, ""


def machine_bytes() -> int:
    """The usable memory in bytes: the machine's, or a container's limit if that is lower."""
    total = int(psutil.virtual_memory().total)
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(file).read_text()))
    return total


def available_bytes() -> int:
    """The memory that is free at the moment, in bytes."""
    return int(psutil.virtual_memory().available)
