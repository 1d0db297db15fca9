"""A sweep in Kaggle sessions: push a kernel for each machine, and download its runs."""

import importlib.metadata
import itertools
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import nbformat
from slugify import slugify

from kernelkit import files, image, machines, project
from kernelkit.errors import KernelkitError, ParameterError, PreflightError, RunFailedError
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, SOURCES
from kernelkit.notebook import document
from kernelkit.notebook.interface.values import assignments
from kernelkit.notebook.project_rules import rules
from kernelkit.project import Project
from kernelkit.push.checks.code import cells
from kernelkit.push.checks.findings import stop_on_errors
from kernelkit.push.datasets.wheel_set import pinned
from kernelkit.push.described import metadata as kernel_metadata
from kernelkit.push.described.metadata import Metadata
from kernelkit.push.planned.plan import ACCELERATOR
from kernelkit.push.planned.request import PushRequest
from kernelkit.push.push_kernel import push
from kernelkit.runs import run_state
from kernelkit.session_records import session_manifest
from kernelkit.sweep.backends import in_session
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.search import space
from kernelkit.sweep.sweep_folder import SweepFolder

OPTUNA = "optuna"
TITLE_LENGTH = 50  # Kaggle's longest
# Files of this package that no session needs: the page of a sweep is written at the desk.
DESKS_ALONE = (
    "kernelkit/secrets.toml",
    "kernelkit/py.typed",
    "kernelkit/pages/runs.html.j2",
    "kernelkit/pages/scripts/runs/*",
)
SPARE_SHARE, SPARE_MINUTES = 0.1, 5.0  # of a session, reserved for saving at its end

# The rest of the specification is read from the notebook in the session, or not needed.
CARRIED = (
    "name",
    "code",
    "time_limit",
    "memory",
    "score",
    "minimize",
    "search",
    "keep_best",
)

_PARAMETERS = """\
accelerator = "auto"  # auto | tpu | gpu | cpu: the machine that the runs need
time_limit = 0.0  # >= 0: minutes after which no run starts or continues; 0 = no limit"""

RUN = """\
import json

from kernelkit.sweep.backends.in_session import run_in_session

run_in_session(json.loads(SWEEP), time_limit, accelerator)"""


def run_on_kaggle(progress: SweepProgress) -> None:
    """Push a session for the remaining runs, or for a search; wait, and download the results.

    Runs on different machines get separate sessions, one after the other; a session that fails does
    not stop the others. Calling it again continues with the runs that did not fit in the time.
    Raises what `push` raises, after recording the downloaded runs; `ParameterError` for a machine
    that no run asks for; and `PreflightError` for a search without Optuna, here and in its session.
    """
    options = progress.options
    base = kernel_metadata.load(
        options.metadata or kernel_metadata.locate(progress.specification.notebook)
    )
    if options.accelerator:
        base = base.on(machines.named(options.accelerator))
    if progress.specification.search:
        sessions = _session_of_search(progress, base)
        if not sessions:
            return
    else:
        sessions = _by_machine(progress.remaining, base)
    # Of all runs: a kernel keeps its title when those on another machine have ended.
    kinds = {*_by_machine(progress.runs, base), *sessions}
    if options.accelerator and base.machine.kind not in kinds:
        raise ParameterError(
            f"the runs ask for {', '.join(sorted(kinds)).upper()} by their parameter {ACCELERATOR}:"
            f" add -p {ACCELERATOR}={base.machine.kind}, or leave out --accelerator"
        )
    if sessions and not options.dry_run:
        words = "one Kaggle session" if len(sessions) == 1 else f"{len(sessions)} sessions"
        rehearsed = ", rehearsed here" if options.local else ""
        names = " and ".join(kind.upper() for kind in sessions)
        progress.announce(f"in {words} on {names}{rehearsed}")
    failures: list[KernelkitError] = []
    for number, (kind, runs) in enumerate(sessions.items(), 1):
        try:
            _session(progress, runs, _on(runs[0], base), several=len(kinds) > 1)
        except KernelkitError as error:
            failures.append(error)
            if number < len(sessions):
                progress.show(
                    f"the session on {kind.upper()} failed, and the next one begins: {error}"
                )
    if failures:
        raise failures[0]


def _by_machine(
    runs: Iterable[PlannedRun], base: Metadata
) -> dict[machines.Kind, list[PlannedRun]]:
    """The runs by the kind of machine that each gets."""
    of_machine: dict[machines.Kind, list[PlannedRun]] = defaultdict(list)
    for run in runs:
        of_machine[_on(run, base).machine.kind].append(run)
    return of_machine


