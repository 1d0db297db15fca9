"""Runs in flight: as many at a time as asked for, as far as memory allows."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kernelkit.run_folders.run_folder import OUT_OF_TIME
from kernelkit.sweep.config.specification import PlannedRun
from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import Record, SweepFolder
from kernelkit.sweep.workers import processes
from kernelkit.sweep.workers.processes import Launcher, RunProcess

TIME_LIMIT = "time_limit"  # the parameter with which a run bounds itself
POLL_SECONDS = 0.1  # seconds between looks at the runs in flight
MEMORY_GLANCE = 0.5
ATTEMPTS = 3  # of a run that ends because the process that had started it did
FULL = 0.85  # share of the machine's memory that runs may hold together
SPARE = 0.04  # share of it that must be free, whichever process holds the rest

Request = Callable[[PlannedRun], Mapping[str, Any]]
Tell = Callable[[PlannedRun, Record], None]


class RunSource(Protocol):
    """The source of runs: a list known beforehand, or a search that learns from finished runs."""

    def next(self) -> PlannedRun | None:
        """The next run to start, None when there is none for now."""

    def ended(self, run: PlannedRun, record: Record) -> None:
        """How a run that was handed out ended."""

    def hopeless(self, run: PlannedRun) -> str:
        """The reason to stop a run in flight, from the files it has written so far; "" to go on."""


class Listed:
    """Runs in a given order."""

    def __init__(self, runs: Iterable[PlannedRun]) -> None:
        self._left = deque(runs)

    def next(self) -> PlannedRun | None:
        """The next in order."""
        return self._left.popleft() if self._left else None

    def ended(self, run: PlannedRun, record: Record) -> None:
        """Nothing is learnt from it."""

    def hopeless(self, run: PlannedRun) -> str:
        """Never."""
        return ""


@dataclass(frozen=True)
class WorkerLimits:
    """The limits of runs: `seconds` and `bytes` for each (0 = any), and `stop_at` for all.

    `stop_at` is a `time.monotonic()`, 0 for none; runs in flight at that time become pending.
    """

    workers: int = 1
    seconds: float = 0.0
    bytes: int = 0
    stop_at: float = 0.0


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
        self._flight: dict[str, tuple[PlannedRun, RunProcess, Record]] = {}
        self._again: deque[PlannedRun] = deque()
        self._longest, self._peak, self._weighed = 0.0, 0, 0.0
        self._lost: Counter[str] = Counter()
        self._closing = False  # the session's time is up for one run, so that none is begun

    def work(self, source: RunSource, longest: float = 0.0) -> None:
        """Run all that `source` gives; `longest`: seconds that a run is known to take.

        However this ends, no process is left and no run is in the state `running`.
        """
        self._longest = longest
        try:
            while True:
                while self._room() and (run := self._next(source)):
                    self._start(run)
                if not self._flight:
                    return
                time.sleep(POLL_SECONDS)
                self._look(source)
        finally:
            self._stop_all()

    def _next(self, source: RunSource) -> PlannedRun | None:
        return self._again.popleft() if self._again else source.next()

    def _room(self) -> bool:
        """Whether one more run may start: a worker free, memory for it, and time enough."""
        if self._closing:
            return False
        if self.limits.stop_at and time.monotonic() + self._longest >= self.limits.stop_at:
            return False
        if not self._flight:
            return True
        fits = processes.available_bytes() > 1.1 * self._peak
        return len(self._flight) < self.workers and fits

    def _start(self, run: PlannedRun) -> None:
        earlier = self.folder.record(run)
        cut_off = earlier.state in (records.PENDING, records.RUNNING, records.STOPPED)
        self.folder.clear(run, keep=records.RESUMED if cut_off else ())
        record = Record(records.RUNNING, dict(run.given), attempts=earlier.attempts + 1)
        self._note(run, record)
        try:
            child = self.launcher.start(self.request(run))
        except BaseException:
            self._note(run, replace(record, state=records.PENDING))
            raise
        process = RunProcess(child, self.folder.run_folder(run))
        self._flight[run.id] = (run, process, record)

    def _look(self, source: RunSource) -> None:
        self._sample_memory()
        for run, process, record in list(self._flight.values()):
            code = process.poll()
            if code is not None and process.lost and self._lost[run.id] < ATTEMPTS - 1:
                self._lost[run.id] += 1
                process.kill()  # it may outlive the process that had started it by a moment
                self._put_back(run, record)
            elif code is not None:
                self._end(source, run, process, self._outcome(run, process, record, code))
            elif self.limits.seconds and process.seconds > self.limits.seconds:
                process.kill()
                message = f"stopped after {self.limits.seconds / 60:g} minutes, its time limit"
                self._end(
                    source, run, process, replace(record, state=records.TIMEOUT, error=message)
                )
            elif message := source.hopeless(run):
                process.kill()
                self._end(
                    source, run, process, replace(record, state=records.PRUNED, error=message)
                )
        self._enforce_memory(source)
        if self.limits.stop_at and time.monotonic() >= self.limits.stop_at:
            self._stop_all()

    def _outcome(self, run: PlannedRun, process: RunProcess, record: Record, code: int) -> Record:
        if code:
            return replace(record, state=records.FAILED, error=process.error(code))
        metrics = process.folder / "metrics.json"
        try:
            values = json.loads(metrics.read_text()) if metrics.is_file() else {}
        except (OSError, ValueError):
            values = None
        if not isinstance(values, dict):
            message = f"it left a {metrics.name} that cannot be read"
            return replace(record, state=records.FAILED, error=message)
        if values.get("stopped") == OUT_OF_TIME and not run.given.get(TIME_LIMIT):
            message = "ended early with the scores it had, in time for its session's end"
            return replace(record, state=records.STOPPED, error=message)
        return replace(record, state=records.DONE)

    def _end(self, source: RunSource, run: PlannedRun, process: RunProcess, record: Record) -> None:
        self._longest = max(self._longest, process.seconds)
        self._closing = self._closing or record.state == records.STOPPED
        del self._flight[run.id]
        seconds, peak = round(process.seconds, 2), process.peak_bytes
        record = replace(record, seconds=seconds, peak_bytes=peak)
        self._note(run, record)
        source.ended(run, record)

    def _sample_memory(self) -> None:
        if time.monotonic() - self._weighed < MEMORY_GLANCE:
            return
        self._weighed = time.monotonic()
        for _, process, _ in self._flight.values():
            self._peak = max(self._peak, process.memory())

    def _enforce_memory(self, source: RunSource) -> None:
        """Stop a run that takes more memory than it may, or than there is."""
        if time.monotonic() - self._weighed > POLL_SECONDS or not self._flight:
            return
        held = {id: process.memory() for id, (_, process, _) in self._flight.items()}
        biggest = max(held, key=lambda id: held[id])
        run, process, record = self._flight[biggest]
        machine = processes.machine_bytes()
        over = bool(self.limits.bytes) and held[biggest] > self.limits.bytes
        short = sum(held.values()) > FULL * machine
        short = short or processes.available_bytes() < SPARE * machine
        if not over and not short:
            return
        process.kill()
        size = f"{held[biggest] / 1e9:.1f} GB"
        if not over and len(self._flight) > 1:
            # Too much for two at a time is not yet too much for one.
            self.workers = 1
            self._put_back(run, record)
            return
        bound = f"the {self.limits.bytes / 1e9:g} GB it may" if over else "this machine bears"
        message = f"stopped at {size} of memory, more than {bound}"
        self._end(source, run, process, replace(record, state=records.FAILED, error=message))

    def _put_back(self, run: PlannedRun, record: Record) -> None:
        del self._flight[run.id]
        self._note(run, replace(record, state=records.PENDING))
        self._again.append(run)

    def _stop_all(self) -> None:
        """End the runs in flight; they will be run again."""
        flight, self._flight = list(self._flight.values()), {}
        for _, process, _ in flight:
            process.kill()
        for run, _, record in flight:
            self._note(run, replace(record, state=records.PENDING))

    def _note(self, run: PlannedRun, record: Record) -> None:
        self.folder.write(run, record)
        self.tell(run, record)
