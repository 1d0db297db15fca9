"""Whether a run reached its end, and the error that it ended in: one judge for the reports and for
the page over all runs. How the runs of a sweep ended, the sweep's page has from the sweep.

A run that did not reach its end is listed with what it measured before. No run is compared with
it, and it is never called the best.
"""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

from kernelkit.errors import NotebookError
from kernelkit.notebook import document
from kernelkit.runs import run_folder, run_state
from kernelkit.scores.metrics import Metrics
from kernelkit.terminal import safe_text

LONGEST_FAILURE = 2_000
INTERRUPT = "KeyboardInterrupt"  # the error of a run that somebody stopped
_ERROR = re.compile(rb'"output_type"\s*:\s*"error"')


@dataclass(frozen=True)
class Ending:
    """How a run ended: `error` is what ended it, `Name: message`, "" if that is not known."""

    reached: bool
    error: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it, which is no failure."""
        return self.error == INTERRUPT


def of_run(folder: Path, metrics: Metrics) -> Ending:
    """How the run in a folder ended; `metrics`: what it measured, without values if nothing.

    Of the notebooks of many runs, only those are parsed whose text has an error in it, or whose run
    measured nothing.
    """
    executed = run_folder.executed(folder)
    content = None
    if executed is not None and (not metrics.values or _ERROR.search(executed.read_bytes())):
        with contextlib.suppress(NotebookError):
            content = document.read(executed)
    if content is None and not metrics.values:
        return Ending(reached=False)
    return of_content(folder, content, metrics)


def of_content(folder: Path, notebook: nbformat.NotebookNode | None, metrics: Metrics) -> Ending:
    """The same, of a run whose executed notebook was read already."""
    error = failure(notebook) if notebook else ""
    if error:
        return Ending(reached=False, error=error)
    over = run_state.read(folder).over
    if over is None:  # a notebook that ran elsewhere: nobody noted how it ended
        reached = notebook is None or bool(metrics.values) or _ran_whole(notebook)
    else:
        reached = over or run_state.is_held(folder)
    return Ending(reached=metrics.is_out_of_time or bool(reached))


def _ran_whole(notebook: nbformat.NotebookNode) -> bool:
    """Whether every cell ran; cells of which none ran only show what was pushed."""
    counts = [c.execution_count for c in notebook.cells if c.cell_type == "code" and c.source]
    return all(counts) or not any(counts)


def failure(notebook: nbformat.NotebookNode) -> str:
    """The error that ended the run, as `Name: message`, or nothing.

    A cell that is tagged `raises-exception` is meant to fail, and papermill goes on after it. A
    `sys.exit()` ends a notebook that is done, as papermill and the kit's commands take it.
    """
    for cell in notebook.cells:
        if document.has_tag(cell, "raises-exception"):
            continue
        for output in cell.get("outputs", []):
            if output.output_type != "error":
                continue
            if output.ename == "SystemExit" and output.evalue in ("", "0"):
                continue
            said = f"{output.ename}: {output.evalue}" if output.evalue else str(output.ename)
            return safe_text.plain(said[:LONGEST_FAILURE])
    return ""
