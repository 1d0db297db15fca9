"""HTML pages of executed notebooks and run folders, and one page over all runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kernelkit import files
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.reports import index_page, pushed, trail
from kernelkit.reports.report_page import write_report
from kernelkit.run_folders import kit_folder, run_folder

INDEX = "index.html"


def report(
    paths: Sequence[Path],
    *,
    index: bool = False,
    output: Path | None = None,
    left_out: Callable[[Path, str], None] | None = None,
) -> list[Path]:
    """Write a report for each path, and with `index` a page over all runs; returns the pages.

    A path is an executed notebook, a run folder, the folder of a sweep, which stands for those of
    its runs that left something, or (with `index`) a folder of run folders. `output`: where the
    one page goes; by default `report.html` in the run folder, `NAME.html` beside a notebook, and
    `index.html` in the first path. With `index` a run that has a report newer than itself keeps it.

    A folder without a run costs the other paths nothing: `left_out` is called with it and the
    reason, so that a glob over all folders works. Raises `ParameterError` for a path that is
    nowhere and where no path has a run, and `NotebookError` for notebooks that cannot be read, when
    the other reports are written; with `index` such runs are listed without a report instead.
    Raises `StorageError` where there can be no `output`.
    """
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise ParameterError(f"nothing at {', '.join(missing)}")
    if output is not None:
        files.check_folder(output.parent)
    if index:
        return [_index(paths, output)]
    reasons = {path: reason for path in paths if (reason := _why_without(path))}
    found = [source for path in paths for source in _sources(path)]
    if output is not None and max(len(found), len(paths)) > 1:
        raise ParameterError(
            f"--output names one page and there are {len(paths)} paths with "
            f"{len(found)} reports to write"
        )
    if not found:
        raise ParameterError("\n".join(f"{path} {reason}" for path, reason in reasons.items()))
    for path, reason in reasons.items():
        if left_out:
            left_out(path, reason)
    return _each(found, output)


def _each(sources: Sequence[Path], output: Path | None) -> list[Path]:
    pages, broken = [], []
    for source in sources:
        try:
            pages.append(_one(source, output))
        except NotebookError as error:
            broken.append(str(error))
    if broken:
        raise NotebookError("\n".join(broken))
    return pages


def _sources(path: Path) -> Iterator[Path]:
    """What of a path has a report of its own: notebooks and run folders."""
    if path.is_file() or index_page.is_run(path):
        yield path
    elif _is_sweep(path):
        yield from sorted(folder for folder in path.iterdir() if index_page.is_run(folder))


def _is_sweep(path: Path) -> bool:
    return (path / trail.SWEEP).is_file()


def _why_without(path: Path) -> str:
    """Why there is no report for a path, or not of all that is in it; "" where there is."""
    if path.is_file() or index_page.is_run(path):
        return ""
    if _is_sweep(path):
        planned = trail.planned(path)
        without = [id for id in planned if not index_page.is_run(path / id)]
        if planned and not without:
            return ""
        ended = f"{len(planned) - len(without)} of its {len(planned)}" if planned else "none of its"
        return f"is a sweep, and {ended} runs have ended: the command that began it goes on with it"
    if kit_folder.path(path, kit_folder.STATE).is_file():
        return "holds a run that was cut off or goes on: the command that began it takes it up"
    below = index_page.runs_under([path])
    nothing = "is no run folder: it holds neither metrics.json nor an executed notebook"
    return f"{nothing}; for a page over the runs below it add --index" if below else nothing


def _one(path: Path, output: Path | None) -> Path:
    if path.is_file():
        return write_report(path, output or path.with_suffix(".html"))
    executed = run_folder.executed(path) or pushed.assemble(path, path.resolve().name)
    return write_report(executed, output or run_folder.report_place(path), path)


def _index(paths: Sequence[Path], output: Path | None) -> Path:
    folders = index_page.runs_under(paths)
    if not folders:
        raise ParameterError(f"no run folder in {', '.join(map(str, paths))}")
    for folder in folders:
        if run_folder.executed(folder) is None and run_folder.metrics(folder) is None:
            continue  # a damaged run is listed without a report
        if not _up_to_date(folder):
            with contextlib.suppress(NotebookError):  # the page has no link for these
                _one(folder, None)
    page = output or paths[0] / INDEX
    return index_page.write(folders, page)


def _up_to_date(folder: Path) -> bool:
    made = run_folder.report_place(folder)
    sources = [folder / name for name in (*run_folder.EXECUTED, run_folder.METRICS)]
    newest = max((path.stat().st_mtime for path in sources if path.is_file()), default=0.0)
    return made.is_file() and made.stat().st_mtime >= newest
