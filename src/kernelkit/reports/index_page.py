"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, project
from kernelkit.notebooks.document import PARAMETERS_TAG
from kernelkit.reports import naming, notebook_html, trail
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.run_folders import active, history, run_folder
from kernelkit.shown import Shown

DEPTH = 2  # runs/NAME and runs/SWEEP/NAME; deeper lie a rehearsal's own files


def runs_under(
    paths: Sequence[Path], is_run: Callable[[Path], bool] = run_folder.is_run
) -> list[Path]:
    """The run folders among the paths and up to two levels below them, sorted."""
    runs: set[Path] = set()
    for path in paths:
        level = [path]
        for _ in range(DEPTH + 1):
            runs.update(filter(is_run, level))
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


def live(folder: Path, over: bool) -> str:
    """The page over all runs below a folder as they are now, for a server that ends with `over`."""
    shown = project.shown(folder)
    folders = runs_under([folder], lambda f: run_folder.is_run(f) or active.is_active(f))
    names = _names(folders, shown.parameters)
    count = sum(map(active.is_active, names))
    text = "Watching has ended." if over else f"{count or 'no'} run{'s' * (count != 1)} going on"
    return render(names, folder, shown, {"text": text, "until": None, "over": over})


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
    values, defaults, _ = _executed(folder)
    return values, defaults


def _executed(folder: Path) -> tuple[naming.Values, naming.Values, bool]:
    path = run_folder.executed(folder) or folder / active.PART
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else ({}, {}, False)


@functools.lru_cache(4096)  # a page that is watched is made again and again
def _read(path: Path, _written: int) -> tuple[naming.Values, naming.Values, bool]:
    """Of an executed notebook the parameters, their defaults, and whether it reached its end."""
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception:  # nbformat raises a dozen kinds
        return {}, {}, False
    defaults = notebook_html.declared(notebook, PARAMETERS_TAG)
    reached = notebook_html.reached_end(notebook)
    return notebook_html.parameters_of(notebook), defaults, reached


def render(
    names: Mapping[Path, tuple[str, str]],
    base: Path,
    shown: Shown,
    live: Mapping[str, Any] | None = None,
) -> str:
    """The page's HTML; `names`: {run folder: its name, its setting}; links start from `base`."""
    runs, curve = [], ""
    for folder, names_of_run in names.items():
        column, points = history.curve(folder, shown.score)
        curve = curve or column
        runs.append(replace(_run(folder, base, names_of_run), curve=points))
    columns = shown.parameters
    return RunsPage("Runs", runs, shown, columns, curve=curve, folder=base, live=live or {}).html()


def _run(folder: Path, base: Path, names: tuple[str, str]) -> ShownRun:
    note, metrics, now = "", run_folder.metrics(folder), active.Activity()
    running = active.is_active(folder)
    if running:
        now = active.activity(folder)
    elif metrics is None:
        damaged = (folder / run_folder.METRICS).is_file()
        reached = "" if _executed(folder)[2] else "did not reach its end"
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
        state="running" if running else "",
        when=now.began if running else run_folder.ended(metrics, written),
        note=note,
        report=trail.link(run_folder.report_place(folder), base),
        folder=folder.resolve().name if where == "." else where,
        group=sweep.name if sweep else "",
        sweep=trail.link(sweep / trail.INDEX, base) if sweep else "",
        device=run_folder.device_name(metrics),
        data=f"{source} ({images:,} val)" if isinstance(images, int) else source,
        log=now.log,
    )
