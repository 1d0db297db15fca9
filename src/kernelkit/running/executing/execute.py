"""Execute a notebook with papermill, keep what it made, and say what failed."""

import logging
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, image
from kernelkit.errors import OF_NOTEBOOKS, RunFailedError, StorageError
from kernelkit.notebook import document
from kernelkit.notebook.interface.values import assignments
from kernelkit.running.executing import resources
from kernelkit.runs.run_folder import EXECUTED, PART
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.notebook_output import NotebookOutput

SAVE_SECONDS = 2  # between two saves while a cell prints
TRACEBACK_LINES = 12
INPUT = "/kaggle/input"
NO_INPUT = (
    f"{INPUT} is in sessions alone, as of kernelkit rehearse. To run here, too, let the notebook "
    f"read os.environ.get('KERNELKIT_INPUT_ROOT', '{INPUT}'), and set that variable to a folder "
    "that is laid out so, such as $PWD/input"
)
ERROR_LINES = 5  # of stderr, where a failed cell has no traceback
# For the output of a cell that has ended: papermill's 4 are too short for much output. The local
# Kaggle waits as long.
IOPUB_SECONDS = 120


def execute(
    content: nbformat.NotebookNode,
    folder: Path,
    values: Mapping[str, Any],
    quiet: bool,
    at_start: Sequence[str],
    directory: Path,
) -> None:
    """Run a notebook with these values, and keep it in the run's `folder`, however it ends.

    `at_start`: statements that its process runs when it has started, in the working `directory`.
    Unless `quiet`, its output is shown as it arrives. What the run uses of the machine is recorded
    in its folder, too. Raises `RunFailedError` for a notebook that fails, or one of `OF_NOTEBOOKS`
    by its exception's name, and `StorageError` if it cannot be kept.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    from kernelkit.running.executing.kernel_manager import (
        ON_STDERR,
        ON_STDOUT,
        FilteredKernel,
        QuietKernel,
    )

    # Papermill warns when it takes long to save the notebook, and says what it raises.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    content = _with_values(content, values)
    part = folder / PART
    shown = None if quiet else NotebookOutput(sys.stdout, partial(ON_STDOUT.is_new, way="message"))
    new_error = partial(ON_STDERR.is_new, way="message")
    warned = None if quiet else NotebookOutput(sys.stderr, new_error, steps_on=shown)
    begun = time.monotonic()
    death = ""

    def state() -> str:
        return f"running for {duration(int(time.monotonic() - begun))}"

    timed = nullcontext() if shown is None else shown.timed(state)
    try:
        with resources.recorded(folder), timed:
            papermill.execute_notebook(
                content,
                _escaped(part),
                kernel_name=document.KERNELSPEC["name"],
                progress_bar=False,
                autosave_cell_every=SAVE_SECONDS,
                stdout_file=shown,
                stderr_file=warned,
                cwd=str(directory.resolve()),
                extra_arguments=[f"--IPKernelApp.exec_lines={line}" for line in at_start],
                iopub_timeout=IOPUB_SECONDS,
                kernel_manager_class=QuietKernel if quiet else FilteredKernel,
            )
    except PapermillExecutionError as error:
        kind = OF_NOTEBOOKS.get(error.ename, RunFailedError)
        number = len(document.code_cells(content.cells[: error.cell_index + 1]))
        raise kind(_what_failed(error, number, folder, _last_errors(part, error.source))) from None
    except DeadKernelError:
        death = f"the notebook's process died: {resources.why_it_died(folder)}"
        raise RunFailedError(f"{death}; its partial results are in {folder}") from None
    finally:
        for stream in filter(None, (shown, warned)):
            stream.close()
        if part.is_file():
            _keep(part, folder / EXECUTED, death)


def _with_values(
    content: nbformat.NotebookNode, values: Mapping[str, Any]
) -> nbformat.NotebookNode:
    """The notebook with a cell that sets these values, as papermill adds one.

    Papermill would make text of a dict's keys.
    """
    if not values:
        return content
    content = nbformat.v4.upgrade(content)
    place = [*map(document.takes_parameters, content.cells)].index(True) + 1
    tags = {"tags": [document.INJECTED_TAG]}
    cell = nbformat.v4.new_code_cell(assignments(values), metadata=tags)
    content.cells.insert(place, cell)
    return content


def _escaped(path: Path) -> str:
    """A path as papermill takes it, which formats paths with the notebook's parameters."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _keep(part: Path, executed: Path, death: str) -> None:
    """Write what papermill saved as the run's notebook; `death`: why its process died, if it did.

    That becomes an error of the cell that ran: papermill calls it completed.
    """
    # Papermill writes cell by cell: what cannot be read back takes no notebook's place.
    try:
        content = nbformat.read(part, as_version=4)
    except Exception:  # nbformat raises a dozen kinds
        raise StorageError(
            f"{executed} could not be written completely: free some space, or choose another "
            f"folder. The incomplete file is {part.name} in the same folder"
        ) from None
    for key in ("input_path", "output_path"):
        content.metadata.get("papermill", {}).pop(key, None)
    notes = [cell.metadata.get("papermill") or {} for cell in content.cells]
    ran = [
        cell
        for cell, note in zip(content.cells, notes, strict=True)
        if cell.cell_type == "code" and note.get("start_time")
    ]
    if death and ran:
        error = {"ename": "DeadKernelError", "evalue": death, "traceback": [death]}
        ran[-1].outputs.append(nbformat.v4.new_output("error", **error))
    files.write_text(executed, nbformat.writes(content))
    part.unlink()


def _last_errors(executed: Path, source: str) -> list[str]:
    """The last lines that the failed cell wrote to stderr."""
    try:
        notebook = nbformat.read(executed, as_version=4)
    except Exception:  # nbformat raises a dozen kinds
        return []
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source == source:
            streams = [output for output in cell.outputs if output.output_type == "stream"]
            texts += [stream.text for stream in streams if stream.name == "stderr"]
    return safe_text.last_lines("".join(texts), ERROR_LINES)


def _what_failed(error: Any, number: int, folder: Path, errors: Sequence[str]) -> str:
    """What failed, in words; `errors`: the last lines that the cell wrote to stderr."""
    first = next(iter(str(error.source).strip().splitlines()), "")
    lines = safe_text.plain("\n".join(error.traceback)).rstrip().splitlines()
    if not lines:  # of a magic that IPython does not have, it writes the reason to stderr only
        lines = [*errors] or [safe_text.plain(f"{error.ename}: {error.evalue}")]
    about = image.about_missing(str(error.evalue))
    if about:
        lines.append(about)
    elif error.ename == "FileNotFoundError" and INPUT in str(error.evalue):
        lines.append(NO_INPUT)
    elif error.ename == "CalledProcessError" and errors:  # what the child said last
        lines.append(f"The process said: {errors[-1]}")
    traceback = textwrap.indent("\n".join(lines[-TRACEBACK_LINES:]), "    ")
    return (
        f"code cell {number} ({first}) of the notebook failed:\n{traceback}\n"
        f"  the cells before it are in {folder / EXECUTED}"
    )
