"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.reports import naming, trail
from kernelkit.reports.many_runs import RunsPage, ShownRun
from kernelkit.run_folders import history, run_folder
from kernelkit.shown import Shown

DEPTH = 2  # runs/NAME and runs/SWEEP/NAME; deeper lie a rehearsal's own files
MOST_NAMED = 4  # parameters in the name of a run that no person named
_LEFT_BY_A_RUN = (run_folder.METRICS, *run_folder.EXECUTED)


def is_run(folder: Path) -> bool:
    """Whether the folder holds what a run leaves."""
    return any((folder / name).is_file() for name in _LEFT_BY_A_RUN)


def runs_under(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the paths and up to two levels below them, sorted."""
    runs: set[Path] = set()
    for path in paths:
        level = [path]
        for _ in range(DEPTH + 1):
            runs.update(folder for folder in level if is_run(folder))
            below = (path for folder in level for path in folder.iterdir() if path.is_dir())
            level = [path for path in below if not path.name.startswith(".")]
    return sorted(runs)


def write(folders: Sequence[Path], page: Path) -> Path:
    """Write the page over these run folders, newest first; links are relative to it.

    A run whose metrics cannot be read is listed as such. Reports and pages of sweeps get a link
    back to this one. Returns `page`.
    """
    files.write_text(page, render(folders, page.parent, project.shown(page.parent)))
    for sweep in {sweep for folder in folders if (sweep := trail.sweep_of(folder))}:
        if sweep / trail.INDEX != page.resolve():
            trail.link_back(sweep / trail.INDEX, {trail.ALL_RUNS: trail.address(page, sweep)})
    for report in map(run_folder.report_place, folders):
        trail.link_back(report, trail.way_back(report.parent, page))
    return page


def render(folders: Sequence[Path], base: Path, shown: Shown) -> str:
    """The page's HTML; `base` is the folder that links start from."""
    metrics = {folder: run_folder.metrics(folder) for folder in folders}
    given = {folder: run_folder.part(metrics[folder] or {}, "parameters") for folder in folders}
    names = _names(given, shown)
    columns = dict.fromkeys([*shown.parameters, *naming.varying([*filter(None, given.values())])])
    runs, curve = [], ""
    for folder in folders:
        run = _run(folder, base, metrics[folder], names[folder])
        values = {name: given[folder][name] for name in columns if name in given[folder]}
        column, points = history.curve(folder, shown.score)
        curve = curve or column
        runs.append(replace(run, parameters=values, curve=points))
    counts = Counter((run.group, run.sweep) for run in runs if run.group)
    sweeps = [{"name": name, "href": page, "count": n} for (name, page), n in counts.items()]
    page = RunsPage("Runs", runs, shown, columns=shown.parameters, curve=curve, sweeps=sweeps)
    return page.html()


def _names(given: Mapping[Path, Mapping[str, Any]], shown: Shown) -> dict[Path, tuple[str, str]]:
    """The name of each run and its setting, the name less the seed.

    A name that a person gave a run stays. Any other run is named by the parameters in which it
    differs from the other runs of its sweep, or from the other runs outside of sweeps.
    """
    groups: dict[Path | None, list[Path]] = defaultdict(list)
    for folder in given:
        groups[trail.sweep_of(folder)].append(folder)
    names = {}
    for sweep, folders in groups.items():
        planned = trail.planned(sweep) if sweep else {}
        differ = naming.varying([given[folder] for folder in folders if given[folder]])
        order = sorted(differ, key=lambda name: name not in shown.parameters)
        for folder in folders:
            own = folder.resolve().name
            names[folder] = own, own
            if sweep or naming.is_made_up(own):
                values = planned.get(own) or {
                    n: given[folder][n] for n in order if n in given[folder]
                }
                setting = {name: value for name, value in values.items() if name != naming.SEED}
                most = 0 if sweep else MOST_NAMED
                names[folder] = (
                    naming.setting_text(values, most) or own,
                    naming.setting_text(setting, most) or own,
                )
    return names


def _run(
    folder: Path, base: Path, metrics: Mapping[str, Any] | None, names: tuple[str, str]
) -> ShownRun:
    note = ""
    if metrics is None:
        damaged = (folder / run_folder.METRICS).is_file()
        note = "metrics.json cannot be read" if damaged else "did not reach its end"
    metrics = metrics or {}
    sweep = trail.sweep_of(folder)
    where = trail.address(folder, base)
    paths = [folder / name for name in _LEFT_BY_A_RUN if (folder / name).is_file()]
    written = max((path.stat().st_mtime for path in paths), default=0.0)
    images = run_folder.part(metrics, "data").get("val")
    source = run_folder.data_name(metrics)
    return ShownRun(
        id=where,
        name=names[0],
        setting=names[1],
        parameters={},
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
