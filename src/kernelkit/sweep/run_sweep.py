"""The sweep command: read a sweep, make its remaining runs, write a table and a page."""

import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.machinery import PathFinder
from pathlib import Path

from kernelkit import project
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.notebook import document, lacking_packages, rules
from kernelkit.pages import live, trail
from kernelkit.sweep import search
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.specification import OWN_FOLDERS, PlannedRun, Specification, read
from kernelkit.sweep.sweep_folder import SweepFolder
from kernelkit.sweep.sweep_options import SweepOptions
from kernelkit.sweep.workers.engine import Engine
from kernelkit.terminal.events import LiveLine
from kernelkit.terminal.exits import EndedBySignal


def sweep(file: Path, parameters: Iterable[str] = (), options: SweepOptions | None = None) -> Path:
    """Run a sweep, or its remaining runs; returns its folder.

    `parameters` are `name=value` strings that replace base values and axes.

    Raises `ParameterError` or `NotebookError` before anything runs, `NotebookError` also if the
    code changes before the last run has begun, and `RunFailedError` with a list of failed runs
    after all others are done; on Kaggle and with Dask what they raise, too.
    """
    options = options or SweepOptions()
    _check(options)
    specification = read(file, parameters, kaggle=options.kaggle, many=options.yes)
    workers = options.workers or specification.workers or max(1, (os.cpu_count() or 2) // 2)
    limit = specification.time_limit if options.time_limit is None else options.time_limit
    specification = replace(specification, workers=workers, time_limit=limit)
    if specification.search:
        search.check(specification)
        if options.dask:
            raise ParameterError("a search runs locally or on Kaggle: drop --dask")
    _check_rules(specification)
    for text in specification.unused:
        LiveLine(sys.stderr).stay(f"warning: {text}")
    if specification.in_own_folders:
        text = OWN_FOLDERS.format(specification.notebook.name)
        LiveLine(options.stream or sys.stdout).stay(text)
    if not options.kaggle and not options.dask:  # where other modules may be installed
        _check_warm(specification)
        lacking = lacking_packages.what_to_do(document.read(specification.notebook))
        if lacking:
            LiveLine(sys.stderr).stay(f"warning: {lacking}")
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
            for run in specification.runs or search.points(folder, specification):
                folder.clear(run)
        progress = SweepProgress(specification, folder, options)
        with ExitStack() as stack:
            above = live.page_of_all_runs(folder.path.parent)
            line = LiveLine(options.stream or sys.stdout)
            stack.enter_context(live.kept_up_to_date(progress.write, *above, line=line))
            if options.open:
                live.show(folder.path / trail.INDEX)
            _run(progress)
        progress.conclude()
    return folder.path


@contextmanager
def _followed(progress: SweepProgress, where: str, at_a_time: int = 0) -> Iterator[None]:
    """Show how far a sweep is, and what is kept if a signal ends it."""
    progress.announce(where, at_a_time)
    try:
        with progress.live_line():
            yield
    except (KeyboardInterrupt, EndedBySignal):
        progress.interrupted()
        raise


def _check(options: SweepOptions) -> None:
    for name in ("local", "metadata", "accelerator", "timeout"):
        is_given = getattr(options, name) != getattr(SweepOptions, name)
        if is_given and not options.kaggle:
            raise ParameterError(f"--{name} is for a session: add --kaggle, or leave it out")
    if options.dask and options.kaggle:
        raise ParameterError("--dask and --kaggle exclude each other: choose one")
    if options.workers is not None and options.kaggle:
        raise ParameterError("a session does one run at a time: drop --workers")
    if options.workers is not None and options.dask:
        raise ParameterError("as many run at a time as Dask's workers have threads: drop --workers")
    if options.workers is not None and options.workers < 1:
        raise ParameterError(f"--workers {options.workers}: it takes 1 or more runs at a time")


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


def _folder_name(specification: Specification, options: SweepOptions) -> str:
    """The default folder's name; a rehearsal has a different one, as its runs must not count."""
    if not options.kaggle:
        return specification.name
    if options.local or project.is_led_elsewhere():
        return f"rehearsal-{specification.name}"
    return f"kaggle-{specification.name}"


def _run(progress: SweepProgress) -> None:
    sweep, folder, options = progress.specification, progress.folder, progress.options
    if options.kaggle:
        from kernelkit.sweep.backends.kaggle_sessions import run_on_kaggle

        run_on_kaggle(progress)
        return
    if options.dask:
        from kernelkit.sweep.backends.dask_cluster import run_on_dask

        with _followed(progress, f"on the workers of {options.dask}"):
            run_on_dask(progress, options.dask)
        return
    searched = None
    runs: Iterable[PlannedRun] = progress.remaining
    if sweep.search:
        runs = searched = search.Search(sweep, folder, progress.runs, options.retry_failed)
        progress.take_up_search(searched.ended_before)
    at_a_time = min(sweep.workers, max(1, progress.total - progress.ended))
    here = _followed(progress, "on this machine", at_a_time)
    own = project.find_project(sweep.notebook).import_paths()
    with here, project.imports_from(own):
        engine = Engine(sweep, folder, progress.tell, options.report)
        engine.work(itertools.takewhile(lambda _: sweep.is_current(), runs), searched)
    if progress.ended < progress.total and not sweep.is_current():
        raise NotebookError(
            f"{sweep.notebook.name} or a module of its project changed during the sweep: "
            f"{progress.ended} of {progress.total} runs have the code from before. The same "
            "command begins anew, with the changed code"
        )
