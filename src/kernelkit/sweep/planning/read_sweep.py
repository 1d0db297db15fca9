"""Read a sweep's file, checked against its notebook before the first run."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kernelkit import project
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.notebook import document
from kernelkit.notebook.interface import parameters
from kernelkit.notebook.interface.idle import idle_parameters, refuse_idle
from kernelkit.notebook.interface.values import resolve
from kernelkit.sweep.planning import combinations, sweep_file, yaml_file
from kernelkit.sweep.planning.specification import OUTPUT, Specification, code_hash
from kernelkit.sweep.planning.sweep_file import SweepFile

NAME_SCORE = (
    "write `score: NAME`, a number of metrics.json or what runs print before it, or set score in "
    "[tool.kernelkit.shown] of pyproject.toml"
)


def read(
    path: Path, pairs: Iterable[str] = (), *, kaggle: bool = False, many: bool = False
) -> Specification:
    """Read the sweep in a YAML file.

    `pairs`: `name=value` strings that replace base values and axes; `kaggle`: apply the `kaggle:`
    block; `many`: accept more than `combinations.MANY` runs. Raises a one-line `ParameterError` or
    `NotebookError` for anything that no run could accept.
    """
    path = Path(path)
    keys = yaml_file.load(path)
    with naming(path):
        content = sweep_file.read_keys(keys, kaggle=kaggle)
        return _checked(path, content, pairs, many)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A block whose `ParameterError` begins with the name of the sweep's file."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{path.name}: {error}") from None


def _checked(path: Path, content: SweepFile, pairs: Iterable[str], many: bool) -> Specification:
    if not content.notebook:
        raise ParameterError("no notebook: write `notebook: PATH`, relative to this file")
    if not (content.grid or content.runs or content.search or content.seeds):
        raise ParameterError("nothing to run: give grid, runs, seeds or search")
    notebook = (path.parent / content.notebook).resolve()
    source = document.read(notebook)
    home = project.find_project(notebook)
    if not document.parameters_cells(source):
        raise NotebookError(document.NO_PARAMETERS)
    declared = parameters.of_notebook(source, home)
    if content.workers == 0:
        raise ParameterError("workers: 0 would run nothing: write 1 or more, or leave it out")
    shown = project.shown(notebook)
    score = content.score
    minimize = content.minimize
    if minimize is None:
        minimize = shown.minimize and score in (None, shown.score)
    fixed = resolve(declared, list(pairs))
    sweep = Specification(
        path.stem,
        notebook,
        declared,
        resolve(declared, {**(content.base or {}), **fixed}),
        code_hash(notebook),
        workers=content.workers or 0,
        time_limit=content.time_limit or 0,
        memory=content.memory or 0,
        score=score or shown.score,
        minimize=minimize,
        warm=tuple(content.warm or ()),
        search=content.search and content.search.without(fixed),
        keep_best=home.keep_best if content.keep_best is None else content.keep_best,
    )
    if sweep.search:
        for key in ("grid", "runs", "exclude", "seeds"):
            if content.given.get(key):
                raise ParameterError(f"search replaces {key}: keep one of them")
        if not sweep.score:
            raise ParameterError(f"no score to search by: {NAME_SCORE}")
        names = {OUTPUT, *sweep.base, *sweep.search.space}
    else:
        sweep = replace(sweep, runs=tuple(combinations.runs(sweep, content, fixed, many)))
        names = {OUTPUT}.union(*(run.overrides for run in sweep.runs))
    idle = idle_parameters(source)
    refuse_idle(idle, names)
    return replace(sweep, unused=tuple(each.text for each in idle if each.name in names))
