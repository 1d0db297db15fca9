"""A sweep in Kaggle sessions: a kernel for each machine, pushed, and its runs brought home."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kernelkit import machines, project
from kernelkit.checks import preflight, wheels
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
from kernelkit.sweep.backends import in_session
from kernelkit.sweep.backends.session_kernel import SessionKernel, carrying
from kernelkit.sweep.config.specification import PlannedRun, Specification
from kernelkit.sweep.report.sweep_report import SweepReport
from kernelkit.sweep.store import records

TAKEN = (*records.ENDED, records.STOPPED)
OPTUNA = "optuna"
# Errors that end one session and do not concern the next one.
ITS_OWN = (AcceleratorMismatchError, DeadlineError, OutputsError, RefusedError, RunFailedError)
SPARE_SHARE, SPARE_MINUTES = 0.1, 5.0  # of a session, kept for what is saved at its end


@dataclass(frozen=True)
class SessionOptions:
    """The options of a sweep's sessions, as `kernelkit.sweep.command.sweep` takes them."""

    local: bool = False
    metadata: Path | None = None
    accelerator: str | None = None
    timeout: float | None = None
    dry_run: bool = False
    retry_failed: bool = False
    force: bool = False


def run_on_kaggle(
    sweep_report: SweepReport, left: Sequence[PlannedRun], options: SessionOptions
) -> None:
    """Push a session for the runs that are left, or for a search; wait, and take its runs in.

    Runs that differ in the machine they ask for have a session each, one after the other; a session
    that fails does not stop the others. The same call goes on with the runs that the time did not
    allow. Raises what `push_kernel` raises, after the runs that came home are taken in,
    `ParameterError` for machines that contradict each other, and `PreflightError` for a search
    where there is no Optuna.
    """
    asked = sweep_report.asked
    if not (left or asked.search):
        return
    base = kernel_metadata.load(options.metadata or plan.locate(asked.notebook))
    if options.accelerator:
        base = base.on(machines.named(options.accelerator))
    sessions = _by_machine(asked, left, base, options)
    if asked.search:
        _check_search(asked, sessions[0][0])
        left = _resumed(sweep_report, retry_failed=options.retry_failed)
        if not (options.force or left) and len(sweep_report.runs) >= asked.search["trials"]:
            return
        sessions = [(sessions[0][0], left)]
    several = len({_kind(run) for run in asked.runs}) > 1
    kernels = [
        SessionKernel(
            sweep_report,
            runs,
            on,
            f" on {on.machine.kind.upper()}" if several else "",
            options.retry_failed,
        )
        for on, runs in sessions
    ]
    for kernel in kernels if several else ():  # before the first session takes hours
        _check(kernel, options)
    failures: list[KernelkitError] = []
    for kernel in kernels:
        try:
            _session(kernel, options)
        except ITS_OWN as error:
            failures.append(error)
            if kernel is not kernels[-1]:
                message = f"the session{kernel.suffix} ended badly, the next one begins: {error}"
                click.echo(message, file=sweep_report.stream)
    if failures:
        raise failures[0]


def _check(kernel: SessionKernel, options: SessionOptions) -> None:
    """Raise what a push would raise before it sends anything."""
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        planned = plan.make(
            None,
            {},
            kernel.write(Path(scratch)),
            None,
            options.timeout,
            carrying(kernel.sweep_report.asked.notebook),
            _starts(kernel),
        )
    preflight.stop_on_errors(preflight.run_checks(planned))


def _session(kernel: SessionKernel, options: SessionOptions) -> None:
    """Push one session, wait, and bring its runs home."""
    sweep_report, kind = kernel.sweep_report, kernel.base.machine.kind
    notebook = sweep_report.asked.notebook
    place = sweep_report.folder.path / ("rehearsal" if options.local else "kaggle")
    place = place / kind if kernel.suffix else place
    home = place / f"session-{len(list(place.glob('session-*'))) + 1}"
    minutes = options.timeout or 60 * machines.LIMITS[kind].hours_per_session
    spare = min(SPARE_MINUTES, SPARE_SHARE * minutes)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        try:
            push_kernel(
                parameters={"time_limit": round(minutes - spare, 4)},
                metadata=kernel.write(Path(scratch) if options.dry_run else place),
                timeout=options.timeout,
                output=home,
                local=options.local,
                runs=project.find_project(notebook).root / "runs",
                stream=sweep_report.stream,
                project=carrying(notebook),
                starts=_starts(kernel),
                stays=[f"{in_session.FOLDER}/{in_session.KEPT}/*"],  # of use in sessions only
                continues=not options.force
                and any(map(claims.was_pushed, place.glob("session-*"))),
                dry_run=options.dry_run,
            )
        finally:
            bring_home(sweep_report, kernel.left, home / in_session.FOLDER)