def _session_of_search(
    progress: SweepProgress, base: Metadata
) -> dict[machines.Kind, list[PlannedRun]]:
    """The machine of a search's only session, and points that it may try, by which its parameters
    are checked; none once it is over.

    Takes up what earlier sessions tried. Raises `PreflightError` if a session would lack Optuna and
    this machine has none that it could attach.
    """
    sweep, options = progress.specification, progress.options
    points = _within_rules(sweep, space.samples(sweep), base)
    own = _on(points[0], base)
    _check_search(sweep, own)
    progress.runs[:] = space.points(progress.folder, sweep)
    unfinished = progress.folder.remaining(progress.runs, options.retry_failed)
    progress.take_up_search(0 if options.force else len(progress.runs) - len(unfinished))
    all_tried = len(progress.runs) >= space.trials(sweep)
    if all_tried and not unfinished and not options.force:
        return {}
    return {own.machine.kind: points}


def _on(run: PlannedRun, base: Metadata) -> Metadata:
    """The metadata with the machine that a run requests, if it requests one."""
    kind = str(run.values.get(ACCELERATOR))
    other = kind in machines.LIMITS and kind != base.machine.kind
    return base.on(machines.named(kind)) if other else base


def _session(
    progress: SweepProgress, runs: Sequence[PlannedRun], base: Metadata, *, several: bool
) -> None:
    """Push one session for these runs, or for a search; wait, and download its runs.

    `several`: whether the sweep has sessions on other machines, too. Raises `RunFailedError` for a
    session that ended without making a run.
    """
    sweep = progress.specification
    options = progress.options
    kind = base.machine.kind
    place, title = _place_and_title(progress, kind if several else "")
    content = carried(progress, runs)
    sessions = list(place.glob("session-*"))
    names = (place / f"session-{number}" for number in itertools.count(1))
    home = next(name for name in names if name not in sessions)
    minutes = options.timeout or 60 * machines.LIMITS[kind].hours_per_session
    spare = min(SPARE_MINUTES, SPARE_SHARE * minutes)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        try:
            folder = Path(scratch) if options.dry_run else place
            request = PushRequest.of(
                parameters={"time_limit": round(minutes - spare, 4)},
                metadata=_write(content, base, title, folder),
                project=_project_of_session(sweep, kind),
                timeout=options.timeout,
                output=home,
                starts=[run.values for run in runs],
                stays=[f"{in_session.FOLDER}/{in_session.KEPT}/*"],  # only useful in sessions
                # Kaggle gives the next session only the output of one that reached its end.
                continues=not options.force and any(run_state.read(s).over for s in sessions),
                dry_run=options.dry_run,
                force=options.force,  # otherwise it is refused as identical to the last session
            )
            # The sweep goes on after its session: there is nothing to suggest yet.
            push(request, on_kaggle="", local=options.local, stream=options.stream)
        finally:
            moved = _bring_home(progress, runs, home / in_session.FOLDER)
    if not (moved or options.dry_run):
        raise RunFailedError(
            "the session did not finish a run: its log says why; --timeout gives it more time"
        )


def _place_and_title(progress: SweepProgress, kind: str) -> tuple[Path, str]:
    """The folder of a sweep's sessions, and the title of their kernel.

    `kind`: that of their machine where the sweep has sessions on several; "" where it has not.
    """
    place = progress.folder.path / ("rehearsal" if progress.options.local else "kaggle")
    title = f"Sweep {progress.specification.name.replace('_', ' ')}"
    suffix = f" on {kind.upper()}" if kind else ""
    return place / kind, title[: TITLE_LENGTH - len(suffix)].strip() + suffix


def _bring_home(progress: SweepProgress, runs: Sequence[PlannedRun], output: Path) -> list[str]:
    """Move these runs from a session's output, or for a search all of them.

    Returns the ids of those that had results.
    """
    sweep, folder = progress.specification, progress.folder
    ids = None if sweep.search else [run.id for run in runs]
    session = SweepFolder(output)
    for id, _ in session.recorded():  # before they move, so that none is ever without it
        session_manifest.keep_part(output.parent, f"{output.name}/{id}", session.run_folder(id))
    with progress.reading:  # or else a model that came home is removed for the score before it
        moved = folder.take_over(session, ids, shutil.move, again=progress.options.force)
    if sweep.search:
        progress.runs[:] = space.points(folder, sweep)
    for id in moved:
        shutil.rmtree(output / id)
    for run in progress.runs:
        if run.id in moved:
            progress.tell(run, folder.record(run.id), just_now=False)
    return moved


