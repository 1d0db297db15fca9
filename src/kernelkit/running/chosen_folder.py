"""The folder of a run on this machine: that of the same run if it did not finish, or a new one.

    <run>/.kernelkit/run.json    the notebook, its parameters, and whether the run is over
    <run>/.kernelkit/run.lock    held by the command that runs there

A command without a name finds its folder by notebook and parameters, and never uses a folder whose
run is over. Two commands never run in the same folder: the second gets its own, or is refused if
`--name` or `--output` chose it.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from kernelkit import files, project, typed
from kernelkit.errors import ParameterError
from kernelkit.files import from_here
from kernelkit.notebook.interface.values import for_json
from kernelkit.runs import claims, kit_folder, run_state
from kernelkit.runs.run_folder import EXECUTED, METRICS, PART, PREDICTIONS, SUBMISSIONS
from kernelkit.runs.run_state import RunState
from kernelkit.scores.history import HISTORY
from kernelkit.scores.metrics import Metrics
from kernelkit.terminal.events import Event, Events

CONTINUES = Event("continues", quiet=True)
SET_ASIDE = Event("set aside", quiet=True, colour="yellow")
RESULTS = (HISTORY, PREDICTIONS, *SUBMISSIONS)
# What every attempt to run a notebook makes anew, the kit's own files too.
OF_AN_ATTEMPT = (
    *(EXECUTED, PART, METRICS, kit_folder.REPORT),
    f"{kit_folder.NAME}/{kit_folder.REPORT}",
    f"{kit_folder.NAME}/{kit_folder.SUBMISSIONS}",
    f"{kit_folder.NAME}/{kit_folder.LOADED}",
    f"{kit_folder.NAME}/{kit_folder.RESOURCES}",
    f"{kit_folder.NAME}/{kit_folder.THUMBNAIL}",
)
HOST_FOLDER = "host-{}"
HOST_INDICES = ("JAX_PROCESS_ID", "SLURM_PROCID", "TPU_WORKER_ID")


@contextmanager
def chosen_folder(
    notebook: Path,
    parameters: Mapping[str, Any],
    events: Events,
    *,
    name: str = "",
    output: Path | None = None,
    fresh: bool = False,
) -> Iterator[Path]:
    """Yield the folder for a run of `notebook`.

    parameters  the value of every parameter, each a literal
    name        use the folder `runs/<name>` of the current folder's project
    output      use this folder
    fresh       use a new folder, even if the same run did not finish

    Without these it is the folder where the same run did not finish, or a new one. In a chosen
    folder, a run's files that are not of this unfinished run are put aside, and that is told. The
    run is over when the block ends without an exception, unless its `metrics.json` says that it ran
    out of time.

    Of several hosts that holds for the first. Each other takes the folder that is named, or one of
    the notebook's name and the time, and neither locks it nor notes anything in it.

    Raises `ParameterError` if another command is running in the chosen folder, if that
    is a push's or has the notebook itself in the place of the run's, for `fresh` with a name or an
    output, for a name with an output, and for a name that leads out of `runs` or is not Unicode.
    """
    if fresh and (name or output):
        option = "--output" if output else "--name"
        raise ParameterError(f"--fresh chooses a new folder itself: leave out {option}")
    if name and output:
        raise ParameterError("--name and --output each name the folder: leave one out")
    path = PurePath(name)
    if path.is_absolute() or ".." in path.parts or (name and not path.parts):
        raise ParameterError("--name is a folder's name in runs: give any other with --output")
    runs = project.runs_here()
    wanted = output or runs / (name or _stamped(notebook))
    if not typed.is_unicode(str(wanted)):  # papermill writes it into the notebook
        raise ParameterError(
            f"the name of the run's folder, {str(wanted)!a}, is not Unicode: rename the notebook, "
            "or choose a folder with --output"
        )
    if _host():  # the first host has the folder, and sends the checkpoint to the others
        yield wanted
        return
    values = json.loads(json.dumps(for_json(parameters)))  # as they are read back
    run = RunState(notebook=str(Path(notebook).resolve()), parameters=values, over=False)
    with ExitStack() as locks:
        if output or name:
            folder = wanted
            run = replace(run, chosen=True)
            if (folder / EXECUTED).resolve() == notebook.with_suffix(".ipynb").resolve():
                raise ParameterError(
                    f"the run would write over {from_here(folder / EXECUTED)}, this notebook: "
                    "choose another folder"
                )
            place = folder.resolve()
            if any(map(claims.was_pushed, (place, *place.parents))):
                raise ParameterError(
                    f"{from_here(folder)} is for the results of a push: choose another folder"
                )
            if not _hold(folder, locks):
                raise ParameterError(
                    f"another command is using {folder}: wait for it, or choose another"
                )
        else:
            unfinished = None if fresh else _unfinished(runs, run, locks, events)
            folder = unfinished or _new(wanted, locks)
        if run_state.read(folder) != run:
            _put_aside(folder, project.find_project(notebook).submission, events)
        run_state.note(folder, run)
        yield folder
        written = Metrics.of_run(folder)
        run_state.note(folder, replace(run, over=not written.is_out_of_time))


def own_folder(folder: Path) -> Path:
    """The run's folder on host 0, and a subfolder on every other, since they may share a disk."""
    host = _host()
    return folder / HOST_FOLDER.format(host) if host else folder


