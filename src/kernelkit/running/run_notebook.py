"""Run a notebook locally: strict parameters, a run folder, a report."""

import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, interpreter, project
from kernelkit.errors import ParameterError
from kernelkit.exits.signals import EndedBySignal
from kernelkit.files import file_address, from_here
from kernelkit.notebook import document
from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.interface import parameters
from kernelkit.notebook.interface.idle import idle_parameters, refuse_idle
from kernelkit.notebook.interface.values import Overrides, completed, resolve
from kernelkit.running import lacking_packages
from kernelkit.running.chosen_folder import OF_AN_ATTEMPT, chosen_folder, own_folder
from kernelkit.running.executing.execute import execute
from kernelkit.runs import kit_folder, loaded, run_folder
from kernelkit.runs.run_folder import EXECUTED
from kernelkit.scores.metrics import Metrics
from kernelkit.shown import duration
from kernelkit.terminal.events import (
    INTERRUPTED,
    METRICS,
    NEXT,
    REPORT,
    STOPPED,
    WARNING,
    Event,
    Events,
)
from kernelkit.terminal.live_line import LiveLine, working

OUTPUT = "output"  # the parameter with the run's folder
# Run by a notebook's process when it has started, with `folder` as a name of its own. In PYTHONPATH
# from the beginning, a file such as random.py there would be what Python itself imports.
_FIND = """\
import os, sys
sys.argv = sys.argv[:3]  # as in Jupyter, without the kit's own arguments
sys.path.insert(0, folder)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
programs = os.path.dirname(sys.executable)  # so that `!pip` and `!python` are this Python's
os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
"""
# Likewise: a cell may begin with an indentation, as in IPython 7, which Kaggle has. IPython 9 takes
# only the indentation that all lines have.
_INDENT = """\
import re
from IPython import get_ipython
def as_the_first_line(lines):
    indentation = re.match(r"[ \\t]*", lines[0])[0] if lines else ""
    return [line.removeprefix(indentation) for line in lines]
get_ipython().input_transformers_cleanup.insert(1, as_the_first_line)  # after the empty lines
"""
RUN = Event("run")
ENDED = Event("ended")  # before its last cell


@dataclass(frozen=True)
class CheckedNotebook:
    """A notebook with the given parameter values, and the values of all parameters.

    `unused` says which of the given values nothing seems to read, in a sentence each.
    """

    path: Path
    content: nbformat.NotebookNode
    overrides: dict[str, Any]
    values: dict[str, Any]
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExecutedRun:
    """A finished run: its folder, its duration in seconds, and its measures.

    `metrics` are those of its metrics.json, or else the score that it printed; empty without both.
    """

    folder: Path
    seconds: float
    metrics: Mapping[str, Any]

    @property
    def report(self) -> Path:
        """The path of the HTML report, which need not exist."""
        return run_folder.report_place(self.folder)

    def tell(self, events: Events) -> None:
        """Show the first measures in one line (or else the duration), how to continue a run that is
        out of time, the report, and the next command."""
        page = self.folder
        shown = from_here(self.folder)
        if self.report.is_file():
            page = self.report
            shown = file_address(self.report)
        runs = shlex.quote(from_here(self.folder.parent))
        index = f"kernelkit report {runs} --index  # all runs"
        metrics = Metrics.of(self.metrics)
        summary = metrics.summary(project.shown(self.folder)) or duration(self.seconds)
        events(METRICS, summary, metrics=dict(self.metrics), seconds=round(self.seconds, 2))
        if metrics.is_out_of_time:
            events(STOPPED, "it ran out of time: the same command, without --fresh, continues it")
        events(REPORT, shown, path=str(page), folder=str(self.folder))
        events(NEXT, index, commands=[index])
        events.end()


