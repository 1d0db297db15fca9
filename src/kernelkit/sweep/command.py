"""One command: read a sweep, run what is left of it, and leave a table and a page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import click

from kernelkit import project
from kernelkit.errors import ParameterError
from kernelkit.sweep.config import specification
from kernelkit.sweep.config.specification import PlannedRun, Specification
from kernelkit.sweep.report.progress import expected_seconds, preview
from kernelkit.sweep.report.sweep_report import SweepReport
from kernelkit.sweep.store import records
from kernelkit.sweep.store.records import SweepFolder
from kernelkit.sweep.workers.engine import Engine, Listed, RunSource, WorkerLimits
from kernelkit.sweep.workers.processes import launcher

KAGGLE, REHEARSAL = "kaggle-{}", "rehearsal-{}"  # a sweep's folder, where it ran elsewhere


def sweep(
    file: Path,
    parameters: Iterable[str] = (),
    *,
    workers: int = 0,
    output: Path | None = None,
    dry_run: bool = False,
    retry_failed: bool = False,
    force: bool = False,
    yes: bool = False,
    report: bool = True,
    time_limit: float | None = None,
    dask: str | None = None,
    kaggle: bool = False,
    local: bool = False,
    metadata: Path | None = None,
    accelerator: str | None = None,
    timeout: float | None = None,
    stream: TextIO | None = None,
) -> Path:
    """Run a sweep, or what is left of it; returns its folder.

    parameters    `name=value` strings that replace base values and axes; a list replaces an
                  axis's values, as in `image_size=[192,224]`
    workers       runs at a time; default the file's `workers`, then one for every two cores
    output        the sweep's folder; default the project's runs/<file's name>, on Kaggle
                  runs/kaggle-<name>, rehearsed runs/rehearsal-<name>
    dry_run       show the runs and how they stand, with `kaggle` the preflight of the push too,
                  and run nothing
    retry_failed  run again what failed or took too long
    force         run everything again
    yes           a grid past 1,000 runs is meant
    report        a report.html for every run
    time_limit    minutes a run may take, in place of the file's
    dask          the address of a Dask scheduler whose workers are to run them
    kaggle        in a Kaggle session, with the file's `kaggle:` block over the rest of it, on the
                  `metadata`'s machine or the `accelerator` given, for at most `timeout` minutes;
                  runs that differ in their parameter `accelerator` have a session each, one after
                  the other; `local` rehearses that at the desk

    Raises `ParameterError` or `NotebookError` before anything runs, and `RunFailedError` with a
    list when runs failed; the others are done then.
    """
    _check(workers, dask=dask, kaggle=kaggle, local=local)
    _check_minutes({"--time-limit": time_limit, "--timeout": timeout})
    asked = specification.read(file, parameters, many=yes, kaggle=kaggle)
    name = _place(local=local).format(asked.name) if kaggle else asked.name
    folder = SweepFolder(output or project.runs_here() / name)
    workers = workers or asked.workers or max(1, (os.cpu_count() or 2) // 2)
    minutes = asked.time_limit if time_limit is None else time_limit
    limits = WorkerLimits(workers, 60 * minutes, int(asked.memory * 1e9))
    asked = replace(asked, time_limit=minutes)
    if asked.search:
        from kernelkit.sweep import search

        search.check(asked)
        if dask:
            raise ParameterError("a search runs at home or on Kaggle: drop --dask")

    def run_there(sweep_report: SweepReport, left: Sequence[PlannedRun]) -> None:
        from kernelkit.sweep.backends.on_kaggle import SessionOptions, run_on_kaggle

        options = SessionOptions(
            local, metadata, accelerator, timeout, dry_run, retry_failed, force
        )
        run_on_kaggle(sweep_report, left, options)

    if dry_run:
        left = _left(folder, asked.runs, retry_failed=retry_failed, force=force)
        sweep_report = SweepReport(
            asked, folder, asked.runs, len(left), report=report, stream=stream
        )
        shown = (
            _searched(asked) if asked.search else preview(sweep_report.table(), workers, len(left))
        )
        click.echo(shown, file=stream)
        if kaggle:
            run_there(sweep_report, left)
        return folder.path
    with folder.locked():
        folder.claim(name, asked.notebook.name)
        left = _left(folder, asked.runs, retry_failed=retry_failed, force=force)
        for run in left if force else ():
            folder.forget(run)
        sweep_report = SweepReport(
            asked, folder, asked.runs, len(left), report=report, stream=stream
        )
        with sweep_report:
            if kaggle:
                run_there(sweep_report, left)
            elif dask:
                from kernelkit.sweep.backends.dask_cluster import run_on_dask

                run_on_dask(sweep_report, left, limits, dask)
            else:
                _run_here(sweep_report, left, limits, retry_failed=retry_failed, force=force)
        sweep_report.conclude()
    return folder.path


def _place(*, local: bool) -> str:
    """The default folder; a rehearsal's differs, as its runs must not count as done."""
    rehearses = local or os.environ.get("KAGGLE_API_ENVIRONMENT") == "LOCALHOST"
    return REHEARSAL if rehearses else KAGGLE


def _check(workers: int, *, dask: str | None, kaggle: bool, local: bool) -> None:
    if workers < 0:
        raise ParameterError(f"--workers {workers}: at least one is needed")
    if local and not kaggle:
        raise ParameterError("--local rehearses --kaggle: give both")
    if kaggle and workers:
        raise ParameterError("a session runs one after the other: drop --workers")
    if dask and kaggle:
        raise ParameterError("--dask and --kaggle are two places to run: choose one")


def _check_minutes(given: Mapping[str, float | None]) -> None:
    for option, minutes in given.items():
        if minutes is not None and not 0 <= minutes < math.inf:
            raise ParameterError(f"{option} {minutes:g}: give minutes, zero or more")


def _searched(asked: Specification) -> str:
    axes = ", ".join(asked.search["space"])
    return f"a search over {axes}: {asked.search['trials']} runs, chosen as it goes"


def _left(
    folder: SweepFolder, runs: Sequence[PlannedRun], *, retry_failed: bool, force: bool
) -> list[PlannedRun]:
    """The runs to make: those not done and not failed, and with a retry the failed ones too."""
    ended = set(records.ENDED) - set(records.ENDED_BADLY if retry_failed else ())
    return [run for run in runs if force or folder.record(run).state not in ended]


def _run_here(
    sweep_report: SweepReport,
    left: Sequence[PlannedRun],
    limits: WorkerLimits,
    *,
    retry_failed: bool,
    force: bool,
) -> None:
    asked, folder = sweep_report.asked, sweep_report.folder
    if asked.search:
        from kernelkit.sweep.search import Search

        search = Search(asked, folder, sweep_report.runs, retry_failed=retry_failed, force=force)
        sweep_report.progress.total, sweep_report.progress.varying = (
            search.trials,
            list(search.space),
        )
        sweep_report.progress.skip(search.ended_before)
        source: RunSource = search
    else:
        source = Listed(left)
    longest = expected_seconds([folder.record(run) for run in sweep_report.runs])
    starter = launcher(asked.warm, folder.path / ".imports.log")
    try:
        with project.importable(asked.notebook):
            Engine(folder, starter, limits, sweep_report.request, sweep_report.tell).work(
                source, longest
            )
    finally:
        starter.close()
