"""The contents of a sweep's YAML file, checked against the notebook before the first run.

notebook: ../02_train.py            # relative to the YAML file
base: {image_size: 192}             # what all runs share
grid: {dropout: [0.0, 0.3], ...}    # every combination
runs: [{model: small}, ...]         # and these
exclude: [{dropout: 0.0, mix: mixup}]
seeds: [0, 1, 2]                    # each of them with every value of the parameter seed
search: {trials: 20, space: {...}}  # or let Optuna choose (kernelkit.sweep.search)
workers: 2                          # runs at a time
time_limit: 10                      # minutes that a run may take; 0 = no limit
memory: 4                           # GB that a run may use; 0 = what the machine has
score: accuracy                     # the key of metrics.json that ranks the runs
minimize: false                     # whether a lower score is better; default the project's
keep_best: {model.h5: 3}            # files that only the best N runs keep
warm: [tensorflow]                  # imported once, before runs are forked
kaggle: {base: {…}, grid: {…}, …}   # what is different in a Kaggle session
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import nbformat

from kernelkit import project, typed
from kernelkit.errors import KernelkitError, NotebookError, ParameterError
from kernelkit.notebook import document, parameters
from kernelkit.notebook.own_files import fingerprint
from kernelkit.notebook.parameters import Parameter
from kernelkit.sweep import sweep_file

T = TypeVar("T")
Values = dict[str, Any]
IN_WORDS = typed.IN_WORDS | {dict: "names with values"}
LIMITS = ("workers", "time_limit", "memory")
OF_THE_DESK = ("kaggle", "workers", "warm")  # no effect in a session: it makes one run at a time
NAME_SCORE = (
    "write `score: NAME`, a number of metrics.json or what runs print before it, or set score in "
    "[tool.kernelkit.shown] of pyproject.toml"
)
OUTPUT, SEED = "output", "seed"
OWN_FOLDERS = (
    "{} has no parameter output: each run works in its own folder, so files that it reads need "
    "absolute paths"
)
MANY = 1000  # runs: more have to be confirmed
LENGTH = 12  # hexadecimal digits of a run's id: 48 bits, for thousands of runs


@dataclass(frozen=True)
class Range:
    """An axis of a search between two numbers."""

    low: float
    high: float
    log: bool = False
    step: float | None = None


Axis = Sequence[Any] | Range


@dataclass(frozen=True)
class SearchSettings:
    """The keys of `search`; each axis of its space is a list of choices or a range."""

    trials: int
    space: Mapping[str, Axis]
    sampler: str | None = None
    prune: bool | str | None = None
    seed: int | None = None

    def without(self, fixed: Mapping[str, Any]) -> SearchSettings:
        """The same without the axes that are fixed."""
        return replace(self, space=_without(self.space, fixed))


@dataclass(frozen=True)
class SweepFile:
    """What a sweep's file holds, or its `kaggle:` block; None for what it does not set."""

    notebook: str | None = None
    base: Mapping[str, Any] | None = None
    grid: Mapping[str, Any] | None = None
    runs: Sequence[Any] | None = None
    exclude: Sequence[Any] | None = None
    seeds: Sequence[Any] | int | None = None
    search: SearchSettings | None = None
    workers: int | None = None
    time_limit: float | None = None
    memory: float | None = None
    score: str | None = None
    minimize: bool | None = None
    warm: Sequence[Any] | None = None
    kaggle: Mapping[str, Any] | None = None
    keep_best: Mapping[str, Any] | None = typed.declared(None, check=project.check_keep_best)

    @property
    def given(self) -> Values:
        """What it sets, by key."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {key: value for key, value in named.items() if value is not None}


@dataclass(frozen=True)
class PlannedRun:
    """One run: its id, the parameters it sets, and the values of all parameters."""

    id: str
    overrides: Values
    values: Mapping[str, Any]

    def assignments(self, **others: Any) -> str:
        """The source of a cell that sets its parameters, and the `others`."""
        return parameters.assignments(self.overrides | others)


@dataclass(frozen=True)
class Specification:
    """A sweep: its name, the notebook, the runs in order, and how to run them.

    `declared` are the notebook's parameters, `code` is a hash of the code that all runs execute.
    `time_limit` is in minutes and `memory` in GB, 0 for no limit; `search` is None for a plain
    sweep, whose runs are known beforehand; a search has no `runs`. `unused` says which of the
    parameters that it sets nothing seems to read.
    """

    name: str
    notebook: Path
    declared: Mapping[str, Parameter]
    base: Mapping[str, Any]
    code: str
    runs: tuple[PlannedRun, ...] = ()
    workers: int = 0
    time_limit: float = 0.0
    memory: float = 0.0
    score: str = ""
    minimize: bool = False
    warm: tuple[str, ...] = ()
    search: SearchSettings | None = None
    keep_best: Mapping[str, int] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in LIMITS:
            if not 0 <= getattr(self, name) < math.inf:  # rejects nan, too
                raise ParameterError(f"{name}={getattr(self, name)} is negative or not a number")

    @property
    def in_own_folders(self) -> bool:
        """Whether each run's folder is also its working directory, as the notebook has no parameter
        `output`, which would name that folder."""
        return OUTPUT not in self.declared

    def is_current(self) -> bool:
        """Whether the notebook and its own files still have the code that the runs' ids name."""
        try:
            source = document.read(self.notebook)
            home = project.find_project(self.notebook)
            return fingerprint(self.notebook, _code(source), home) == self.code
        except KernelkitError:  # it is gone, or being written
            return False

    @cached_property
    def varying(self) -> list[str]:
        """The parameters that distinguish its runs, in the search's or the notebook's order."""
        if self.search:
            return list(self.search.space)
        varying = []
        for name in self.declared:
            values = {repr(run.values.get(name)) for run in self.runs}
            if len(values) > 1:
                varying.append(name)
        return varying

    def run(self, overrides: Mapping[str, Any]) -> PlannedRun:
        """A run with these values on top of the base; raises `ParameterError` for invalid ones.

        Its id is a hash of the code and the values of all parameters.
        """
        if OUTPUT in self.base or OUTPUT in overrides:
            raise ParameterError("output is set to each run's own folder: leave it out")
        checked = parameters.resolve(self.declared, {**self.base, **overrides})
        defaults = {name: p.default for name, p in self.declared.items() if name != OUTPUT}
        values = defaults | checked
        held = sorted(parameters.for_json(values).items())
        message = json.dumps([self.code, held], sort_keys=True)
        return PlannedRun(hashlib.sha256(message.encode()).hexdigest()[:LENGTH], checked, values)


