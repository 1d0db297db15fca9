"""A sweep's folder: one folder per run, with its state in a file that is written atomically.

    runs/<sweep>/sweep.json            which sweep the folder belongs to
    runs/<sweep>/<id>/state.json       {"version": 1, "state": "done", "seconds": 31.2, …}
    runs/<sweep>/results.csv, results.json, index.html

Only the process that holds the lock writes states. A run that is `running` when the lock is
acquired was in progress when its sweep died; it is repeated.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.sweep.specification import PlannedRun

VERSION = 1
PENDING, RUNNING, DONE, FAILED, TIMEOUT = "pending", "running", "done", "failed", "timeout"
PRUNED = "pruned"  # stopped by a search because it was behind the others
STOPPED = "stopped"  # by its session's clock, with scores; the next session continues it
STATES = (PENDING, RUNNING, DONE, FAILED, TIMEOUT, PRUNED, STOPPED)
ENDED = (DONE, PRUNED, FAILED, TIMEOUT)
ENDED_BADLY = (FAILED, TIMEOUT)
_RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt)\b")
SWEEP, STATE = "sweep.json", "state.json"
LOCK, HOLDER = ".lock", ".holder"  # the second names the process that holds the first
DAMAGE = (OSError, ValueError, TypeError, KeyError, AttributeError)  # of a truncated file
CHECKPOINTS = "checkpoints"  # in a run folder: an interrupted run continues from these


@dataclass(frozen=True)
class Record:
    """The state of a run, with its wall time in `seconds` and its peak memory in bytes."""

    state: str = PENDING
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    error: str = ""
    attempts: int = 0
    peak_bytes: int = 0

    @property
    def reason(self) -> str:
        """Its error as one line: the last line of a traceback, or else the first line."""
        lines = [line.strip() for line in self.error.splitlines() if line.strip()]
        raised = [line for line in lines if _RAISED.match(line)]
        return (raised[-1:] or lines or [""])[0]


class SweepFolder:
    """The folder of one sweep; `damaged` are the ids of runs whose state could not be read."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.damaged: set[str] = set()

    def run_folder(self, run: PlannedRun) -> Path:
        """The folder for a run's files."""
        return self.path / run.id

    def requests(
        self, notebook: Path, report: bool, accelerator: str = ""
    ) -> Callable[[PlannedRun], dict[str, Any]]:
        """A function that returns the request for the process of a run.

        `report`: whether it should write a report.html. `accelerator`: the machine that a run must
        have if its own parameter `accelerator` accepts any.
        """

        def request(run: PlannedRun) -> dict[str, Any]:
            any_machine = accelerator and run.values.get("accelerator") == "auto"
            return {
                "notebook": str(notebook),
                "values": {
                    **run.overrides,
                    **({"accelerator": accelerator} if any_machine else {}),
                },
                "folder": str(self.run_folder(run).resolve()),
                "report": report,
            }

        return request

    def record(self, run: PlannedRun) -> Record:
        """The state of a run; a run with a damaged state counts as never started.

        Raises `ParameterError` if it was written by another version of the kit.
        """
        file = self.run_folder(run) / STATE
        if file.is_file():
            with contextlib.suppress(*DAMAGE):
                values = _read(file)
                if values["state"] in STATES:
                    return Record(**values)
            self.damaged.add(run.id)
        return Record(parameters=dict(run.overrides))

    def write(self, run: PlannedRun, record: Record) -> Record:
        """Write the state of a run; raises `OSError` if the disk is full."""
        text = json.dumps({"version": VERSION, **asdict(record)}, indent=1) + "\n"
        files.write_text(self.run_folder(run) / STATE, text)
        return record

    def recorded(self) -> Iterator[tuple[PlannedRun, Record]]:
        """The runs with states in this folder, of whatever sweep, sorted by id."""
        for file in sorted(self.path.glob(f"*/{STATE}")):
            run = PlannedRun(file.parent.name, {}, {})
            yield run, self.record(run)

    def clear(self, run: PlannedRun, keep: Iterable[str] = ()) -> None:
        """Remove an earlier attempt's files, which must not be mistaken for this one's.

        The state and the files named in `keep` are kept.
        """
        folder = self.run_folder(run)
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name not in (STATE, *keep):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def forget(self, run: PlannedRun) -> None:
        """Remove the checkpoints from which an interrupted run would continue."""
        shutil.rmtree(self.run_folder(run) / CHECKPOINTS, ignore_errors=True)

    def claim(self, name: str, notebook: str, varying: Sequence[str] = ()) -> None:
        """Mark the folder as this sweep's, whose runs differ in the parameters `varying`.

        Raises `ParameterError` if it has another sweep, another version's sweep, or other files.
        """
        marker, owner = self.path / SWEEP, name
        if marker.is_file():
            # A damaged marker does no harm: each run has its own state file.
            with contextlib.suppress(*DAMAGE):
                owner = _read(marker)["name"]
            if owner != name:
                raise ParameterError(
                    f"{self.path} has the sweep {owner!r}: choose another folder with --output"
                )
        elif not files.is_unused(self.path, (LOCK, HOLDER)):
            raise ParameterError(
                f"{self.path} has files that are not a sweep's: choose another folder with --output"
            )
        facts = {
            "version": VERSION,
            "name": name,
            "notebook": notebook,
            "varying": list(varying),
        }
        files.write_text(marker, json.dumps(facts) + "\n")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other sweeps, at most until this process ends.

        Raises `ParameterError` at once if another process holds the lock.
        """
        holder = files.make_folder(self.path) / HOLDER
        with files.try_lock(self.path / LOCK) as free:
            if not free:
                process = holder.read_text() if holder.is_file() else "unknown"
                raise ParameterError(
                    f"{self.path} is being written by another sweep (process {process}): wait for "
                    "it, or choose another folder with --output"
                )
            files.write_text(holder, str(os.getpid()))
            yield


def expected_seconds(earlier: Iterable[Record]) -> float:
    """The mean time of the finished runs in seconds; 0 if there is none."""
    times = [record.seconds for record in earlier if record.state == DONE and record.seconds]
    return statistics.fmean(times) if times else 0.0


def _read(file: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if (version := values.pop("version", "unknown")) != VERSION:
        raise ParameterError(
            f"{file} was written by another version of the kit (format {version}, not {VERSION}): "
            "choose another folder with --output"
        )
    return values
