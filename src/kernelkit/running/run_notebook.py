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

from kernelkit import files, image, project
from kernelkit.notebook import document, parameters
from kernelkit.notebook.reading import Program
from kernelkit.running import resources
from kernelkit.running.chosen_folder import chosen_folder, own_folder
from kernelkit.running.execution import EXECUTED, execute
from kernelkit.runs import kit_folder, loaded, measures, run_folder
from kernelkit.runs.metrics import Metrics
from kernelkit.shown import duration
from kernelkit.terminal.events import (
    METRICS,
    NEXT,
    REPORT,
    Events,
    LiveLine,
    address,
    from_here,
    working,
)
from kernelkit.terminal.exits import EndedBySignal


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
    """A finished run: its folder, its duration in seconds, and its metrics (empty if it wrote
    none)."""

    folder: Path
    seconds: float
    metrics: Mapping[str, Any]

    @property
    def report(self) -> Path:
        """The path of the HTML report, if one was requested."""
        return run_folder.report_place(self.folder)

    def tell(self, events: Events) -> None:
        """Show the first measures in one line (or else the duration), the report, and the next
        command."""
        page = self.folder
        shown = from_here(self.folder)
        if self.report.is_file():
            page = self.report
            shown = address(self.report)
        runs = shlex.quote(from_here(self.folder.parent))
        index = f"kernelkit report {runs} --index  # all runs"
        measures = Metrics.of(self.metrics).summary(project.shown(self.folder))
        summary = measures or duration(self.seconds)
        events(METRICS, summary, metrics=dict(self.metrics), seconds=round(self.seconds, 2))
        events(REPORT, shown, path=str(page), folder=str(self.folder))
        events(NEXT, index, commands=[index])
        events.end()


def run_notebook(
    notebook: Path,
    overrides: parameters.Overrides = (),
    *,
    name: str = "",
    output: Path | None = None,
    fresh: bool = False,
    report: Callable[[Path], object] | None = None,
    quiet: bool = False,
    in_folder: bool = False,
) -> ExecutedRun:
    """Execute a notebook with papermill in the folder that `chosen_folder` chooses.

    `overrides`: values, or `name=text` strings, for the notebook's parameters. The parameter
    `output` is set to the run folder if the notebook has one; every host but the first runs in a
    subfolder. `report` is called with the run's folder at the end, also after a failure:
    `pages.report_page.report_run` writes its `report.html`. Unless `quiet`, the notebook's output
    is shown as it arrives, with its steps in one live line. `in_folder`: whether the run folder is
    also the notebook's working directory, instead of this process's.

    Raises `ParameterError` or `NotebookError` before anything runs. If the notebook fails, raises
    `RunFailedError`, or one of `errors.OF_NOTEBOOKS` by its exception's name, with the failing
    cell; the folder then has the partial notebook and its report.
    """
    checked = check(notebook, overrides)
    with chosen_folder(notebook, checked.values, name=name, output=output, fresh=fresh) as folder:
        return run_in(folder, checked, report=report, quiet=quiet, in_folder=in_folder)


