"""The sweep inside a Kaggle session: what an earlier one did is taken over, the rest run in turn.

This rides in the pushed notebook, without any client. It stops by its own clock: Kaggle kills
a session at its limit and keeps nothing of it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.sweep.config.specification import PlannedRun
from kernelkit.sweep.report.preview import expected_seconds
from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import Record, SweepFolder
from kernelkit.sweep.workers.engine import Engine, Listed, WorkerLimits
from kernelkit.sweep.workers.launching import launcher

FOLDER = "sweep"  # of the session's output: the runs
INPUT_ROOT = "KERNELKIT_INPUT_ROOT"  # where a rehearsal has /kaggle/input


def run_in_session(carried: Mapping[str, Any], minutes: float, accelerator: str = "auto") -> None:
    """Run what is left of a sweep for at most so many minutes (0 = no limit).

    `carried` is what `kernelkit.sweep.backends.on_kaggle` packed. What is in flight when the time
    is up stays pending; a run that fails is told and stops nothing.
    """
    begun = time.monotonic()
    os.environ[project.SHOWN] = carried["shown"]  # read by the runs' processes
    folder = SweepFolder(Path.cwd() / FOLDER)
    runs = [PlannedRun(one["id"], one["given"], one["given"]) for one in carried["runs"]]
    taken = take_over(folder, runs, Path(os.environ.get(INPUT_ROOT, "/kaggle/input")))
    if taken:
        print(f"{taken} runs were done in an earlier session", flush=True)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        notebook = files.write_text(Path(scratch) / "notebook.ipynb", carried["notebook"])
        ended = (records.DONE, records.FAILED, records.TIMEOUT)
        left = [run for run in runs if folder.record(run).state not in ended]
        stop_at = begun + 60 * minutes if minutes else 0.0
        limits = WorkerLimits(carried["workers"], carried["seconds"], carried["bytes"], stop_at)
        starter = launcher((), Path(scratch) / "imports.log")

        def request(run: PlannedRun) -> dict[str, Any]:
            values = dict(run.given)
            if carried["takes_accelerator"] and values.get("accelerator", "auto") == "auto":
                values["accelerator"] = accelerator
            place = folder.run_folder(run)
            return {"notebook": str(notebook), "values": values, "folder": str(place),
                    "report": carried["report"]}  # fmt: skip

        def tell(run: PlannedRun, record: Record) -> None:
            message = parameters_line(run)
            print(f"{record.state:8} {run.id}  {message}  {record.reason}".rstrip(), flush=True)
            if record.state == records.DONE:
                _leave_metrics(folder.run_folder(run))

        longest = expected_seconds([folder.record(run) for run in runs])
        try:
            Engine(folder, starter, limits, request, tell).work(Listed(left), longest)
        finally:
            starter.close()
    states = [folder.record(run).state for run in runs]
    print(f"{states.count(records.DONE)} of {len(runs)} runs done", flush=True)


def take_over(folder: SweepFolder, runs: list[PlannedRun], inputs: Path) -> int:
    """Copy the runs that an attached earlier output has done; returns how many."""
    wanted = {run.id: run for run in runs}
    taken = 0
    for state in sorted(inputs.rglob(f"{FOLDER}/*/{records.STATE}")) if inputs.is_dir() else ():
        run = wanted.pop(state.parent.name, None)
        if run and SweepFolder(state.parent.parent).record(run).state == records.DONE:
            shutil.copytree(state.parent, folder.run_folder(run), dirs_exist_ok=True)
            taken += 1
    return taken


def parameters_line(run: PlannedRun) -> str:
    """What a run sets, on a line."""
    return " ".join(f"{name}={value}" for name, value in run.given.items())


def _leave_metrics(folder: Path) -> None:
    """The last run's metrics as the session's, so that the desk can check its machine."""
    metrics = folder / "metrics.json"
    if metrics.is_file():
        found = json.loads(metrics.read_text(encoding="utf-8"))
        kept = {name: found[name] for name in ("device",) if name in found}
        files.write_text(Path.cwd() / "metrics.json", json.dumps(kept) + "\n")
