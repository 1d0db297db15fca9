"""A sweep in Kaggle sessions: push a kernel for each machine, and download its runs."""

import shutil
import tempfile
from pathlib import Path

import click

from kernelkit import files, machines, project
from kernelkit.checks import wheels
from kernelkit.errors import KernelkitError, PreflightError, RunFailedError
from kernelkit.plans import metadata as kernel_metadata
from kernelkit.plans.metadata import Metadata
from kernelkit.plans.plan import ACCELERATOR
from kernelkit.pushes.command import push_kernel
from kernelkit.run_folders import claims
from kernelkit.sweep import records, search
from kernelkit.sweep.backends import in_session
from kernelkit.sweep.backends.session_kernel import SessionKernel, carrying
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.records import SweepFolder
from kernelkit.sweep.search import STORAGE
from kernelkit.sweep.specification import PlannedRun, Specification

OPTUNA = "optuna"
SPARE_SHARE, SPARE_MINUTES = 0.1, 5.0  # of a session, reserved for saving at its end


def run_on_kaggle(progress: SweepProgress) -> None:
    """Push a session for the remaining runs, or for a search; wait, and download the results.

    Runs on different machines get separate sessions, one after the other; a session that fails does
    not stop the others. Calling it again continues with the runs that did not fit in the time.
    Raises what `push_kernel` raises, after recording the downloaded runs, and `PreflightError` for
    a search without Optuna.
    """
    sweep, options, folder = progress.specification, progress.options, progress.folder
    if not (progress.remaining or sweep.search):
        return
    base = kernel_metadata.load(options.metadata or kernel_metadata.locate(sweep.notebook))
    if options.accelerator:
        base = base.on(machines.named(options.accelerator))
    if sweep.search:
        base = _on(_kind(search.any_point(sweep)), base)
        _check_search(sweep, base)
        progress.runs[:] = search.points(folder, sweep)
        unfinished = folder.remaining(progress.runs, options.retry_failed)
        progress.take_up_search(len(progress.runs) - len(unfinished))
        if not (options.force or unfinished) and len(progress.runs) >= sweep.search["trials"]:
            return
        kernels = [SessionKernel(progress, unfinished, base)]
    else:
        kernels = _kernels(progress, base)
    failure: KernelkitError | None = None
    for kernel in kernels:
        try:
            _session(kernel)
        except KernelkitError as error:
            failure = failure or error
            if kernel is not kernels[-1]:
                message = f"the session{kernel.suffix} failed, the next one begins: {error}"
                click.echo(message, file=progress.stream)
    if failure:
        raise failure


def _kernels(progress: SweepProgress, base: Metadata) -> list[SessionKernel]:
    """A kernel for each machine that runs request, with its runs."""
    of_machine: dict[str, list[PlannedRun]] = {}
    for run in progress.remaining:
        of_machine.setdefault(_kind(run) or base.machine.kind, []).append(run)
    several = len({_kind(run) for run in progress.runs}) > 1
    return [
        SessionKernel(progress, runs, _on(kind, base), f" on {kind.upper()}" if several else "")
        for kind, runs in of_machine.items()
    ]


def _kind(run: PlannedRun) -> str:
    """The machine that a run requests; "" for the one in the metadata."""
    kind = str(run.values.get(ACCELERATOR, ""))
    return kind if kind in machines.LIMITS else ""


def _on(kind: str, base: Metadata) -> Metadata:
    return base if kind in ("", base.machine.kind) else base.on(machines.named(kind))


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
    runs = kernel.runs or [search.any_point(progress.specification)]
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
                starts=[run.values for run in runs],
                stays=[f"{in_session.FOLDER}/{in_session.KEPT}/*"],  # only useful in sessions
                continues=not options.force and any(map(claims.was_pushed, sessions)),
                dry_run=options.dry_run,
                force=options.force,  # otherwise it is refused as identical to the previous session
            )
        finally:
            _bring_home(kernel, home / in_session.FOLDER)
    finished = [
        run for run in kernel.runs if progress.folder.record(run).state in records.WITH_RESULTS
    ]
    if kernel.runs and not finished and not options.dry_run:
        raise RunFailedError(
            f"the session made none of its {len(kernel.runs)} runs: its log says why; --timeout "
            "gives it more time"
        )


def _bring_home(kernel: SessionKernel, output: Path) -> None:
    """Move the runs with results from a session's output, and for a search its trials."""
    progress = kernel.progress
    sweep, folder = progress.specification, progress.folder
    ids = None if sweep.search else [run.id for run in kernel.runs]
    moved = folder.take_over(SweepFolder(output), ids)
    if sweep.search:
        progress.runs[:] = search.points(folder, sweep)
        if (trials := output / STORAGE).is_file():
            files.write_bytes(folder.path / STORAGE, trials.read_bytes())
    for id in moved:
        shutil.rmtree(output / id)
    for run in progress.runs:
        if run.id in moved:
            progress.tell(run, folder.record(run))


def _check_search(sweep: Specification, base: Metadata) -> None:
    """Raise `PreflightError` if neither the machine's image nor a wheel provides Optuna."""
    kind = base.machine.kind
    pinned = wheels.pinned(project.find_project(sweep.notebook))
    if OPTUNA not in pinned and OPTUNA not in machines.MODULES[kind]:
        raise PreflightError(
            f"a search needs Optuna, which the image of {kind.upper()} sessions does not have: "
            'choose --accelerator gpu or cpu, or add "optuna==VERSION" to wheels in '
            "[tool.kernelkit]"
        )
