"""The sweep inside a Kaggle session: it takes over earlier sessions' runs and runs the rest.

This rides in the pushed notebook, without any client. It stops by its own clock: Kaggle kills
a session at its limit and keeps nothing of it. Each run knows that clock too, ends early with the
scores it has, and is gone on with in the next session.

    sweep/<id>/        a run
    sweep/kept/        what runs keep for one another, while there are runs left
    sweep/search.db    the trials of a search
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.notebooks import document, parameters
from kernelkit.sweep.config.specification import Fingerprint, PlannedRun, Specification
from kernelkit.sweep.report.progress import expected_seconds
from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import Record, SweepFolder
from kernelkit.sweep.store.results import keep_best, numbers
from kernelkit.sweep.workers.engine import Engine, Listed, RunSource, WorkerLimits
from kernelkit.sweep.workers.processes import launcher
from kernelkit.wheels.session import install_wheels

FOLDER = "sweep"  # of the session's output: the runs
KEPT = "kept"
KEPT_VARIABLE = "KERNELKIT_KEPT"  # the environment variable with that folder
STORAGE = "search.db"
INPUT_ROOT = "KERNELKIT_INPUT_ROOT"  # where a rehearsal has /kaggle/input


def run_in_session(carried: Mapping[str, Any], minutes: float, accelerator: str = "auto") -> None:
    """Run what is left of a sweep for at most so many minutes (0 = no limit).

    `carried` is what `kernelkit.sweep.backends.on_kaggle` packed. A run in flight when the time is
    up stays pending; a run that fails is reported and stops nothing. Raises `WheelsError` where a
    search needs wheels that are not there.
    """
    begun = time.monotonic()
    os.environ[project.SHOWN] = carried["shown"]  # read by the runs' processes
    folder = SweepFolder(Path.cwd() / FOLDER)
    runs = [PlannedRun(one["id"], one["given"], one["given"]) for one in carried["runs"]]
    inputs = Path(os.environ.get(INPUT_ROOT, "/kaggle/input"))
    taken = take_over(folder, None if carried["search"] else {run.id for run in runs}, inputs)
    if taken:
        print(f"{taken} runs were done in an earlier session", flush=True)
    os.environ[KEPT_VARIABLE] = str(folder.path / KEPT)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        notebook = files.write_text(Path(scratch) / "notebook.ipynb", carried["notebook"])
        source = _source(carried, notebook, folder, runs, inputs)
        stop_at = begun + 60 * minutes if minutes else 0.0
        limits = WorkerLimits(carried["workers"], carried["seconds"], carried["bytes"], stop_at)
        starter = launcher((), Path(scratch) / "imports.log")

        def request(run: PlannedRun) -> dict[str, Any]:
            values = dict(run.given)
            if carried["takes_accelerator"] and values.get("accelerator", "auto") == "auto":
                values["accelerator"] = accelerator
            place = folder.run_folder(run)
            return {
                "notebook": str(notebook),
                "values": values,
                "folder": str(place),
                "report": carried["report"],
            }

        def tell(run: PlannedRun, record: Record) -> None:
            message = parameters_line(run)
            print(f"{record.state:8} {run.id}  {message}  {record.reason}".rstrip(), flush=True)
            if record.state in (records.DONE, records.STOPPED):
                _leave_metrics(folder.run_folder(run))
                _keep_best(carried, folder)

        longest = expected_seconds([folder.record(run) for run in runs])
        try:
            Engine(folder, starter, limits, request, tell).work(source, longest)
        finally:
            starter.close()
    _conclude(
        folder, runs, carried["search"]["search"]["trials"] if carried["search"] else len(runs)
    )


def _keep_best(carried: Mapping[str, Any], folder: SweepFolder) -> None:
    """Remove all but the best runs' models: a session's output holds 20 GB."""
    places = [state.parent for state in folder.path.glob(f"*/{records.STATE}")]
    done = [
        place
        for place in places
        if folder.record(PlannedRun(place.name, {}, {})).state == records.DONE
    ]
    measured = {place: numbers(place).get(carried["score"]) for place in done}
    scores = {place: score for place, score in measured.items() if score is not None}
    keep_best(scores, carried["keep_best"], minimize=carried["minimize"])


def take_over(folder: SweepFolder, wanted: set[str] | None, inputs: Path) -> int:
    """Copy what an attached earlier output has of this sweep; returns how many runs.

    Of a list of runs these are the `wanted` ones that are done; of a search (`wanted` is None), its
    trials and every run that has ended. Files that runs kept for one another are copied too.
    """
    taken = 0
    for place in sorted(inputs.rglob(FOLDER)) if inputs.is_dir() else ():
        for state in sorted(place.glob(f"*/{records.STATE}")):
            state_before = SweepFolder(place).record(PlannedRun(state.parent.name, {}, {})).state
            own = state_before in records.ENDED if wanted is None else state_before == records.DONE
            target = folder.path / state.parent.name
            if own and not target.exists() and (wanted is None or target.name in wanted):
                shutil.copytree(state.parent, target)
                taken += 1
        if (place / KEPT).is_dir():
            shutil.copytree(place / KEPT, folder.path / KEPT, dirs_exist_ok=True)
        trials = folder.path / STORAGE
        if wanted is None and (place / STORAGE).is_file() and not trials.exists():
            trials.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place / STORAGE, trials)
    return taken


def of_search(folder: SweepFolder, asked: Specification) -> Iterator[PlannedRun]:
    """The runs in a folder that are points of this search, in the order of their names."""
    names = {*asked.base, *asked.search["space"]}
    for state in sorted(folder.path.glob(f"*/{records.STATE}")):
        given = folder.record(PlannedRun(state.parent.name, {}, {})).parameters
        if set(given) == names and asked.run(given).id == state.parent.name:
            yield asked.run(given)


def parameters_line(run: PlannedRun) -> str:
    """The parameters that a run sets, on one line."""
    return " ".join(f"{name}={value}" for name, value in run.given.items())


def _source(
    carried: Mapping[str, Any],
    notebook: Path,
    folder: SweepFolder,
    runs: list[PlannedRun],
    inputs: Path,
) -> RunSource:
    """The runs that are left, or the search, which adds its own to `runs`."""
    search = carried["search"]
    if not search:
        return Listed([run for run in runs if folder.record(run).state not in records.ENDED])
    if importlib.util.find_spec("optuna") is None:
        install_wheels(["optuna"], search["wheels"], inputs)
    from kernelkit.sweep.search import Search

    cell = document.parameters_cell(document.read(notebook)).source
    asked = Specification(
        search["name"],
        notebook,
        parameters.declared(cell),
        search["base"],
        Fingerprint(search["code"]),
        (),
        score=search["score"],
        minimize=search["minimize"],
        search=search["search"],
    )
    return Search(asked, folder, runs, retry_failed=search["retry_failed"])


def _conclude(folder: SweepFolder, runs: list[PlannedRun], total: int) -> None:
    states = [folder.record(run).state for run in runs]
    print(f"{states.count(records.DONE)} of {total} runs done", flush=True)
    if sum(state in records.ENDED for state in states) >= total:
        shutil.rmtree(folder.path / KEPT, ignore_errors=True)  # no later session needs them


def _leave_metrics(folder: Path) -> None:
    """The last run's metrics as the session's, so that the desk can check its machine."""
    metrics = folder / "metrics.json"
    if metrics.is_file():
        values = json.loads(metrics.read_text(encoding="utf-8"))
        kept = {name: values[name] for name in ("device",) if name in values}
        files.write_text(Path.cwd() / "metrics.json", json.dumps(kept) + "\n")
