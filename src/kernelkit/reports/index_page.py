"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
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
    runs, level = set(filter(is_run, paths)), list(paths)
    for _ in range(DEPTH):
        below = (path for folder in level for path in folder.iterdir() if path.is_dir())
        level = [path for path in below if not path.name.startswith(".")]
        runs.update(filter(is_run, level))
    return sorted(runs)


def write(folders: Sequence[Path], page: Path) -> Path:
    """Write the page over these run folders; links are relative to it. Returns `page`.

    A run whose metrics cannot be read is listed as such.
    """
    return files.write_text(page, render(folders, page.parent, project.shown(page.parent)))


def live(folder: Path, over: bool) -> str:
    """The page over all runs below a folder as they are now, for a server that ends with `over`."""
    folders = runs_under([folder], lambda f: run_folder.is_run(f) or active.is_active(f))
    count = sum(map(active.is_active, folders))
    text = "Watching has ended." if over else f"{count or 'no'} run{'s' * (count != 1)} going on"
    state = {"text": text, "until": None, "over": over}
    return render(folders, folder, project.shown(folder), state)


def render(
    folders: Sequence[Path], base: Path, shown: Shown, live: Mapping[str, Any] | None = None
) -> str:
    """The page's HTML; links start from `base`."""
    curves = [history.curve(folder, shown.score) for folder in folders]
    runs = [
        _run(folder, base, shown, points)
        for folder, (_, points) in zip(folders, curves, strict=True)
    ]
    curve = next((column for column, _ in curves if column), "")
    columns = shown.parameters
    return RunsPage("Runs", runs, shown, columns, curve=curve, folder=base, live=live or {}).html()


def _run(folder: Path, base: Path, shown: Shown, curve: Sequence[float]) -> ShownRun:
    metrics = run_folder.metrics(folder)
    running = active.is_active(folder)
    now = active.activity(folder) if running else active.Activity()
    values, defaults, reached_end = _executed(folder)
    note = ""
    if metrics is None and not running:
        damaged = (folder / run_folder.METRICS).is_file()
        note = "metrics.json cannot be read" if damaged else "did not reach its end"
        note *= damaged or not reached_end
    metrics = metrics or {}
    parameters = run_folder.part(metrics, "parameters")
    first = shown.parameters
    name, setting = naming.run_name(folder, lambda: (values or parameters, defaults), first)
    sweep = trail.sweep_of(folder)
    where = trail.address(folder, base)
    paths = [folder / name for name in run_folder.LEFT_BY_A_RUN if (folder / name).is_file()]
    written = max((path.stat().st_mtime for path in paths), default=0.0)
    return ShownRun(
        id=where,
        name=name,
        setting=setting,
        parameters={n: value for n, value in parameters.items() if n not in naming.IGNORED},
        metrics=run_folder.numbers(metrics),
        state="running" if running else "",
        when=now.began if running else run_folder.ended(metrics, written),
        note=note,
        report=trail.link(run_folder.report_place(folder), base),
        folder=folder.resolve().name if where == "." else where,
        group=sweep.name if sweep else "",
        sweep=trail.link(sweep / trail.INDEX, base) if sweep else "",
        device=run_folder.device_name(metrics),
        data=run_folder.data_name(metrics),
        curve=curve,
        log=now.log,
    )


def _executed(folder: Path) -> tuple[naming.Values, naming.Values, bool]:
    path = run_folder.executed(folder) or folder / active.PART
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else ({}, {}, False)


@functools.lru_cache(4096)  # a page that is watched is made again and again
def _read(path: Path, _written: int) -> tuple[naming.Values, naming.Values, bool]:
    """The parameters and defaults of an executed notebook, and whether it reached its end."""
    try:  # without nbformat's validation, which takes most of the time
        notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        defaults = notebook_html.declared(notebook, PARAMETERS_TAG)
        values = notebook_html.parameters_of(notebook)
        return values, defaults, notebook_html.reached_end(notebook)
    except Exception:  # a damaged notebook can have any shape
        return {}, {}, False
