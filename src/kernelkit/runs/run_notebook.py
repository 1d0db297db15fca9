"""Run a notebook locally: strict parameters, a run folder, a report."""

import logging
import os
import shlex
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, image, processes, project
from kernelkit.errors import OF_NOTEBOOKS, RunFailedError, StorageError
from kernelkit.notebook import document, parameters
from kernelkit.notebook.reading import Program
from kernelkit.runs import active, kit_folder, loaded, measures, run_folder
from kernelkit.runs.chosen_folder import chosen_folder, own_folder
from kernelkit.runs.metrics import Metrics
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import (
    METRICS,
    NEXT,
    REPORT,
    Event,
    Events,
    LiveLine,
    NotebookOutput,
    address,
    from_here,
    working,
)
from kernelkit.terminal.exits import EndedBySignal

PARAMETERS = Event("parameters", quiet=True)
EXECUTED = run_folder.EXECUTED[0]
TRACEBACK_LINES = 12
INPUT = "/kaggle/input"
NO_INPUT = (
    f"{INPUT} is in sessions alone, as of kernelkit rehearse. To run here, too, let the notebook "
    f"read os.environ.get('KERNELKIT_INPUT_ROOT', '{INPUT}'), and set that variable to a folder "
    "that is laid out so, such as $PWD/input"
)
MUCH_MEMORY = 0.5  # share of the machine's; a run that held less did not use it up
ERROR_LINES = 5  # of stderr, where a failed cell has no traceback
# For the output of a cell that has ended: papermill's 4 are too short for much output. The local
# Kaggle waits as long.
IOPUB_SECONDS = 120
RECORD_SECONDS = 2.0  # between two lines on what a run uses of the machine


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
        lacking = lacking_packages(checked.content)
        if lacking:
            LiveLine(sys.stdout).stay(f"warning: {lacking}")
    begun = time.monotonic()
    # C++ libraries bypass Jupyter and write straight to the terminal.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning of older ipykernels
    try:
        with project.importable(checked.path), _recorded(folder):
            noting = loaded.noting(folder, checked.path, _code(checked.content), checked.values)
            working = folder if in_folder else Path.cwd()
            _execute(checked.content, folder, values, quiet, noting, working)
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


def show_parameters(notebook: Path, events: Events) -> None:
    """Tell the parameters of a notebook: defaults, and the comments, which say what each takes.

    Raises `NotebookError`.
    """
    content = document.read(notebook)
    declared = parameters.of_notebook(content, project.find_project(notebook))
    rows = []
    lines = []
    for parameter in declared.values():
        about = parameter.comment
        if parameter.rule and parameter.rule not in about:
            about = f"{parameter.rule}: {about}" if about else parameter.rule
        rows.append({"name": parameter.name, "default": parameter.default, "comment": about})
        line = f"{parameter.name} = {parameter.default!r}"
        lines.append(f"{line:<32}  {about}".rstrip())
    none = "it has none: tag a cell of plain assignments with `parameters`"
    events(PARAMETERS, "\n".join(lines) or none, parameters=rows)
    events.end()


def _code(content: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in content.cells if cell.cell_type == "code"]


def lacking_packages(content: nbformat.NotebookNode) -> str:
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


@contextmanager
def _recorded(folder: Path) -> Iterator[None]:
    """During a block, record in the run's folder what this process and its descendants use.

    The file is CSV: seconds since the block began, bytes of memory, and seconds of CPU in all.
    """
    over = threading.Event()
    recorder = threading.Thread(target=_record, args=(folder, over))
    recorder.start()
    try:
        yield
    finally:
        over.set()
        recorder.join()


def _record(folder: Path, over: threading.Event) -> None:
    path = kit_folder.path(folder, kit_folder.RESOURCES)
    begun = time.monotonic()
    with suppress(OSError):  # a full disk must not end the run
        path.parent.mkdir(exist_ok=True)
        with path.open("w", buffering=1, encoding="utf-8") as lines:
            lines.write("seconds,memory,cpu_seconds\n")
            while not over.wait(RECORD_SECONDS):
                memory, cpu = processes.usage(os.getpid())
                lines.write(f"{time.monotonic() - begun:.1f},{memory},{cpu:.1f}\n")


