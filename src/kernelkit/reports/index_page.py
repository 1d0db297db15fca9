"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import files, project
from kernelkit.reports import many_runs, naming, trail
from kernelkit.reports.many_runs import ShownRun
from kernelkit.run_folders import history, run_folder
from kernelkit.shown import Shown

DEPTH = 2  # runs/NAME and runs/SWEEP/NAME; deeper lie a rehearsal's own files
MOST_NAMED = 4  # parameters in the name of a run that no person named
_LEFT_BY_A_RUN = (run_folder.METRICS, *run_folder.EXECUTED)


def is_run(folder: Path) -> bool:
    """Whether the folder holds what a run leaves."""
    return any((folder / n).is_file() for n in _LEFT_BY_A_RUN)


def runs_under(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the paths and up to two levels below them, sorted."""
    found: set[Path] = set()
    for path in paths:
        level = [path]
        for _ in range(DEPTH + 1):
            found.update(folder for folder in level if is_run(folder))
            level = [
                c
                for folder in level
                for c in folder.iterdir()
                if c.is_dir() and not c.name.startswith(".")
            ]
    return sorted(found)


def write(folders: Sequence[Path], page: Path) -> Path:
    """Write the page over these run folders, newest first; links are relative to it.

    A run whose metrics cannot be read is listed as such. Reports and pages of sweeps get a link
    back to this one. Returns `page`.
    """
    files.write_text(page, render(folders, page.parent, project.shown(page.parent)))
    sweeps = {sweep for folder in folders if (sweep := trail.sweep_of(folder))}
    for sweep in sweeps:
        if (sweep / trail.INDEX).is_file() and sweep / trail.INDEX != page.resolve():
            back = {trail.ALL_RUNS: trail.address(page, sweep)}
            trail.link_back(sweep / trail.INDEX, back)
    for folder in folders:
        report = run_folder.report_place(folder)
        if report.is_file():
            trail.link_back(report, trail.way_back(report.parent, page))
    return page


def render(folders: Sequence[Path], base: Path, shown: Shown) -> str:
    """The page's HTML; `base` is the folder that links start from."""
    found = {folder: run_folder.metrics(folder) for folder in folders}
    given = {folder: run_folder.part(found[folder] or {}, "parameters") for folder in folders}
    differ = naming.varying([values for values in given.values() if values])
    names = _names(given, shown)
    runs, curve = [], ""
    for folder in folders:
        column, values = history.curve(folder, (*history.of_score(shown.score), *history.LEARNT))
        curve = curve or column
        kept = {
            name: given[folder][name]
            for name in (*shown.parameters, *differ)
            if name in given[folder]
        }
        runs.append(_run(folder, base, found[folder], kept, names[folder], values))
    counts = Counter(run.group for run in runs if run.group)
    pages = {run.group: run.sweep for run in runs if run.group}
    return many_runs.render(
        "Runs",
        runs,
        shown,
        columns=shown.parameters,
        curve=curve,
        sweeps=[{"name": name, "href": pages[name], "count": n} for name, n in counts.items()],
    )


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
            known = {name: given[folder][name] for name in order if name in given[folder]}
            names[folder] = _name(own, planned.get(own) or known, sweep is not None)
    return names


def _name(folder: str, values: Mapping[str, Any], in_sweep: bool) -> tuple[str, str]:
    most = 0 if in_sweep else MOST_NAMED
    setting = {name: value for name, value in values.items() if name != naming.SEED}
    if in_sweep or naming.is_made_up(folder):
        return (
            naming.setting_text(values, most) or folder,
            naming.setting_text(setting, most) or folder,
        )
    return folder, folder


def _run(
    folder: Path,
    base: Path,
    found: Mapping[str, Any] | None,
    parameters: Mapping[str, Any],
    names: tuple[str, str],
    curve: Sequence[float],
) -> ShownRun:
    metrics = found or {}
    report, sweep = run_folder.report_place(folder), trail.sweep_of(folder)
    where = trail.address(folder, base)
    return ShownRun(
        id=where,
        name=names[0],
        setting=names[1],
        parameters=parameters,
        metrics=run_folder.numbers(metrics),
        when=_ended(folder, metrics),
        note="" if found is not None else _without(folder),
        report=trail.address(report, base) if report.is_file() else "",
        folder=folder.resolve().name if where == "." else where,
        group=sweep.name if sweep else "",
        sweep=trail.address(sweep / trail.INDEX, base)
        if sweep and (sweep / trail.INDEX).is_file()
        else "",
        device=run_folder.device_name(metrics),
        data=_data(metrics),
        curve=curve,
    )


def _ended(folder: Path, metrics: Mapping[str, Any]) -> float:
    """When the run ended, as it says itself; else when its last file was written."""
    files_of_run = [path for path in folder.iterdir() if path.name in _LEFT_BY_A_RUN]
    written = max((path.stat().st_mtime for path in files_of_run), default=0.0)
    return run_folder.ended(metrics, written)


def _without(folder: Path) -> str:
    there = (folder / run_folder.METRICS).is_file()
    return "metrics.json cannot be read" if there else "did not reach its end"


def _data(metrics: Mapping[str, Any]) -> str:
    images = run_folder.part(metrics, "data").get("val")
    source = run_folder.data_name(metrics)
    return f"{source} ({images:,} val)" if isinstance(images, int) else source