def run_in(
    chosen: Path,
    checked: CheckedNotebook,
    *,
    report: Callable[[Path], object] | None = None,
    quiet: bool = False,
    in_folder: bool = False,
) -> ExecutedRun:
    """`run_notebook` in a folder that this command holds already."""
    folder = own_folder(chosen)
    values = checked.overrides
    if "output" in checked.values:
        values = {"output": str(folder.resolve()), **values}
    _begin(folder)
    if not quiet:  # the first cells may print nothing for a while
        LiveLine(sys.stdout).stay(f"{from_here(checked.path)} runs in {from_here(folder)}")
        for text in checked.unused:
            LiveLine(sys.stderr).stay(f"warning: {text}")
        lacking = _lacking_packages(checked.content)
        if lacking:
            LiveLine(sys.stdout).stay(f"warning: {lacking}")
    begun = time.monotonic()
    # C++ libraries bypass Jupyter and write straight to the terminal.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning of older ipykernels
    try:
        with project.importable(checked.path), resources.recorded(folder):
            noting = loaded.noting(folder, checked.path, _code(checked.content))
            working = folder if in_folder else Path.cwd()
            execute(checked.content, folder, values, quiet, noting, working)
        if not quiet and (early := _early_end(folder / EXECUTED)):
            LiveLine(sys.stdout).stay(early)
    except (KeyboardInterrupt, EndedBySignal):
        # What Jupyter still waits for dies with its process, and asyncio would tell that at exit.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        if not quiet:
            kept = f"interrupted: what the run has made so far is in {from_here(folder)}"
            LiveLine(sys.stdout).stay(f"{kept}; the same command continues it")
        raise
    finally:
        if report and (folder / EXECUTED).is_file():
            _write_report(report, folder, quiet)
    measured = measures.of_run(folder, project.shown(folder).score) or Metrics()
    return ExecutedRun(folder, time.monotonic() - begun, measured.values)


def _early_end(executed: Path) -> str:
    """Which cell ended the notebook, and how many did not run, or seems to; "" if none.

    Papermill takes a `sys.exit()` for a notebook that is done.
    """
    own = document.code_cells(nbformat.read(executed, as_version=4).cells)
    for number, cell in own.items():
        if any(output.get("ename") == "SystemExit" for output in cell["outputs"]):
            left = len(own) - number
            others = "1 cell did not run" if left == 1 else f"{left} cells did not run"
            return f"code cell {number} ended the notebook; {others}" if left else ""
    sources = [(f"code cell {number}", cell["source"]) for number, cell in own.items()]
    exits = Program.of(sources, cells=True).exits
    return f"warning: this has not ended the notebook: {exits[0]}" if exits else ""


def _write_report(report: Callable[[Path], object], folder: Path, quiet: bool) -> None:
    with nullcontext() if quiet else working("writing the report", LiveLine(sys.stdout)):
        report(folder)


def check(notebook: Path, overrides: parameters.Overrides) -> CheckedNotebook:
    """The notebook with its parameters' values; raises `ParameterError` or `NotebookError`."""
    content = document.read(notebook)
    # The cell that papermill injected in an earlier run would set that run's values again.
    content.cells = [c for c in content.cells if not document.has_tag(c, document.INJECTED_TAG)]
    declared = parameters.of_notebook(content, project.find_project(notebook))
    resolved = parameters.resolve(declared, overrides)
    idle = [each for each in parameters.idle(content) if each.name in resolved]
    parameters.refuse_idle(idle, resolved)
    unused = tuple(each.text for each in idle)
    every = parameters.completed(declared, resolved)
    return CheckedNotebook(notebook, content, resolved, every, unused)


def _code(content: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in content.cells if cell.cell_type == "code"]


def _lacking_packages(content: nbformat.NotebookNode) -> str:
    """What to do about packages that a notebook imports and Kaggle's image has, and this Python
    lacks; all of them at once."""
    cells = [(cell.cell_type, cell.source) for cell in content.cells if cell.cell_type == "code"]
    missing = image.missing_here(Program.of(cells, cells=True).needed)
    return image.how_to_get(missing) if missing else ""


def _begin(folder: Path) -> None:
    files.make_folder(folder)
    own = (kit_folder.REPORT, kit_folder.SUBMISSIONS, kit_folder.LOADED)
    for name in own:
        kit_folder.path(folder, name).unlink(missing_ok=True)
    for name in (EXECUTED, kit_folder.REPORT, run_folder.METRICS):
        # An earlier run's file must not be mistaken for this run's result.
        kit_folder.put_aside(folder, name)
        for part in folder.glob(f".{name}.*part*"):  # of a process that was killed
            part.unlink(missing_ok=True)