def _within_rules(sweep: Specification, runs: list[PlannedRun], base: Metadata) -> list[PlannedRun]:
    """Those that the project's own rules allow, or all of them if they allow none.

    A search may propose points that are refused: each is then a trial that failed.
    """
    home = project.find_project(sweep.notebook)
    attached = {kind: base.sources[kind] for kind in SOURCES}
    answers = rules.problems(home, sweep.notebook, [run.values for run in runs], attached)
    return [run for run, problems in zip(runs, answers, strict=True) if not problems] or runs


def _needs_optuna(sweep: Specification, kind: machines.Kind) -> bool:
    """Whether the sweep is a search, and neither the image nor the project's wheels have Optuna."""
    wheels = pinned(project.find_project(sweep.notebook))
    return bool(sweep.search) and OPTUNA not in {*wheels, *image.MODULES[kind]}


def _check_search(sweep: Specification, base: Metadata) -> None:
    """Raise `PreflightError` if a session lacks Optuna and its version here is not known."""
    kind = base.machine.kind
    if _needs_optuna(sweep, kind) and not _optuna_here():
        raise PreflightError(
            f"a search needs Optuna, which the image of {kind.upper()} sessions does not have: "
            "pip install optuna, whose version is then attached as a wheel, choose --accelerator "
            'gpu or cpu, or add "optuna==VERSION" to wheels in [tool.kernelkit]'
        )


def _project_of_session(sweep: Specification, kind: machines.Kind) -> Project:
    """The project that the session carries, with Optuna as a wheel where a search lacks it.

    In the version that is here, by which the search was tried.
    """
    own = with_the_kit(sweep.notebook)
    if not _needs_optuna(sweep, kind):
        return own
    return replace(own, wheels=(*own.wheels, f"{OPTUNA}=={_optuna_here()}"))


def _optuna_here() -> str:
    try:
        return importlib.metadata.version(OPTUNA)
    except importlib.metadata.PackageNotFoundError:
        return ""


def carried(progress: SweepProgress, runs: Sequence[PlannedRun]) -> dict[str, Any]:
    """The part of the sweep that a session for these runs receives; for a search, without them.

    Raises `PreflightError` for cells that are not Python, with their lines.
    """
    sweep, options = progress.specification, progress.options
    source = document.strip(document.read(sweep.notebook))
    code = [
        (f"{sweep.notebook.name}[cell {cell.number}]", cell.source)
        for cell in document.code_cells(source.cells)
    ]
    stop_on_errors(cells.syntax_problems(code))
    settings = {name: getattr(sweep, name) for name in CARRIED}
    if sweep.search:
        settings["search"] = asdict(sweep.search)
    return {
        "notebook": nbformat.writes(source),
        "sweep": settings,
        "base": assignments(sweep.base),
        "runs": [] if sweep.search else [run.assignments() for run in runs],
        "retry_failed": options.retry_failed,
        "report": options.report,
        "shown": project.shown(sweep.notebook).as_json(),
    }


def _write(content: Mapping[str, Any], base: Metadata, title: str, place: Path) -> Path:
    """Write the notebook that makes the runs of `carried`, and its metadata, into a folder.

    Returns the metadata's path.
    """
    text = document.literal(json.dumps(content, indent=1, sort_keys=True))
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": dict(document.KERNELSPEC)})
    tags = {"tags": [document.PARAMETERS_TAG]}
    notebook.cells = [
        nbformat.v4.new_code_cell(_PARAMETERS, id="parameters", metadata=tags),
        nbformat.v4.new_code_cell(f"SWEEP = {text}", id="sweep"),
        nbformat.v4.new_code_cell(RUN, id="run"),
    ]
    slug = slugify(title)
    owner = base.owner or PLACEHOLDERS[0]
    values = {
        **asdict(base.settings),
        **base.others,
        **{misfit.name: misfit.value for misfit in base.misfits},
        "id": f"{owner}/{slug}",
        "title": title,
        "code_file": f"{slug}.ipynb",
        "kernel_type": "notebook",  # also where the notebook's own kernel is a script
    }
    files.write_text(place / f"{slug}.ipynb", nbformat.writes(notebook) + "\n")
    return files.write_text(place / kernel_metadata.FILE_NAME, json.dumps(values, indent=2) + "\n")


def with_the_kit(notebook: Path) -> Project:
    """The notebook's project, which also bundles this package; imports decide which files."""
    own = project.find_project(notebook)
    return replace(
        own,
        packages=(*own.packages, "kernelkit"),
        leave_out=(*own.leave_out, *DESKS_ALONE),
        swept_notebook=Path(notebook),
    )
