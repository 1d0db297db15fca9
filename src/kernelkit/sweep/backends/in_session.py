"""A sweep inside a Kaggle session: copy the runs of earlier sessions and make the rest.

This is bundled into the pushed notebook, without any client. It stops by its own clock, because
Kaggle kills a session at its limit and keeps none of its files. Each run knows that clock, too, by
`KERNELKIT_SESSION_MINUTES`, and ends early with the scores it has; the next session continues it.

    sweep/<id>/        a run
    sweep/kept/        files that runs share, as long as there are runs left
"""

import contextlib
import functools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import files, project, typed
from kernelkit.notebook import document
from kernelkit.notebook.interface import parameters
from kernelkit.notebook.interface.values import resolve, values_in
from kernelkit.runs import run_folder
from kernelkit.scores.metrics import Metrics
from kernelkit.sweep import sweep_folder
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.planning.sweep_file import SearchSettings
from kernelkit.sweep.results import ranking, table
from kernelkit.sweep.search import space
from kernelkit.sweep.search.search import Search
from kernelkit.sweep.sweep_folder import Record, SweepFolder
from kernelkit.sweep.workers.engine import Engine

FOLDER = "sweep"  # the folder of the runs, in the session's output
KEPT = "kept"
INPUT = "input"  # a link to the inputs, during the session
KEPT_VARIABLE = "KERNELKIT_KEPT"  # the environment variable with the folder of shared files
INPUT_ROOT = "KERNELKIT_INPUT_ROOT"  # the location of /kaggle/input in a rehearsal


def run_in_session(carried: Mapping[str, Any], minutes: float, accelerator: str) -> None:
    """Make the remaining runs of a sweep within this many minutes (0 = no limit).

    `carried` is what `kernelkit.sweep.backends.kaggle_sessions` packed. A run that is in progress
    when the time is up stays pending; a run that fails is reported and does not stop the others.
    `accelerator`: the machine that the runs need.
    """
    stop_at = time.monotonic() + 60 * minutes if minutes else 0.0
    os.environ[project.SHOWN] = carried["shown"]  # read by the runs' processes
    folder = SweepFolder(Path.cwd() / FOLDER)
    os.environ[KEPT_VARIABLE] = str(folder.path / KEPT)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        notebook = files.write_text(Path(scratch) / "notebook.ipynb", carried["notebook"])
        declared = parameters.of_notebook(document.read(notebook))
        base = resolve(declared, values_in(carried["base"]))
        settings = dict(carried["sweep"])
        if settings["search"]:
            settings["search"] = typed.read(SearchSettings, settings["search"])
        sweep = Specification(notebook=notebook, declared=declared, base=base, **settings)
        runs = [sweep.run(resolve(declared, values_in(run))) for run in carried["runs"]]
        _take_over(sweep, folder, runs)
        retry_failed = carried["retry_failed"]
        search = None
        remaining: Iterable[PlannedRun] = folder.remaining(runs, retry_failed)
        if sweep.search:
            remaining = search = Search(sweep, folder, runs, retry_failed)
        tell = functools.partial(_tell, sweep, folder, runs)
        # Without workers, it is one process at a time, which can use the session's accelerator.
        engine = Engine(sweep, folder, tell, carried["report"], search, accelerator, stop_at)
        with _inputs_beside_runs(sweep, folder):
            engine.work(remaining)
    states = [folder.record(run.id).state for run in runs]
    total = space.trials(sweep) if sweep.search else len(runs)
    print(f"{states.count(sweep_folder.DONE)} of {total} runs done", flush=True)
    ended = [state for state in states if state in sweep_folder.ENDED]
    if len(ended) >= total:
        shutil.rmtree(folder.path / KEPT, ignore_errors=True)  # no later session needs them


def _tell(
    sweep: Specification,
    folder: SweepFolder,
    runs: Sequence[PlannedRun],
    run: PlannedRun,
    record: Record,
) -> None:
    """Print the state of a run, which is one of `runs`; of one with results, note its machine, and
    remove the files that only the best keep."""
    values = " ".join(f"{name}={value}" for name, value in run.overrides.items())
    reason = sweep_folder.reason(record.error)
    print(f"{record.state:8} {run.id}  {values}  {reason}".rstrip(), flush=True)
    if record.state not in (sweep_folder.DONE, sweep_folder.STOPPED):
        return
    _note_machine(folder.run_folder(run.id))
    if sweep.keep_best:  # a session's output is limited to 20 GB
        page = table.gather(folder, sweep, runs)
        ranking.keep_best(page, sweep.keep_best)


def _note_machine(place: Path) -> None:
    """Write the machine of a run as the session's, which is checked after the download."""
    written = Metrics.of_run(place)
    if written.values:
        device = written.table("device")
        content = {"device": device} if device else {}
        files.write_text(Path.cwd() / run_folder.METRICS, json.dumps(content) + "\n")


@contextlib.contextmanager
def _inputs_beside_runs(sweep: Specification, folder: SweepFolder) -> Iterator[None]:
    """During a block, `../input` leads a run to the inputs, as it does from /kaggle/working."""
    link = folder.path / INPUT
    link.unlink(missing_ok=True)
    if sweep.in_own_folders:
        link.symlink_to(_inputs(), target_is_directory=True)
    try:
        yield
    finally:
        link.unlink(missing_ok=True)


def _inputs() -> Path:
    return Path(os.environ.get(INPUT_ROOT, "/kaggle/input"))


def _take_over(sweep: Specification, folder: SweepFolder, runs: Sequence[PlannedRun]) -> None:
    """Copy from attached outputs of earlier sessions their runs and shared files."""
    copied = 0
    ids = None if sweep.search else [run.id for run in runs]
    for place in sorted(_inputs().rglob(FOLDER)):
        copied += len(folder.take_over(SweepFolder(place), ids))
        if (place / KEPT).is_dir():
            shutil.copytree(place / KEPT, folder.path / KEPT, dirs_exist_ok=True)
    if copied:
        print(f"{copied} runs are from an earlier session", flush=True)
