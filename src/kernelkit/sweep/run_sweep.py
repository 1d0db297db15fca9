"""The sweep command: read a sweep, make its remaining runs, write a table and a page."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.machinery import PathFinder
from pathlib import Path

from kernelkit import interpreter, project
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.exits.signals import EndedBySignal
from kernelkit.notebook import document
from kernelkit.notebook.project_rules import rules
from kernelkit.pages import live
from kernelkit.pages.shared import trail
from kernelkit.running import lacking_packages
from kernelkit.sweep.planning import read_sweep
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.search import space
from kernelkit.sweep.search.search import Search
from kernelkit.sweep.sweep_folder import SweepFolder
from kernelkit.sweep.sweep_options import SweepOptions
from kernelkit.sweep.workers.engine import Engine
from kernelkit.terminal.live_line import LiveLine


def sweep(
    file: Path,
    parameters: Iterable[str] = (),
    options: SweepOptions | None = None,
    ended: Callable[[Path], object] | None = None,
) -> Path:
    """Run a sweep, or its remaining runs; returns its folder.

    `parameters` are `name=value` strings that replace base values and axes. `ended` gets the folder
    with the table, however the sweep ends once its runs may begin.

    Raises `ParameterError` or `NotebookError` before anything runs, `NotebookError` also if the
    code changes before the last run has begun, and `RunFailedError` with a list of failed runs
    after all others are done; on Kaggle and with Dask what they raise, too.
    """
    options = options or SweepOptions()
    options.check()
    specification = _specified(file, parameters, options)
    _warn(specification, options)
    name = _folder_name(specification, options)
    folder = SweepFolder(options.output or project.runs_here() / name)
    if options.dry_run:
        progress = SweepProgress(specification, folder, options)
        progress.show(progress.preview())
        if options.kaggle:
            _run(progress)
        return folder.path
    with folder.locked():
        folder.claim(name, specification.varying)
        if options.force and not options.kaggle:  # a session's runs replace those that are here
            for run in specification.runs or space.points(folder, specification):
                folder.clear(run.id)
        progress = SweepProgress(specification, folder, options)
        try:
            with _written(progress):
                _run(progress)
            progress.conclude()
        finally:
            if ended:
                ended(folder.path)
    return folder.path


def _specified(file: Path, parameters: Iterable[str], options: SweepOptions) -> Specification:
    """The sweep as it is to run. Raises `ParameterError` or `NotebookError` if it cannot."""
    written = read_sweep.read(file, parameters, kaggle=options.kaggle, many=options.yes)
    workers = options.workers or written.workers or max(1, (os.cpu_count() or 2) // 2)
    limit = written.time_limit if options.time_limit is None else options.time_limit
    specification = replace(written, workers=workers, time_limit=limit)
    if specification.search and options.dask:
        raise ParameterError("a search runs locally or on Kaggle: drop --dask")
    with read_sweep.naming(file):
        if specification.search:
            space.check(specification)
        _check_rules(specification)
        if options.here:
            _check_warm(specification)
    return specification


def _check_rules(specification: Specification) -> None:
    """Raise `ParameterError` if the project's own rules refuse the parameters of a run."""
    here = project.find_project(specification.notebook)
    runs = [run.values for run in specification.runs]
    answers = rules.problems(here, specification.notebook, runs)
    lines = dict.fromkeys(line for answer in answers for line in answer)
    if lines:
        listed = "\n".join(f"  - {line}" for line in lines)
        raise ParameterError(f"the notebook refuses these parameters of the sweep:\n{listed}")


def _check_warm(specification: Specification) -> None:
    """Raise `ParameterError` if a package to import beforehand is not there; it is not imported."""
    own = project.find_project(specification.notebook).import_paths()
    folders = [*map(str, own), str(specification.notebook.parent), *sys.path]
    for name in specification.warm:
        package = name.partition(".")[0]
        built_in = package in sys.builtin_module_names
        if not built_in and PathFinder.find_spec(package, folders) is None:
            raise ParameterError(
                f"warm: there is no module {package} in {sys.prefix} or the project: correct the "
                "name, install it, or leave it out"
            )


def _warn(specification: Specification, options: SweepOptions) -> None:
    """Say what may surprise in the results."""
    errors = LiveLine(sys.stderr)
    for text in specification.unused:
        errors.stay(f"warning: {text}")
    if specification.in_own_folders:
        LiveLine(options.stream or sys.stdout).stay(
            f"{specification.notebook.name} has no parameter output: each run works in its own "
            "folder, so files that it reads need absolute paths"
        )
    if options.here:
        lacking = lacking_packages.what_to_do(document.read(specification.notebook))
        if lacking:
            errors.stay(f"warning: {lacking}")


def _folder_name(specification: Specification, options: SweepOptions) -> str:
    """The default folder's name; a rehearsal has a different one, as its runs must not count."""
    if not options.kaggle:
        return specification.name
    if options.local or project.is_led_elsewhere():
        return f"rehearsal-{specification.name}"
    return f"kaggle-{specification.name}"


@contextmanager
def _written(progress: SweepProgress) -> Iterator[None]:
    """Keep the table and the pages up to date during a block."""
    folder, options = progress.folder.path, progress.options
    above = live.page_of_all_runs(folder.parent)
    line = LiveLine(options.stream or sys.stdout)
    with live.kept_up_to_date(progress.write, *above, line=line):
        if options.open:
            live.show(folder / trail.INDEX)
        yield


def _run(progress: SweepProgress) -> None:
    """Make the remaining runs, wherever the options say."""
    options = progress.options
    if options.kaggle:
        from kernelkit.sweep.backends.kaggle_sessions import run_on_kaggle

        run_on_kaggle(progress)
    elif options.dask:
        from kernelkit.sweep.backends.dask_cluster import run_on_dask

        with _followed(progress, f"on the workers of {options.dask}"):
            run_on_dask(progress, options.dask)
    else:
        _run_here(progress)


def _run_here(progress: SweepProgress) -> None:
    """Make the remaining runs on this machine, as long as their code stays what it is."""
    specification, folder, options = progress.specification, progress.folder, progress.options
    search = None
    runs: Iterable[PlannedRun] = progress.remaining
    if specification.search:
        runs = search = Search(specification, folder, progress.runs, options.retry_failed)
        progress.take_up_search(search.ended_before)
    own = project.find_project(specification.notebook).import_paths()
    engine = Engine(specification, folder, progress.tell, options.report, search)
    with ExitStack() as stack:
        stack.enter_context(_followed(progress, "on this machine"))
        stack.enter_context(interpreter.imports_from(own))
        engine.work(runs, may_begin=specification.is_current)
    if progress.ended < progress.total and not specification.is_current():
        raise NotebookError(
            f"{specification.notebook.name} or a module of its project changed during the sweep: "
            f"{progress.ended} of {progress.total} runs have the code from before. The same "
            "command begins anew, with the changed code"
        )


@contextmanager
def _followed(progress: SweepProgress, where: str) -> Iterator[None]:
    """Show how far a sweep is, and what is kept if a signal ends it."""
    progress.announce(where)
    try:
        with progress.live_line():
            yield
    except (KeyboardInterrupt, EndedBySignal):
        progress.interrupted()
        raise