def run_notebook(
    notebook: Path,
    overrides: Overrides = (),
    *,
    name: str = "",
    output: Path | None = None,
    fresh: bool = False,
    report: Callable[[Path], object] | None = None,
    quiet: bool = False,
    as_json: bool = False,
    in_folder: bool = False,
) -> ExecutedRun:
    """Execute a notebook with papermill in the folder that `chosen_folder` chooses.

    `overrides`: values, or `name=text` strings, for the notebook's parameters. The parameter
    `output` is set to the run folder if the notebook has one. Of several hosts each but the first
    runs in a subfolder of its own. `report` is called with the run's
    folder at the end, also after a failure: `pages.one_run.report_page.report_run` writes its
    `report.html`. The notebook's output is shown as it arrives, with its steps in one live line; if
    `quiet` or `as_json`, only what its processes write straight to stderr is. `as_json`: whether
    what is told of the run is JSON. `in_folder`: whether the run folder is also the notebook's
    working directory, instead of this process's.

    Raises `ParameterError` or `NotebookError` before anything runs, and `StorageError` if a file
    cannot be written. If the notebook fails, raises `RunFailedError`, or one of
    `errors.OF_NOTEBOOKS` by its exception's name, with the failing cell; the folder then has the
    partial notebook and its report.
    """
    events = Events(as_json=as_json, quiet=quiet)
    checked = _checked_notebook(notebook, overrides)
    chosen = chosen_folder(notebook, checked.values, events, name=name, output=output, fresh=fresh)
    with chosen as shared:
        folder = own_folder(shared)
        _begin(folder)
        shown = from_here(folder)
        events(RUN, f"{from_here(notebook)} in {shown}", folder=str(folder))
        if not quiet:
            lacking = lacking_packages.what_to_do(checked.content)
            for text in filter(None, (*checked.unused, lacking)):
                events(WARNING, text)
        begun = time.monotonic()
        try:
            _execute(checked, folder, quiet=quiet or as_json, in_folder=in_folder)
            seconds = time.monotonic() - begun
            if not quiet:
                _tell_early_end(folder / EXECUTED, events)
        except (KeyboardInterrupt, EndedBySignal):
            # What Jupyter still waits for dies with its process: asyncio would tell that at exit.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            again = "the same command without --fresh" if fresh else "the same command"
            kept = f"what the run has made so far is in {shown}; {again} continues it"
            events(INTERRUPTED, kept, folder=str(folder))
            raise
        finally:
            if report and (folder / EXECUTED).is_file():
                _write_report(report, folder, quiet or as_json)
        measured = Metrics.of_run(folder, project.shown(folder).score)
        return ExecutedRun(folder, seconds, measured.values)


def _write_report(report: Callable[[Path], object], folder: Path, quiet: bool) -> None:
    with nullcontext() if quiet else working("writing the report", LiveLine(sys.stdout)):
        report(folder)


def _execute(checked: CheckedNotebook, folder: Path, *, quiet: bool, in_folder: bool) -> None:
    values = checked.overrides
    if OUTPUT in checked.values:
        values = {OUTPUT: str(folder.resolve()), **values}
    # C++ libraries bypass Jupyter and write straight to the terminal.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning of older ipykernels
    directory = folder if in_folder else Path.cwd()
    at_start = [
        _finding(checked.path),
        f"exec({_INDENT!r}, {{}})",
        loaded.noting(folder, checked.path),
    ]
    own = project.find_project(checked.path).import_paths()
    with interpreter.imports_from(own):
        execute(checked.content, folder, values, quiet, at_start, directory)


def _finding(notebook: Path) -> str:
    """A statement by which a kernel, and what it starts, find modules beside the notebook, and its
    own Python."""
    names = {"folder": str(notebook.resolve().parent)}
    return f"exec({_FIND!r}, {names!r})"  # which leaves no name in the notebook


def _tell_early_end(executed: Path, events: Events) -> None:
    """Tell which cell ended the notebook and how many did not run, or which exit did not end it.

    Papermill takes a `sys.exit()` for a notebook that is done.
    """
    own = document.code_cells(nbformat.read(executed, as_version=4).cells)
    for cell in own:
        if any(output.get("ename") == "SystemExit" for output in cell.node["outputs"]):
            left = len(own) - cell.number
            others = "1 cell did not run" if left == 1 else f"{left} cells did not run"
            if left:
                events(ENDED, f"by code cell {cell.number}: {others}")
            return
    sources = [(f"code cell {cell.number}", cell.source) for cell in own]
    exits = Program.of(sources, cells=True).exits
    if exits:
        place, name = exits[0]
        words = f"{place} calls {name}(), which has not ended the notebook: use sys.exit()"
        events(WARNING, words)


def _checked_notebook(notebook: Path, overrides: Overrides) -> CheckedNotebook:
    """The notebook with its parameters' values; raises `ParameterError` or `NotebookError`."""
    content = document.read(notebook)
    # The cell that papermill injected in an earlier run would set that run's values again.
    content.cells = [c for c in content.cells if not document.has_tag(c, document.INJECTED_TAG)]
    declared = parameters.of_notebook(content, project.find_project(notebook))
    resolved = resolve(declared, overrides)
    if OUTPUT in resolved:
        raise ParameterError("output is set to the run's folder: choose that with --output")
    idle = [each for each in idle_parameters(content) if each.name in resolved]
    refuse_idle(idle, resolved)
    unused = tuple(each.text for each in idle)
    every = completed(declared, resolved)
    return CheckedNotebook(notebook, content, resolved, every, unused)


def _begin(folder: Path) -> None:
    files.make_folder(folder)
    # What an earlier attempt left must not be mistaken for the result of this one.
    kit_folder.put_aside(folder, OF_AN_ATTEMPT)
    for name in (EXECUTED, kit_folder.REPORT, run_folder.METRICS):
        for part in folder.glob(f".{name}.*part*"):  # of a process that was killed
            part.unlink(missing_ok=True)