def read(
    path: Path, pairs: Iterable[str] = (), *, kaggle: bool = False, many: bool = False
) -> Specification:
    """Read the sweep in a YAML file.

    `pairs`: `name=value` strings that replace base values and axes; `kaggle`: apply the `kaggle:`
    block; `many`: accept more than `MANY` runs. Raises a one-line `ParameterError` or
    `NotebookError` for anything that no run could accept.
    """
    path = Path(path)
    keys = sweep_file.load(path)
    try:
        content = read_part(SweepFile, keys, "a sweep")
        written = content.kaggle or {}
        block = read_part(SweepFile, written, "kaggle")
        idle = [key for key in OF_THE_DESK if key in block.given]
        if idle:
            raise ParameterError(
                f"kaggle: {idle[0]} has no effect in a session, which does one run at a time: "
                "leave it out"
            )
        if kaggle:
            removed = [key for key, value in written.items() if value is None]
            content = _with_kaggle_block(content, block, removed)
        return _checked(path, content, pairs, many)
    except ParameterError as error:
        raise ParameterError(f"{path.name}: {error}") from None


def _with_kaggle_block(content: SweepFile, block: SweepFile, removed: Iterable[str]) -> SweepFile:
    """The sweep as it runs on Kaggle: its `kaggle:` block over the rest of the file.

    The names in `base` and `grid` are replaced individually, every other key as a whole; null
    removes a name, or a whole key: those are `removed`. A name in the block's base is no axis,
    unless the block's grid has it, or its `seeds`.
    """
    base = {**(content.base or {}), **(block.base or {})}
    grid = {**_without(content.grid, block.base or {}), **(block.grid or {})}
    search = content.search
    if search:
        search = search.without(block.base or {})
    seeds = None if SEED in (block.base or {}) else content.seeds
    own = {"search": search, "seeds": seeds}
    merged = {**own, **block.given, "base": _set(base), "grid": _set(grid)}
    return replace(content, **merged | dict.fromkeys(removed))