def _execute(
    content: nbformat.NotebookNode,
    folder: Path,
    values: Mapping[str, Any],
    quiet: bool,
    arguments: Sequence[str],
    working: Path,
) -> None:
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    from kernelkit.runs.kernel_notes import ERRORS, OUTPUT, KernelWithoutNotes, QuietKernel

    # Papermill warns when it takes long to save the notebook, and says what it raises.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    if values:
        content = nbformat.v4.upgrade(content)
        place = [*map(document.takes_parameters, content.cells)].index(True) + 1
        # Papermill would make text of a dict's keys.
        source = parameters.assignments(values)
        tags = {"tags": [document.INJECTED_TAG]}
        content.cells.insert(place, nbformat.v4.new_code_cell(source, metadata=tags))
    part = folder / active.PART
    shown = None if quiet else NotebookOutput(sys.stdout, partial(OUTPUT.is_new, way="message"))
    new_error = partial(ERRORS.is_new, way="message")
    warned = None if quiet else NotebookOutput(sys.stderr, new_error, steps_on=shown)
    begun = time.monotonic()
    death = ""

    def state() -> str:
        return f"running for {duration(int(time.monotonic() - begun))}"

    timed = nullcontext() if shown is None else shown.timed(state)
    try:
        with timed:
            papermill.execute_notebook(
                content,
                _escaped(part),
                kernel_name=document.KERNELSPEC["name"],
                progress_bar=False,
                autosave_cell_every=active.SAVE_SECONDS,
                stdout_file=shown,
                stderr_file=warned,
                cwd=str(working.resolve()),
                extra_arguments=list(arguments),
                iopub_timeout=IOPUB_SECONDS,
                kernel_manager_class=QuietKernel if quiet else KernelWithoutNotes,
            )
    except PapermillExecutionError as error:
        kind = OF_NOTEBOOKS.get(error.ename, RunFailedError)
        number = len(document.code_cells(content.cells[: error.cell_index + 1]))
        raise kind(_what_failed(error, number, folder, _last_errors(part, error.source))) from None
    except DeadKernelError:
        death = f"the notebook's process died: {_why_it_died(folder)}"
        raise RunFailedError(f"{death}; its partial results are in {folder}") from None
    finally:
        for stream in filter(None, (shown, warned)):
            stream.close()
        if part.is_file():
            _keep(part, folder / EXECUTED, death)


def _why_it_died(folder: Path) -> str:
    """What may have ended a notebook's process, by the memory that was recorded."""
    peak = 0
    with suppress(OSError, ValueError, IndexError):  # nothing was recorded
        lines = kit_folder.path(folder, kit_folder.RESOURCES).read_text("utf-8").splitlines()
        peak = max(int(float(line.split(",")[1])) for line in lines[1:])
    whole = 0
    if hasattr(os, "sysconf"):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    others = "it ended itself (exit(), os._exit, a crash), or another host of the same run died"
    if peak and whole and peak < MUCH_MEMORY * whole:
        return f"{others}. The run held {peak / 1e6:.0f} MB of this machine's {whole / 1e9:.0f} GB"
    return f"memory ran out, {others}"


def _escaped(path: Path) -> str:
    """A path as papermill takes it, which formats paths with the notebook's parameters."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _keep(part: Path, executed: Path, death: str) -> None:
    """Rename the notebook that papermill wrote; `death`: why its process died, "" if it did not.

    That becomes an error of the cell that ran: papermill calls it completed.
    """
    # Papermill writes cell by cell; the file is renamed only if it can be read back.
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
    lines = safe_text.plain("".join(texts)).rstrip().splitlines()
    return [line for line in lines if not safe_text.note_level(line)][-ERROR_LINES:]


def _what_failed(error: Any, number: int, folder: Path, errors: Sequence[str]) -> str:
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
