"""The folder of a run at home: the one where the same run was cut off, else a new one.

    <run>/.kernelkit/run.json    the notebook, its parameters, and whether the run is over
    <runs>/.locks/               a file that a command holds while it runs in a folder

A command that is given no name finds its folder by what it runs, and a folder whose run is over
is never taken again. Two commands never run in one folder: the second one of two gets its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.errors import ParameterError
from kernelkit.notebooks.parameters import Parameter
from kernelkit.run_folders import kit_folder, run_folder

STATE = "run.json"
HOST_FOLDER = "host-{}"
HOST_INDICES = ("JAX_PROCESS_ID", "SLURM_PROCID", "TPU_WORKER_ID")


def chosen_folder(
    notebook: Path,
    known: Mapping[str, Parameter],
    values: Mapping[str, Any],
    name: str,
    output: Path | None,
    fresh: bool,
) -> contextlib.AbstractContextManager[Path]:
    """The run's folder for the length of a block: `output`, or see `folder_for`.

    Of several hosts that are started one by one, the first holds the folder and sends the others
    the checkpoint; their folder bears the name, or the notebook's name and the time.
    """
    if output and fresh:
        raise ParameterError("--fresh chooses a new folder itself: leave out --output")
    if not output and own_folder(Path()) != Path():
        stamped = f"{Path(notebook).stem}-{time.strftime('%m%d-%H%M%S')}"
        output = project.runs_here() / (name or stamped)
    if output:
        return contextlib.nullcontext(output)
    every = {one.name: one.default for one in known.values()} | dict(values)
    return folder_for(notebook, every, name=name, fresh=fresh)


def own_folder(folder: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The run's folder on host 0, one below it on every other: they may share a disk."""
    index = next((environ[name] for name in HOST_INDICES if environ.get(name)), "")
    if not index and environ.get("TF_CONFIG"):
        try:
            index = str(json.loads(environ["TF_CONFIG"])["task"]["index"])
        except (ValueError, KeyError, TypeError):
            index = ""  # the notebook reports the damaged variable
    return folder / HOST_FOLDER.format(index) if index.isdigit() and int(index) else folder


@contextlib.contextmanager
def folder_for(
    notebook: Path, parameters: Mapping[str, Any], *, name: str = "", fresh: bool = False
) -> Iterator[Path]:
    """The folder below the project's `runs` for one run, held for the length of a block.

    `parameters`: the value of every parameter, a JSON value each; `fresh`: a new folder though a
    run with the same was cut off. The run is over when the block ends without an exception, unless
    its `metrics.json` says that it ran out of time.

    With a `name` the folder is `runs/<name>` whatever it holds. Raises `ParameterError` where
    another command runs in it, and for a name together with `fresh`.
    """
    runs = project.runs_here()
    if name:
        if fresh:
            raise ParameterError("--fresh chooses a new folder itself: leave out --name")
        with _alone_in(runs / name) as alone:
            if not alone:
                raise ParameterError(
                    f"another command runs in {runs / name}: wait for its end, or choose another "
                    "--name"
                )
            yield runs / name
        return
    mine = {"notebook": str(Path(notebook).resolve()), "parameters": dict(parameters)}
    mine = json.loads(json.dumps(mine))  # as it will be read
    with contextlib.ExitStack() as held:
        folder = None if fresh else _cut_off(runs, mine, held)
        if folder:
            print(
                f"going on in {folder}, where the same run was cut off; --fresh begins a new one",
                flush=True,
            )
        else:
            folder = _new(runs, Path(notebook).stem, held)
        _write(folder, mine, over=False)
        yield folder
        metrics = run_folder.metrics(folder) or {}
        _write(folder, mine, over=metrics.get("stopped") != run_folder.OUT_OF_TIME)


def _cut_off(runs: Path, mine: Mapping[str, Any], held: contextlib.ExitStack) -> Path | None:
    """The newest folder of the same run that is not over, now held; None where there is none."""
    states = runs.glob(f"*/{kit_folder.NAME}/{STATE}")
    folders = sorted((path.parent.parent for path in states), key=_written, reverse=True)
    for folder in folders:
        if not _is_unfinished(folder, mine):
            continue
        with contextlib.ExitStack() as mine_alone:
            # It may have come to its end, or been taken up, since it was looked at.
            if mine_alone.enter_context(_alone_in(folder)) and _is_unfinished(folder, mine):
                held.push(mine_alone.pop_all())
                return folder
    return None


def _new(runs: Path, stem: str, held: contextlib.ExitStack) -> Path:
    """A new folder, made and held, named by the notebook and the time."""
    name = f"{stem}-{time.strftime('%m%d-%H%M%S')}"
    files.make_folder(runs)
    for number in itertools.count(1):
        folder = runs / (name if number == 1 else f"{name}-{number}")
        with contextlib.ExitStack() as alone:
            if not alone.enter_context(_alone_in(folder)):
                continue
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            except OSError:
                files.make_folder(folder)  # which raises the error with the reason
            held.push(alone.pop_all())
            return folder
    raise AssertionError("itertools.count has no end")


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[bool]:
    """Whether this command is the only one that runs in `folder` for the length of a block."""
    key = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    files.make_folder(folder.parent)
    with files.try_lock(project.runs_here() / project.LOCKS / f"run-{key}.lock") as alone:
        yield alone


def _is_unfinished(folder: Path, mine: Mapping[str, Any]) -> bool:
    return bool(_read(folder) == {**mine, "over": False})


def _read(folder: Path) -> Any:
    try:
        return json.loads(kit_folder.path(folder, STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _write(folder: Path, mine: Mapping[str, Any], *, over: bool) -> None:
    state = json.dumps({**mine, "over": over}, indent=1)
    files.write_text(kit_folder.path(folder, STATE), state + "\n")


def _written(folder: Path) -> float:
    try:
        return kit_folder.path(folder, STATE).stat().st_mtime
    except OSError:
        return 0.0