def _set(values: Values) -> Values:
    return {name: value for name, value in values.items() if value is not None}


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
    fixed = parameters.resolve(declared, pairs)
    sweep = Specification(
        path.stem,
        notebook,
        declared,
        parameters.resolve(declared, {**(content.base or {}), **fixed}),
        fingerprint(notebook, _code(source), home),
        workers=content.workers or 0,
        time_limit=content.time_limit or 0,
        memory=content.memory or 0,
        score=score or shown.score,
        minimize=minimize,
        warm=_modules(content.warm or ()),
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
        sweep = replace(sweep, runs=tuple(_runs(sweep, content, fixed, many)))
        names = {OUTPUT}.union(*(run.overrides for run in sweep.runs))
    idle = parameters.idle(source)
    parameters.refuse_idle(idle, names)
    return replace(sweep, unused=tuple(each.text for each in idle if each.name in names))


def _code(source: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in source.cells if cell.cell_type == "code"]


def _without(axes: Mapping[str, Any] | None, fixed: Mapping[str, Any]) -> Values:
    return {name: axis for name, axis in (axes or {}).items() if name not in fixed}


def _runs(sweep: Specification, content: SweepFile, fixed: Values, many: bool) -> list[PlannedRun]:
    """The runs of the grid and those listed, once for each seed; equal runs are one."""
    grid = _without(content.grid, fixed)
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ParameterError(f"grid: {name} needs a list of values, like [{values}]")
    for key in ("runs", "exclude"):
        if not all(isinstance(values, dict) for values in content.given.get(key, ())):
            raise ParameterError(f"{key} takes a list of {{name: value}}")
    seeds = _seeds(content, fixed)
    of_grid = math.prod(map(len, grid.values())) if content.grid else 0
    listed = content.runs or ()
    count = max(1, of_grid + len(listed)) * max(1, len(seeds))
    if count > MANY and not many:
        raise ParameterError(f"{count:,} runs: reduce them, or add --yes")
    points: list[Values] = []
    if content.grid:
        rows = itertools.product(*grid.values())
        points = [dict(zip(grid, row, strict=True)) for row in rows]
    points += listed
    seeded = [{SEED: seed} for seed in seeds] or [{}]
    every = [
        sweep.run({**point, **seed, **fixed})
        for point, seed in itertools.product(points or [{}], seeded)
    ]
    runs = _without_excluded(sweep, every, content.exclude or (), fixed)
    if not runs:
        raise ParameterError("nothing to run: exclude removes every run")
    return runs


def _seeds(content: SweepFile, fixed: Values) -> Sequence[Any]:
    """The seed of each repetition; none if the parameter is fixed."""
    seeds = range(content.seeds) if isinstance(content.seeds, int) else content.seeds
    if seeds is None:
        return ()
    if not seeds:
        raise ParameterError("seeds takes a number from 1 on, or a list: leave it out for no seed")
    if any(SEED in given for given in (content.grid or {}, *(content.runs or ()))):
        raise ParameterError(f"seeds sets {SEED} in every run: leave it out of grid and runs")
    return () if SEED in fixed else seeds


def _without_excluded(
    sweep: Specification, every: Sequence[PlannedRun], rules: Sequence[Values], fixed: Values
) -> list[PlannedRun]:
    """The runs that no rule of `exclude` fits, each once."""
    runs = {run.id: run for run in every}
    for written in rules:
        rule = parameters.resolve(sweep.declared, written)
        excluded = [run.id for run in every if rule.items() <= run.values.items()]
        if not (excluded or rule.keys() & fixed.keys()):  # an axis that is fixed may not fit it
            raise ParameterError(f"exclude: no run has {rule}")
        for identifier in excluded:
            runs.pop(identifier, None)
    return list(runs.values())


def _modules(names: Iterable[Any]) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str) or not all(map(str.isidentifier, name.split("."))):
            raise ParameterError(f"warm: {name!r} is not a module name, like sklearn.metrics")
    return tuple(names)


def read_part(kind: type[T], content: Mapping[str, Any], where: str) -> T:
    """A sweep's file, or a part of it, as a dataclass declares it; null means not set.

    Raises `ParameterError` with the value that is wrong and what the key takes.
    """
    given = {key: value for key, value in content.items() if value is not None}
    try:
        typed.refuse_others(where, content, typed.keys(kind))
        return typed.read(kind, given)
    except typed.MisfitError as misfit:
        takes = " or ".join(IN_WORDS[each] for each in misfit.kinds)
        raise ParameterError(
            f"{where}: {misfit.name} has the wrong type: {misfit.value!r}; it takes {takes}"
        ) from None
    except ValueError as error:
        raise ParameterError(str(error)) from None
