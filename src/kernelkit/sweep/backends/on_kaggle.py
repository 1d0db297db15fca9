"""A sweep in Kaggle sessions: push a kernel for each machine, and download its runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from kernelkit import files, machines, project
from kernelkit.checks import wheels
from kernelkit.errors import (
    AcceleratorMismatchError,
    DeadlineError,
    KernelkitError,
    OutputsError,
    ParameterError,
    PreflightError,
    RefusedError,
    RunFailedError,
)
from kernelkit.plans import metadata as kernel_metadata
from kernelkit.plans import plan
from kernelkit.plans.metadata import Metadata
from kernelkit.plans.plan import ACCELERATOR
from kernelkit.pushes.command import push_kernel
from kernelkit.run_folders import claims
from kernelkit.sweep import records
from kernelkit.sweep.backends import in_session
from kernelkit.sweep.backends.session_kernel import SessionKernel, carrying
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.search import STORAGE
from kernelkit.sweep.specification import PlannedRun, Specification

BROUGHT_HOME = (*records.ENDED, records.STOPPED)
OPTUNA = "optuna"
# Errors that end one session but do not affect the next one.
SESSION_ERRORS = (
    AcceleratorMismatchError,
    DeadlineError,
    OutputsError,
    RefusedError,
    RunFailedError,
)
SPARE_SHARE, SPARE_MINUTES = 0.1, 5.0  # of a session, reserved for saving at its end


def run_on_kaggle(progress: SweepProgress) -> None:
    """Push a session for the remaining runs, or for a search; wait, and download the results.

    Runs on different machines get separate sessions, one after the other; a session that fails does
    not stop the others. Calling it again continues with the runs that did not fit in the time.
    Raises what `push_kernel` raises, after recording the downloaded runs, `ParameterError` for
    conflicting machines, and `PreflightError` for a search without Optuna.
    """
    sweep, options = progress.specification, progress.options
    if not (progress.remaining or sweep.search):
        return
    base = kernel_metadata.load(options.metadata or plan.locate(sweep.notebook))
    if options.accelerator:
        base = base.on(machines.named(options.accelerator))
    kernels = _kernels(progress, base)
    if sweep.search:
        _check_search(sweep, kernels[0].base)
        again = _resumed(progress)
        if not again and len(progress.runs) >= sweep.search["trials"]:
            return
        kernels = [replace(kernels[0], runs=again)]
    failures: list[KernelkitError] = []
    for kernel in kernels:
        try:
            _session(kernel)
        except SESSION_ERRORS as error:
            failures.append(error)
            if kernel is not kernels[-1]:
                message = f"the session{kernel.suffix} failed, the next one begins: {error}"
                click.echo(message, file=progress.stream)
    if failures:
        raise failures[0]


def _kernels(progress: SweepProgress, base: Metadata) -> list[SessionKernel]:
    """A kernel for each machine that runs request, with its runs."""
    sweep, accelerator = progress.specification, progress.options.accelerator
    of_machine: dict[str, list[PlannedRun]] = {}
    for run in [_any_point(sweep)] if sweep.search else progress.remaining:
        of_machine.setdefault(_kind(run) or base.machine.kind, []).append(run)
    several = len({_kind(run) for run in sweep.runs}) > 1
    kernels = []
    for kind, own in of_machine.items():
        if accelerator and kind != base.machine.kind:
            raise ParameterError(
                f"runs request a {kind.upper()} with {ACCELERATOR}={kind}, but --accelerator is "
                f"{accelerator}: add -p {ACCELERATOR}={base.machine.kind}"
            )
        machine = base if kind == base.machine.kind else base.on(machines.named(kind))
        suffix = f" on {kind.upper()}" if several else ""
        kernels.append(SessionKernel(progress, own, machine, suffix))
    return kernels


def _kind(run: PlannedRun) -> str:
    """The machine that a run requests; "" for the one in the metadata."""
    kind = str(run.values.get(ACCELERATOR, ""))
    return kind if kind in machines.LIMITS else ""


def _session(kernel: SessionKernel) -> None:
    """Push one session, wait, and download its runs.

    Raises `RunFailedError` for a session that ended without making a run.
    """
    progress, kind = kernel.progress, kernel.base.machine.kind
    options, notebook = progress.options, progress.specification.notebook
    place = progress.folder.path / ("rehearsal" if options.local else "kaggle")
    place = place / kind if kernel.suffix else place
    sessions = list(place.glob("session-*"))
    home = place / f"session-{len(sessions) + 1}"
    minutes = options.timeout or 60 * machines.LIMITS[kind].hours_per_session
    spare = min(SPARE_MINUTES, SPARE_SHARE * minutes)
    starts = [run.values for run in kernel.runs or [_any_point(progress.specification)]]
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        try:
            push_kernel(
                parameters={"time_limit": round(minutes - spare, 4)},
                metadata=kernel.write(Path(scratch) if options.dry_run else place),
                timeout=options.timeout,
                output=home,
                local=options.local,
                stream=options.stream,
                project=carrying(notebook),
                starts=starts,
                stays=[f"{in_session.FOLDER}/{in_session.KEPT}/*"],  # only useful in sessions
                continues=not options.force and any(map(claims.was_pushed, sessions)),
                dry_run=options.dry_run,
                force=options.force,  # otherwise it is refused as identical to the previous session
            )
        finally:
            _bring_home(progress, kernel.runs, home / in_session.FOLDER)
    made = [run for run in kernel.runs if progress.folder.record(run).state in BROUGHT_HOME]
    if kernel.runs and not made and not options.dry_run:
        raise RunFailedError(
            f"the session made none of its {len(kernel.runs)} runs: its log says why; --timeout "
            "gives it more time"
        )


def _bring_home(progress: SweepProgress, runs: Sequence[PlannedRun], output: Path) -> None:
    """Move runs that ended in a session into the sweep's own folders.

    For a search, these are all downloaded runs and its trials.
    """
    folder, session = progress.folder, records.SweepFolder(output)
    if progress.specification.search:
        runs = list(in_session.of_search(session, progress.specification))
        earlier = {run.id for run in progress.runs}
        progress.runs += [run for run in runs if run.id not in earlier]
        if (trials := output / STORAGE).is_file():
            files.write_bytes(folder.path / STORAGE, trials.read_bytes())
    for run in runs:
        record = session.record(run)
        if record.state not in BROUGHT_HOME or folder.record(run) == record:  # already here
            continue
        folder.clear(run)
        folder.run_folder(run).mkdir(parents=True, exist_ok=True)
        for path in (output / run.id).iterdir():
            if path.name != records.STATE:
                shutil.move(path, folder.run_folder(run) / path.name)
        folder.write(run, record)  # written last: without it, the run counts as not done
        progress.tell(run, record)


def _resumed(progress: SweepProgress) -> list[PlannedRun]:
    """Resume a search from its local runs; returns those that another session would run again."""
    sweep, folder = progress.specification, progress.folder
    progress.runs[:] = in_session.of_search(folder, sweep)
    failed = records.ENDED_BADLY if progress.options.retry_failed else ()
    states = (records.STOPPED, *failed)
    again = [run for run in progress.runs if folder.record(run).state in states]
    progress.take_up_search(len(progress.runs) - len(again))
    return again


def _any_point(sweep: Specification) -> PlannedRun:
    """One point that the search may propose."""
    space = sweep.search["space"]
    return sweep.run({n: v[0] if isinstance(v, list) else v["low"] for n, v in space.items()})


def _check_search(sweep: Specification, base: Metadata) -> None:
    """Raise `PreflightError` if neither the machine's image nor a wheel provides Optuna."""
    kind = base.machine.kind
    pinned = wheels.pinned(project.find_project(sweep.notebook))
    if OPTUNA not in pinned and machines.lacking([OPTUNA], kind):
        raise PreflightError(
            f"a search needs Optuna, which the image of {kind.upper()} sessions does not have: "
            'choose --accelerator gpu or cpu, or add "optuna==VERSION" to wheels in '
            "[tool.kernelkit]"
        )
