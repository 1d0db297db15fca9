"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import nbformat
from nbformat.v4 import new_notebook

from kernelkit import files, project
from kernelkit.notebooks.document import PARAMETERS_TAG
from kernelkit.reports import naming, notebook_html, trail
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.run_folders import history, run_folder
from kernelkit.shown import Shown

DEPTH = 2  # runs/NAME and runs/SWEEP/NAME; deeper lie a rehearsal's own files


def runs_under(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the paths and up to two levels below them, sorted."""
    runs: set[Path] = set()
    for path in paths:
        level = [path]
        for _ in range(DEPTH + 1):
            runs.update(folder for folder in level if run_folder.is_run(folder))
            below = (path for folder in level for path in folder.iterdir() if path.is_dir())
            level = [path for path in below if not path.name.startswith(".")]
    return sorted(runs)


def write(folders: Sequence[Path], page: Path) -> Path:
    """Write the page over these run folders, newest first; links are relative to it.

    A run whose metrics cannot be read is listed as such. Reports and pages of sweeps get a link
    back to this one, and reports the names of the runs as they are here. Returns `page`.
    """
    shown = project.shown(page.parent)
    names = _names(folders, shown.parameters)
    files.write_text(page, render(names, page.parent, shown))
    for sweep in {sweep for folder in folders if (sweep := trail.sweep_of(folder))}:
        if sweep / trail.INDEX != page.resolve():
            trail.link_back(sweep / trail.INDEX, {trail.ALL_RUNS: trail.address(page, sweep)})
    for folder, (name, _) in names.items():
        report = run_folder.report_place(folder)
        trail.link_back(report, trail.way_back(report.parent, page), name)
    return page


def _names(folders: Sequence[Path], first: Sequence[str]) -> dict[Path, tuple[str, str]]:
    planned = {sweep: trail.planned(sweep) for sweep in set(map(trail.sweep_of, folders)) if sweep}
    return {
        folder: naming.run_name(
            folder, partial(_parameters, folder), first, planned.get(folder.resolve().parent, {})
        )
        for folder in folders
    }


def _parameters(folder: Path) -> tuple[naming.Values, naming.Values]:
    """Of the executed notebook the values of all parameters, and their defaults."""
    notebook = _executed(folder) or new_notebook()
    return notebook_html.parameters_of(notebook), notebook_html.declared(notebook, PARAMETERS_TAG)


def _executed(folder: Path) -> nbformat.NotebookNode | None:
    path = run_folder.executed(folder)
    try:
        return nbformat.read(path, as_version=4) if path else None
    except Exception:  # nbformat raises a dozen kinds
        return None


def render(names: Mapping[Path, tuple[str, str]], base: Path, shown: Shown) -> str:
    """The page's HTML; `names`: {run folder: its name, its setting}; links start from `base`."""
    runs, curve = [], ""
    for folder, names_of_run in names.items():
        column, points = history.curve(folder, shown.score)
        curve = curve or column
        runs.append(replace(_run(folder, base, names_of_run), curve=points))
    columns = shown.parameters
    return RunsPage("Runs", runs, shown, columns, curve=curve, folder=base).html()


def _run(folder: Path, base: Path, names: tuple[str, str]) -> ShownRun:
    note, metrics = "", run_folder.metrics(folder)
    if metrics is None:
        damaged = (folder / run_folder.METRICS).is_file()
        reached = "" if notebook_html.reached_end(_executed(folder)) else "did not reach its end"
        note = "metrics.json cannot be read" if damaged else reached
    metrics = metrics or {}
    sweep = trail.sweep_of(folder)
    where = trail.address(folder, base)
    paths = [folder / name for name in run_folder.LEFT_BY_A_RUN if (folder / name).is_file()]
    written = max((path.stat().st_mtime for path in paths), default=0.0)
    given = run_folder.part(metrics, "parameters").items()
    images = run_folder.part(metrics, "data").get("val")
    source = run_folder.data_name(metrics)
    return ShownRun(
        id=where,
        name=names[0],
        setting=names[1],
        parameters={name: value for name, value in given if name not in naming.IGNORED},
        metrics=run_folder.numbers(metrics),
        when=run_folder.ended(metrics, written),
        note=note,
        report=trail.link(run_folder.report_place(folder), base),
        folder=folder.resolve().name if where == "." else where,
        group=sweep.name if sweep else "",
        sweep=trail.link(sweep / trail.INDEX, base) if sweep else "",
        device=run_folder.device_name(metrics),
        data=f"{source} ({images:,} val)" if isinstance(images, int) else source,
    )
