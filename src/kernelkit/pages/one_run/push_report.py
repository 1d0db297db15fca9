"""The report of a push: Kaggle hands out files and a log, not the executed notebook.

That is put together from what was pushed and from what its session recorded.
"""

import json
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from kernelkit import files
from kernelkit.errors import KernelkitError, of_traceback
from kernelkit.notebook import scripts
from kernelkit.notebook.document import KERNELSPEC, is_added
from kernelkit.pages.one_run.report_page import write_report
from kernelkit.pages.shared.attempts import attempt
from kernelkit.runs import kit_folder, run_folder, submitted
from kernelkit.runs.submitted import Submitted
from kernelkit.session_records import executed_cells
from kernelkit.session_records.failure import RunFailure
from kernelkit.terminal.events import Events


def report_or_why(
    folder: Path, title: str, clear: Callable[[str], str] = str
) -> tuple[Path | None, KernelkitError | None]:
    """Write the report of a run that came home, from its own notebook or an assembled one.

    `clear` takes the secrets out of a text. Returns the report, or None and the error.
    """
    return attempt(_report, folder, title, clear)


def _report(folder: Path, title: str, clear: Callable[[str], str]) -> Path:
    notebooks = run_folder.notebooks_of_run(folder)
    own = next((path for path in notebooks if "cells" in files.read_object(path)), None)
    page = run_folder.report_place(folder)
    return write_report(own or assemble(folder, title, clear), page, folder, clear)


def keep_submission(folder: Path, submission: Submitted, events: Events) -> None:
    """Keep a submission of a run beside it, and write its report again, if it has one."""
    submitted.add(folder, submission)
    notebook = run_folder.executed(folder)
    page = run_folder.report_place(folder)
    if notebook and page.is_file():
        attempt(write_report, notebook, page, folder, events.clear)


def assemble(folder: Path, title: str, clear: Callable[[str], str] = str) -> Path:
    """Write the executed notebook: all pushed cells, with what the session recorded of them.

    What a session recorded does not tell, its log does: why it failed. `clear` takes the secrets
    out of a text. Returns the notebook's path.
    """
    log = _text(kit_folder.path(folder, kit_folder.LOG))
    notebook = _text(kit_folder.path(folder, kit_folder.PUSHED))
    script = _text(kit_folder.path(folder, kit_folder.PUSHED_SCRIPT))
    pushed = []
    if notebook:
        cells = nbformat.from_dict(files.parse_json(notebook)["cells"])
        pushed = [cell for cell in cells if not is_added(cell)]
    elif script:
        pushed = [new_code_cell(script.rpartition(scripts.BEGINS)[2].strip("\n"))]
    cells = executed_cells.with_outputs(pushed, folder)
    failure = RunFailure.of_log(log, notebook)
    if failure and not any(has_error(cell) for cell in cells):
        name, _, message = (of_traceback(failure.traceback)[1] or failure.what).partition(": ")
        error = {"ename": name, "evalue": message, "traceback": str(failure).splitlines()}
        cells += [new_markdown_cell("## What failed"), _showing(new_output("error", **error))]
    for number, cell in enumerate(cells):
        cell["id"] = f"run-{number:03d}"
    metadata = {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}, "title": title}
    assembled = json.dumps(new_notebook(cells=cells, metadata=metadata), indent=1)
    return files.write_text(run_folder.place(folder, run_folder.EXECUTED), clear(assembled))


def has_error(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell shows an error."""
    return any(output.output_type == "error" for output in cell.get("outputs", ()))


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _showing(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return new_code_cell(outputs=[output], metadata={"tags": ["remove_input"]})