def _host() -> int:
    """The number of this host among those of the run; 0 where it is alone."""
    number = next((os.environ[name] for name in HOST_INDICES if os.environ.get(name)), "")
    return int(number) if number.isdigit() else 0


def _put_aside(folder: Path, submission: str, events: Events) -> None:
    """Put aside what a run leaves, and tell it: it must not be mistaken for the new run's.

    `submission`: the name of the project's own file for the competition, if it has one.
    """
    names = dict.fromkeys(filter(None, (*OF_AN_ATTEMPT, *RESULTS, submission)))
    aside = kit_folder.put_aside(folder, [*names, f"{kit_folder.NAME}/{kit_folder.STATE}"])
    if aside is None:
        return
    own = [name for name in names if not name.startswith(kit_folder.NAME)]
    told = [name for name in own if (aside / name).is_file()]
    if told:
        events(
            SET_ASIDE,
            f"{from_here(folder)} has files that this run did not make: {', '.join(told)}. They "
            f"are now in {from_here(aside)}; this run may write over any others",
            files=told,
        )


def _unfinished(runs: Path, run: RunState, locks: ExitStack, events: Events) -> Path | None:
    """The newest folder of the same unfinished run, now locked; None if there is none."""
    states = runs.glob(f"*/{kit_folder.NAME}/{kit_folder.STATE}")
    for path in sorted(states, key=lambda path: path.stat().st_mtime, reverse=True):
        folder = path.parents[1]
        # It is read twice, because the run may end before the lock is acquired.
        if run_state.read(folder) == run and _hold(folder, locks) and run_state.read(folder) == run:
            events(
                CONTINUES,
                f"{from_here(folder)}: the last run of this notebook with these parameters did "
                "not finish; --fresh starts a new one",
                folder=str(folder),
            )
            return folder
    return None


def _new(first: Path, locks: ExitStack) -> Path:
    """A new folder, created and locked: `first`, or the next free name after it."""
    files.make_folder(first.parent)
    folder = first
    number = 1
    while True:
        try:
            folder.mkdir()
        except FileExistsError:
            is_ours = False
        else:
            is_ours = _hold(folder, locks)
        if is_ours:
            return folder
        number += 1
        folder = first.with_name(f"{first.name}-{number}")


def _stamped(notebook: Path) -> str:
    """A folder's name: the notebook's name and the time."""
    return f"{notebook.stem}-{time.strftime('%m%d-%H%M%S')}"


def _hold(folder: Path, locks: ExitStack) -> bool:
    """Lock `folder`, creating it, until `locks` close; returns whether no other command runs in
    it."""
    files.make_folder(folder)
    is_free = locks.enter_context(files.try_lock(kit_folder.path(folder, kit_folder.LOCK)))
    if is_free:
        kit_folder.clear_half_written(folder)
    return is_free
