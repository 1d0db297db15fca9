"""The sweep inside a Kaggle session: it takes over earlier sessions' runs and runs the rest.

This rides in the pushed notebook, without any client. It stops by its own clock: Kaggle kills
a session at its limit and keeps nothing of it. Each run knows that clock too and ends early with
the scores it has; the next session goes on with it.

    sweep/<id>/        a run
    sweep/kept/        what runs keep for one another, while there are runs left
    sweep/search.db    the trials of a search
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.notebooks import document, parameters
from kernelkit.sweep import records, results
from kernelkit.sweep.records import Record, SweepFolder, expected_seconds
from kernelkit.sweep.specification import PlannedRun, Specification
from kernelkit.sweep.workers.engine import Engine, Listed, RunSource, WorkerLimits
from kernelkit.sweep.workers.launchers import launcher

FOLDER = "sweep"  # of the session's output: the runs
KEPT = "kept"
KEPT_VARIABLE = "KERNELKIT_KEPT"  # the environment variable with that folder
STORAGE = "search.db"
INPUT_ROOT = "KERNELKIT_INPUT_ROOT"  # where a rehearsal has /kaggle/input


def run_in_session(carried: Mapping[str, Any], minutes: float, accelerator: str = "auto") -> None:
    """Run what is left of a sweep for at most so many minutes (0 = no limit).

    `carried` is what `kernelkit.sweep.backends.session_kernel` packed. A run in flight when the
    time is up stays pending; a run that fails is reported and stops nothing.
    """
    begun = time.monotonic()
    os.environ[project.SHOWN] = carried["shown"]  # read by the runs' processes
    folder = SweepFolder(Path.cwd() / FOLDER)
    os.environ[KEPT_VARIABLE] = str(folder.path / KEPT)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        notebook = files.write_text(Path(scratch) / "notebook.ipynb", carried["notebook"])
        cell = document.parameters_cell(document.read(notebook)).source
        declared = parameters.declared(cell)
        sweep = Specification(notebook=notebook, declared=declared, **carried["sweep"])
        runs = [sweep.run(given) for given in carried["runs"]]
        inputs = Path(os.environ.get(INPUT_ROOT, "/kaggle/input"))
        if taken := take_over(folder, None if sweep.search else {run.id for run in runs}, inputs):
            print(f"{taken} runs were done in an earlier session", flush=True)
        source = _source(sweep, folder, runs, retry_failed=carried["retry_failed"])
        session = _Session(folder, sweep, carried["report"], accelerator)
        stop_at = begun + 60 * minutes if minutes else 0.0
        limits = WorkerLimits(  # one process at a time can use a session's accelerator
            1, 60 * sweep.time_limit, int(sweep.memory * 1e9), stop_at
        )
        starter = launcher((), Path(scratch) / "imports.log")
        try:
            longest = expected_seconds(map(folder.record, runs))
            Engine(folder, starter, limits, session.request, session.tell).work(source, longest)
        finally:
            starter.close()
    states = [folder.record(run).state for run in runs]
    total = sweep.search["trials"] if sweep.search else len(runs)
    print(f"{states.count(records.DONE)} of {total} runs done", flush=True)
    if sum(state in records.ENDED for state in states) >= total:
        shutil.rmtree(folder.path / KEPT, ignore_errors=True)  # no later session needs them


@dataclass(frozen=True)
class _Session:
    """What the engine asks and tells."""

    folder: SweepFolder
    sweep: Specification
    report: bool
    accelerator: str

    def request(self, run: PlannedRun) -> dict[str, Any]:
        request = self.folder.request(run, self.sweep.notebook, self.report)
        if run.values.get("accelerator") == "auto":
            request["values"]["accelerator"] = self.accelerator
        return request

    def tell(self, run: PlannedRun, record: Record) -> None:
        values = " ".join(f"{name}={value}" for name, value in run.given.items())
        print(f"{record.state:8} {run.id}  {values}  {record.reason}".rstrip(), flush=True)
        if record.state in (records.DONE, records.STOPPED):
            _leave_metrics(self.folder.run_folder(run))
            _keep_best(self.sweep, self.folder)


def _source(
    sweep: Specification, folder: SweepFolder, runs: list[PlannedRun], *, retry_failed: bool
) -> RunSource:
    """The runs that are left, or the search, which adds its own to `runs`."""
    if sweep.search:
        from kernelkit.sweep.search import Search

        return Search(sweep, folder, runs, retry_failed=retry_failed)
    return Listed([run for run in runs if folder.record(run).state not in records.ENDED])


def take_over(folder: SweepFolder, wanted: set[str] | None, inputs: Path) -> int:
    """Copy what an attached earlier output has of this sweep; returns how many runs.

    Of a list of runs these are the `wanted` ones that are done; of a search (`wanted` is None), its
    trials and every run that has ended. Files that runs keep for one another are copied too.
    """
    taken, states = 0, records.ENDED if wanted is None else (records.DONE,)
    for place in sorted(inputs.rglob(FOLDER)) if inputs.is_dir() else ():
        for run, record in SweepFolder(place).recorded():
            target = folder.run_folder(run)
            is_own = wanted is None or run.id in wanted
            if is_own and record.state in states and not target.exists():
                shutil.copytree(place / run.id, target)
                taken += 1
        if (place / KEPT).is_dir():
            shutil.copytree(place / KEPT, folder.path / KEPT, dirs_exist_ok=True)
        trials = folder.path / STORAGE
        if wanted is None and (place / STORAGE).is_file() and not trials.exists():
            files.make_folder(folder.path)
            shutil.copyfile(place / STORAGE, trials)
    return taken


def of_search(folder: SweepFolder, sweep: Specification) -> Iterator[PlannedRun]:
    """The runs in a folder that are points of this search, in the order of their names."""
    names = {*sweep.base, *sweep.search["space"]}
    for recorded, record in folder.recorded():
        if set(record.parameters) == names:
            run = sweep.run(record.parameters)
            if run.id == recorded.id:
                yield run


def _keep_best(sweep: Specification, folder: SweepFolder) -> None:
    """Remove all but the best runs' models: a session's output holds 20 GB."""
    scores = {
        run.id: results.numbers(folder.run_folder(run)).get(sweep.score)
        for run, record in folder.recorded()
        if record.state == records.DONE
    }
    measured = {id: score for id, score in scores.items() if score is not None}
    results.keep_best(folder, measured, sweep)


def _leave_metrics(folder: Path) -> None:
    """Leave the machine in the last run's metrics as the session's, which the desk checks."""
    metrics = folder / "metrics.json"
    if metrics.is_file():
        values = json.loads(metrics.read_text(encoding="utf-8"))
        device = {name: values[name] for name in ("device",) if name in values}
        files.write_text(Path.cwd() / "metrics.json", json.dumps(device) + "\n")
