"""A sweep's folder: one folder per run, with its state in a file that is written atomically.

    runs/<sweep>/sweep.json            which sweep the folder belongs to
    runs/<sweep>/<id>/state.json       {"state": "done", "seconds": 31.2, …}
    runs/<sweep>/results.csv, results.json, index.html
    runs/<sweep>/kaggle/session-1/     what a session left besides its runs; rehearsal/ if rehearsed

Only the process that holds the lock writes states; a session has its folder to itself. A run that
is `running` when the lock is acquired was in progress when its sweep died; it is repeated.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernelkit import files, typed
from kernelkit.errors import ParameterError
from kernelkit.notebook.interface.values import for_json
from kernelkit.sweep.planning.specification import PlannedRun

VERSION = 2  # the format of a sweep's folder
PENDING, RUNNING, DONE, FAILED, TIMEOUT = "pending", "running", "done", "failed", "timeout"
PRUNED = "pruned"  # stopped by a search because it was behind the others
STOPPED = "stopped"  # by its session's clock, with scores; the next session continues it
ENDED_BADLY = (FAILED, TIMEOUT)
ENDED = (DONE, PRUNED, *ENDED_BADLY)
UNFINISHED = (PENDING, RUNNING, STOPPED)
WITH_RESULTS = (*ENDED, STOPPED)
SWEEP, STATE, LOCK = "sweep.json", "state.json", ".lock"
CHECKPOINTS = "checkpoints"  # in a run folder: an interrupted run continues from these
_RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt)\b")


@dataclass(frozen=True)
class Record:
    """The state of a run, with its wall time in `seconds`."""

    state: str = PENDING
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    error: str = ""


def reason(error: str) -> str:
    """The error of a run as one line: the last line of a traceback, or else the first line."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    return (raised[-1:] or lines or [""])[0]


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class SweepFolder:
    """The folder of one sweep, in which a run is known by its id, `PlannedRun.id`."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def run_folder(self, id: str) -> Path:
        """The folder for a run's files."""
        return self.path / id

    def record(self, id: str) -> Record:
        """The state of a run; a run with a damaged state counts as never started."""
        written = typed.read_whole(Record, files.read_object(self.run_folder(id) / STATE))
        if written is None or written.state not in (*ENDED, *UNFINISHED):
            return Record()
        return written

    def write(self, id: str, record: Record) -> Record:
        """Write the state of a run; raises `OSError` if the disk is full."""
        held = {**asdict(record), "parameters": for_json(record.parameters)}
        text = json.dumps(held, indent=1) + "\n"
        files.write_text(self.run_folder(id) / STATE, text)
        return record

    def remaining(self, runs: Iterable[PlannedRun], retry_failed: bool) -> list[PlannedRun]:
        """The runs to make: those that have not ended, and with a retry those that failed."""
        ended = set(ENDED) - set(ENDED_BADLY if retry_failed else ())
        return [run for run in runs if self.record(run.id).state not in ended]

    def recorded(self) -> Iterator[tuple[str, Record]]:
        """The ids and states of the runs in this folder, of whatever sweep, sorted by id."""
        for file in sorted(self.path.glob(f"*/{STATE}")):
            id = file.parent.name
            yield id, self.record(id)

    def clear(self, id: str, keep: Iterable[str] = ()) -> None:
        """Remove an earlier attempt's files, which must not be mistaken for this one's.

        Those named in `keep` stay.
        """
        folder = self.run_folder(id)
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name not in keep:
                remove(path)

    def take_over(
        self,
        other: SweepFolder,
        ids: Container[str] | None,
        copy: Callable[[str, str], object] = shutil.copy2,
        *,
        again: bool = False,
    ) -> list[str]:
        """Copy the runs with results from another folder; if `ids` are given, no others than these.

        `copy` copies or moves a file. A run whose record is here already is only copied `again`:
        one that was forced may have taken as many seconds as before. Returns the ids of the copies.
        """
        copied = []
        for id, record in other.recorded():
            named = ids is None or id in ids
            new = again or self.record(id) != record
            if named and record.state in WITH_RESULTS and new:
                self.clear(id)
                shutil.copytree(
                    other.run_folder(id),
                    self.run_folder(id),
                    ignore=shutil.ignore_patterns(STATE),  # without it, the run counts as not done
                    copy_function=copy,
                    dirs_exist_ok=True,
                )
                self.write(id, record)
                copied.append(id)
        return copied

    def claim(self, name: str, varying: Iterable[str] = ()) -> None:
        """Mark the folder as this sweep's, whose runs differ in the parameters `varying`.

        Raises `ParameterError` if it has another sweep, another version's sweep, or other files.
        """
        marker = self.path / SWEEP
        if not marker.is_file() and not files.is_unused(self.path, (LOCK,)):
            raise self._not_this_sweeps("has files that no sweep wrote")
        # A damaged marker does no harm: each run has its own state file.
        content = {"version": VERSION, "name": name} | files.read_object(marker)
        if content["name"] != name:
            raise self._not_this_sweeps(f"has the sweep {content['name']!r}")
        if content["version"] != VERSION:
            raise self._not_this_sweeps("was written by another version of the kit")
        files.write_text(marker, json.dumps(content | {"varying": [*varying]}) + "\n")

    def _not_this_sweeps(self, reason: str) -> ParameterError:
        return ParameterError(f"{self.path} {reason}: choose another folder with --output")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other sweeps, at most until this process ends.

        Raises `ParameterError` at once if another process holds the lock.
        """
        with files.try_lock(files.make_folder(self.path) / LOCK) as free:
            if not free:
                raise ParameterError(
                    f"{self.path} is being written by another sweep: wait for it, or choose "
                    "another folder with --output"
                )
            files.clear_half_written(self.path)
            yield
