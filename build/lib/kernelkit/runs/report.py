"""HTML pages of executed notebooks and run folders, and one page over all runs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from kernelkit import files
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.runs import index_page, run_folder
from kernelkit.runs.report_page import write_report

INDEX = "index.html"


def report(paths: Sequence[Path], *, index: bool = False, output: Path | None = None) -> list[Path]:
    """Write a report for each path, and with `index` a page over all runs; returns the pages.

    A path is an executed notebook, a run folder, or (with `index`) a folder of run folders.
    `output`: where the one page goes; by default `report.html` in the run folder, `NAME.html`
    beside a notebook, and `index.html` in the first path. With `index` a run that has a report
    newer than itself keeps it.

    Raises `ParameterError` for paths that fit neither, and `NotebookError` for a notebook that
    cannot be read; with `index` such runs are listed without a report instead. Raises
    `StorageError` where there can be no `output`.
    """
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise ParameterError(f"nothing at {', '.join(missing)}")
    if output is not None:
        files.check_folder(output.parent)
    if index:
        return [_index(paths, output)]
    if output is not None and len(paths) > 1:
        raise ParameterError(f"--output names one page and there are {len(paths)} paths")
    return [_one(path, output) for path in paths]


def _one(path: Path, output: Path | None) -> Path:
    if path.is_file():
        return write_report(path, output or path.with_suffix(".html"))
    if not index_page.is_run(path):
        raise ParameterError(
            f"{path} is no run folder: it holds neither metrics.json nor an executed notebook; "
            "for a page over the runs in it add --index"
        )
    executed = run_folder.executed(path)
    if executed is None:  # Kaggle hands out files and a log, not the executed notebook
        made = run_folder.report(path, path.resolve().name)
        return files.write_text(output, made.read_text(encoding="utf-8")) if output else made
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
