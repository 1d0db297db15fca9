"""HTML pages of executed notebooks and run folders, and one page over all runs."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.notebook import document
from kernelkit.pages.many_runs import index_page
from kernelkit.pages.one_run import push_report
from kernelkit.pages.one_run.report_page import write_report
from kernelkit.pages.shared import standalone, trail
from kernelkit.pages.shared.attempts import attempt
from kernelkit.runs import run_folder, run_state
from kernelkit.scores.metrics import Metrics

NO_RUN = (
    "is no run's folder: it has neither metrics.json nor an executed notebook. For a page over "
    "the runs below a folder add --index"
)
NO_NOTEBOOK = "is no notebook: a .py (py:percent) or .ipynb has a report"
NO_FOLDER = "is no run's folder and has none below it: the page over all runs lists folders of runs"


def report(
    paths: Sequence[Path],
    index: bool = False,
    left_out: Callable[[str], object] = lambda line: None,
    tell: Callable[[str], object] = lambda line: None,
) -> list[Path]:
    """Write a report for each path, and with `index` a page over all runs; returns the pages.

    A path is an executed notebook, a run folder, or the folder of a sweep, which stands for those
    of its runs that left something; with `index` one of these folders, or one of run folders. A
    page is `report.html` in the run folder, `NAME.html` beside a notebook, and `index.html` in the
    first path, or beside it if that is itself a run or a sweep. A file of that name that the kit
    did not write stays: the report is written among the kit's own files, and an index is refused.
    With `index` a run keeps a report that is newer than itself and links to the pages above.

    A folder without a run, a file that is no notebook, and with `index` any file, do not stop the
    others: `left_out` is called with a line about each, so that a glob works, and `tell` with how
    far the command is. Raises `ParameterError` for a path that does not exist and if no path has a
    run; `NotebookError` for notebooks that cannot be read, once the other reports are written (with
    `index` such runs are listed with the reason instead).
    """
    if missing := [str(path) for path in paths if not path.exists()]:
        raise ParameterError(f"no run at {', '.join(missing)}: run or rehearse a notebook first")
    if index:
        return [_index(paths, left_out, tell)]
    runs = {path: _runs_of(path) for path in paths}
    lines = []
    for path, own in runs.items():
        if not own:
            why = NO_NOTEBOOK if path.is_file() else NO_RUN
            lines.append(f"{path} {why}")
    if not any(runs.values()):
        raise ParameterError("\n".join(lines))
    for line in lines:
        left_out(line)
    sources = list(itertools.chain.from_iterable(runs.values()))
    pages, failed = [], []
    for number, source in enumerate(sources, 1):
        tell(f"report {number:,} of {len(sources):,}")
        page, error = attempt(_one, source)
        if error:
            failed.append(error)
        else:
            pages.append(page)
    if failed:
        raise type(failed[0])("\n".join(map(str, failed)))
    return pages


def _runs_of(path: Path) -> list[Path]:
    """The notebooks and run folders of a path that have a report."""
    if run_folder.is_run(path) or (path.is_file() and path.suffix in document.ENDINGS):
        return [path]
    if (path / trail.SWEEP).is_file():
        return sorted(filter(run_folder.is_run, path.iterdir()))
    return []


def _one(path: Path) -> Path:
    if path.is_file():
        return write_report(path, path.with_suffix(".html"), path.parent)
    executed = run_folder.executed(path) or push_report.assemble(path, path.resolve().name)
    return write_report(executed, run_folder.report_place(path), path)


def _index(
    paths: Sequence[Path], left_out: Callable[[str], object], tell: Callable[[str], object]
) -> Path:
    runs = dict.fromkeys(index_page.runs_under(paths))  # {folder: why it has no report}
    if not runs:
        below = ", ".join(map(str, paths))
        raise ParameterError(f"no run folder in {below}: run or rehearse a notebook first")
    for path in paths:
        if not index_page.runs_under([path]):
            left_out(f"{path} {NO_FOLDER}")
    first = paths[0]
    above = any(first in folder.parents for folder in runs)
    # A sweep's folder has the sweep's page, so what lists its runs' folders stands above it.
    page = trail.index_over(first / "run" if above else first)
    if not standalone.is_free(page):
        raise ParameterError(f"{page} was not written by the kit and would be replaced: rename it")
    tell(f"the page over {len(runs):,} runs")
    if not page.is_file():
        index_page.write(runs, page)  # so that the reports link to it
    for number, folder in enumerate(runs, 1):
        tell(f"report {number:,} of {len(runs):,}")
        # A damaged run is listed without a report.
        is_damaged = run_folder.executed(folder) is None and Metrics.of_run(folder).is_damaged
        if not is_damaged and not _up_to_date(folder):
            runs[folder] = attempt(_one, folder)[1]
    tell(f"the page over {len(runs):,} runs")
    return index_page.write(runs, page)


def _up_to_date(folder: Path) -> bool:
    """Whether a run has a report that is newer than the run, and links to the pages above it.

    That of a run which is not over says whether it went on.
    """
    page = run_folder.report_place(folder)
    is_open = run_state.read(folder).over is False
    if is_open or not page.is_file() or page.stat().st_mtime < run_folder.written(folder):
        return False
    text = page.read_text("utf-8", "replace")
    above = trail.way_back(folder, page.parent)
    return all(f'href="{address}"' in text for address in above.values())