def _starts(kernel: SessionKernel) -> list[Mapping[str, Any]]:
    """The parameters of each run of the session; for a search, of one run that it may start."""
    return [run.values for run in kernel.left] or [_any_point(kernel.sweep_report.asked).values]


def _by_machine(
    asked: Specification, left: Sequence[PlannedRun], base: Metadata, options: SessionOptions
) -> list[tuple[Metadata, list[PlannedRun]]]:
    """The sessions to push: for each a kernel on its machine, and the runs left for it."""
    wanted: dict[str, list[PlannedRun]] = {}
    for run in [_any_point(asked)] if asked.search else left:
        wanted.setdefault(_kind(run), []).append(run)
    for kind in wanted:
        if options.accelerator and kind not in ("", base.machine.kind):
            raise ParameterError(
                f"runs ask for a {kind.upper()} with {ACCELERATOR}={kind}, and --accelerator "
                f"{options.accelerator} contradicts them: say -p {ACCELERATOR}={base.machine.kind}"
            )
    return [
        (base.on(machines.named(kind)) if kind not in ("", base.machine.kind) else base, runs)
        for kind, runs in wanted.items()
    ]


def _kind(run: PlannedRun) -> str:
    """The machine that a run asks for; "" for that of the metadata."""
    kind = str(run.values.get(ACCELERATOR, ""))
    return kind if kind in machines.LIMITS else ""


def bring_home(sweep_report: SweepReport, left: Sequence[PlannedRun], came: Path) -> int:
    """Move runs that ended in a session into the sweep's own folders; returns how many.

    For a search these are all the runs that it left, and its trials come home too.
    """
    folder, taken = sweep_report.folder, 0
    session = records.SweepFolder(came)
    if sweep_report.asked.search:
        left = list(in_session.of_search(session, sweep_report.asked))
        known = {run.id for run in sweep_report.runs}
        sweep_report.runs += [run for run in left if run.id not in known]
        sweep_report.progress.total = sweep_report.asked.search["trials"]
        if (came / in_session.STORAGE).is_file():
            shutil.copyfile(came / in_session.STORAGE, folder.path / in_session.STORAGE)
    for run in left:
        record = session.record(run)
        if record.state not in TAKEN or folder.record(run) == record:  # home already
            continue
        folder.clear(run)
        folder.run_folder(run).mkdir(parents=True, exist_ok=True)
        for path in (came / run.id).iterdir():
            if path.name != records.STATE:
                shutil.move(path, folder.run_folder(run) / path.name)
        folder.write(run, record)  # the last file: until it is there the run counts as not done
        sweep_report.tell(run, record)
        taken += 1
    return taken


def _resumed(sweep_report: SweepReport, *, retry_failed: bool) -> list[PlannedRun]:
    """Take up what is home of a search; returns the runs that another session would run again."""
    asked, folder = sweep_report.asked, sweep_report.folder
    sweep_report.runs[:] = in_session.of_search(folder, asked)
    sweep_report.progress.total = asked.search["trials"]
    sweep_report.progress.varying = list(asked.search["space"])
    states = {run.id: folder.record(run).state for run in sweep_report.runs}
    again = {records.STOPPED, *(records.ENDED_BADLY if retry_failed else ())}
    sweep_report.progress.skip(sum(state not in again for state in states.values()))
    return [run for run in sweep_report.runs if states[run.id] in again]


def _any_point(asked: Specification) -> PlannedRun:
    """A point that the search may propose."""
    space = asked.search["space"]
    return asked.run({n: w[0] if isinstance(w, list) else w["low"] for n, w in space.items()})


def _check_search(asked: Specification, base: Metadata) -> None:
    """Raise `PreflightError` where the machine's image has no Optuna and no wheel brings it."""
    kind = base.machine.kind
    pinned = wheels.pinned(project.find_project(asked.notebook))
    if asked.wheels or OPTUNA in pinned or not machines.lacking([OPTUNA], kind):
        return
    raise PreflightError(
        f"a search needs Optuna, which the image of {kind.upper()} sessions does not hold: choose "
        '--accelerator gpu or cpu, or add "optuna==VERSION" to wheels in [tool.kernelkit], or name '
        "a dataset that holds its wheels with `wheels: OWNER/SLUG` under kaggle:"
    )
