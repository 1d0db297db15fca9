"""The contents of a sweep's YAML file, checked against the notebook before the first run.

notebook: ../02_train.py            # relative to the YAML file
base: {image_size: 192}             # what all runs share
grid: {dropout: [0.0, 0.3], ...}    # every combination
runs: [{model: small}, ...]         # and these
exclude: [{dropout: 0.0, mix: mixup}]
seeds: [0, 1, 2]                    # each of them with every seed
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
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import project
from kernelkit.bundle import packages
from kernelkit.errors import ParameterError, nearest
from kernelkit.notebooks import document, parameters
from kernelkit.notebooks.parameters import Parameter
from kernelkit.project import Project
from kernelkit.sweep import sweep_file
from kernelkit.sweep.sweep_file import SEED, Values

if TYPE_CHECKING:
    import nbformat

Types = Mapping[str, type | tuple[type, ...]]

KEYS: Types = {
    "notebook": str,
    "base": dict,
    "grid": dict,
    "runs": list,
    "exclude": list,
    "seeds": (list, int),
    "search": dict,
    "workers": int,
    "time_limit": (int, float),
    "memory": (int, float),
    "score": str,
    "minimize": bool,
    "warm": list,
    "kaggle": dict,
    "keep_best": dict,
}
AT_HOME = ("notebook", "workers", "score", "minimize", "warm", "kaggle", "keep_best")
OUTPUT = "output"
MANY = 1000  # a grid with more runs is probably a mistake
LENGTH = 12  # hexadecimal digits of a run's id: 48 bits, for thousands of runs


@dataclass(frozen=True)
class PlannedRun:
    """One run: its id, the parameters it sets, and the values of all parameters."""

    id: str
    overrides: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Specification:
    """A sweep: its name, the notebook, the runs in order, and how to run them.

    `declared` are the notebook's parameters, `code` is a hash of the code that all runs execute.
    `time_limit` is in minutes and `memory` in GB, 0 for no limit; `search` is empty for a plain
    sweep, whose runs are known beforehand.
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
    search: Mapping[str, Any] = field(default_factory=dict)
    keep_best: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def varying(self) -> list[str]:
        """The parameters that distinguish its runs, in the search's or the notebook's order."""
        of_runs = {n: {repr(run.values.get(n)) for run in self.runs} for n in self.declared}
        varying = (name for name, values in of_runs.items() if len(values) > 1)
        return list(self.search.get("space", varying))

    def run(self, overrides: Mapping[str, Any]) -> PlannedRun:
        """A run with these values on top of the base; raises `ParameterError` for invalid ones.

        Its id is a hash of the code and the values of all parameters.
        """
        if OUTPUT in self.base or OUTPUT in overrides:
            raise ParameterError("output is set to each run's own folder: leave it out")
        checked = parameters.resolve(self.declared, {**self.base, **overrides})
        defaults = {name: p.default for name, p in self.declared.items() if name != OUTPUT}
        values = defaults | checked
        message = json.dumps([self.code, sorted(values.items())], sort_keys=True)
        return PlannedRun(hashlib.sha256(message.encode()).hexdigest()[:LENGTH], checked, values)


def read(
    path: Path, pairs: Iterable[str] = (), *, many: bool = False, kaggle: bool = False
) -> Specification:
    """Read the sweep in a YAML file.

    `pairs`: `name=value` strings that replace base values and axes; `kaggle`: apply the `kaggle:`
    block. Raises a one-line `ParameterError` or `NotebookError` for anything that no run could
    accept, and for more than `MANY` runs unless `many`.
    """
    path = Path(path)
    content = sweep_file.load(path)
    try:
        check_keys(content, KEYS, "a sweep")
        block = content.pop("kaggle", None) or {}
        keys = {key: kind for key, kind in KEYS.items() if key not in AT_HOME}
        check_keys(block, keys, "kaggle")
        content = sweep_file.with_kaggle_block(content, block) if kaggle else content
        return _checked(path, content, pairs, many)
    except ParameterError as error:
        raise ParameterError(f"{path.name}: {error}") from None


def _checked(
    path: Path, content: Mapping[str, Any], pairs: Iterable[str], many: bool
) -> Specification:
    if "notebook" not in content:
        raise ParameterError("no notebook: write `notebook: PATH`, relative to this file")
    notebook = (path.parent / content["notebook"]).resolve()
    source, home = document.read(notebook), project.find_project(notebook)
    declared = parameters.declared(document.parameters_cell(source).source, home)
    shown, score = project.shown(notebook), content.get("score")
    minimize = shown.minimize if score in (None, shown.score) else False
    overrides = (content.get(key) for key in ("runs", "search", "seeds"))
    if "grid" not in content and all(value in (None, {}) for value in overrides):
        raise ParameterError("nothing to run: give grid, runs, seeds or search")
    content = sweep_file.with_values(content, declared, pairs)
    search, keep_best = content.get("search") or {}, content.get("keep_best")
    sweep = Specification(
        path.stem,
        notebook,
        declared,
        parameters.resolve(declared, sweep_file.names(content.get("base"), "base")),
        fingerprint(source, home),
        workers=_not_negative(content, "workers"),
        time_limit=_not_negative(content, "time_limit"),
        memory=_not_negative(content, "memory"),
        score=score or shown.score,
        minimize=minimize if content.get("minimize") is None else content["minimize"],
        warm=_modules(content.get("warm") or []),
        search=search,
        keep_best=checked_keep_best(home.keep_best if keep_best is None else keep_best),
    )
    if not search:
        return replace(sweep, runs=_different(map(sweep.run, _points(content, declared, many))))
    if content.get("grid") or content.get("runs"):
        raise ParameterError("search replaces grid and runs: keep one of them")
    if not sweep.score:
        raise ParameterError(
            "no score to search by: write `score: NAME`, a number of metrics.json, or set "
            "score in [tool.kernelkit.shown] of pyproject.toml"
        )
    sweep.run({})  # the base by itself
    return sweep


def check_keys(content: Mapping[str, Any], keys: Types, where: str) -> None:
    """Raise `ParameterError` for a key that is not in `keys`, or a value of the wrong type.

    None means that the key is not set, except for the notebook.
    """
    for key, value in content.items():
        if key not in keys:
            raise ParameterError(f"{where} has no key {key!r}: {nearest(key, keys)}")
        empty = value is None and key != "notebook"
        truth = isinstance(value, bool) == (keys[key] is bool)  # Python's True is also an int
        if not empty and not (isinstance(value, keys[key]) and truth):
            raise ParameterError(f"{key} has the wrong type: {value!r}")


def checked_keep_best(keep_best: object) -> dict[str, int]:
    """A valid {file name: number of runs}; raises `ParameterError` for anything else."""
    if not isinstance(keep_best, dict):
        raise ParameterError("keep_best takes {FILE: RUNS}, like {model.h5: 3}")
    for name, most in keep_best.items():
        plain = isinstance(name, str) and name and Path(name).name == name
        if not plain or type(most) is not int or most < 1:
            raise ParameterError(
                f"keep_best: {name!r}: {most!r} is not a file name with a number of runs"
            )
    return keep_best


def fingerprint(source: nbformat.NotebookNode, home: Project) -> str:
    """A hash of a notebook's code cells and of its project's packages."""
    digest = hashlib.sha256()
    for cell in source.cells:
        if cell.cell_type == "code":
            digest.update(cell.source.encode() + b"\0")
    for package in home.packages:
        for file in packages.files(home.package_folder(package), home.leave_out):
            digest.update(f"{file.path}\0{file.sha256}\0".encode())
    return digest.hexdigest()


def _points(
    content: Mapping[str, Any], declared: Mapping[str, Parameter], many: bool
) -> list[Values]:
    """The values that each run adds to the base, once for each seed."""
    if "grid" in content and not content["grid"]:
        raise ParameterError("the grid is empty: give each axis as `name: [value, value]`")
    grid = sweep_file.names(content.get("grid"), "grid")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ParameterError(f"grid: {name} needs a list of values, like [{values}]")
    listed = [sweep_file.names(run, "a run") for run in content.get("runs") or []]
    seeds = content.get("seeds")
    seeds = list(range(seeds)) if isinstance(seeds, int) else seeds
    if seeds is not None and not seeds:
        raise ParameterError("seeds is empty: give a count or a list")
    combinations = math.prod(map(len, grid.values())) if grid else 0
    count = (combinations + len(listed) or 1) * len(seeds or [0])
    if count > MANY and not many:
        raise ParameterError(f"{count:,} runs: reduce them, or add --yes")
    rows = itertools.product(*grid.values()) if grid else ()
    points = [*(dict(zip(grid, row, strict=True)) for row in rows), *listed] or [{}]
    for rule in content.get("exclude") or []:
        pairs = parameters.resolve(declared, sweep_file.names(rule, "exclude")).items()
        kept = [p for p in points if not all(p.get(name) == value for name, value in pairs)]
        if len(kept) == len(points):
            raise ParameterError(f"exclude: no run has {dict(pairs)}")
        points = kept
    if not points:
        raise ParameterError("nothing to run: exclude removes every run")
    return [{**point, SEED: seed} for point in points for seed in seeds] if seeds else points


def _different(runs: Iterable[PlannedRun]) -> tuple[PlannedRun, ...]:
    """The runs; raises `ParameterError` if two of them are equal."""
    first: dict[str, PlannedRun] = {}
    for run in runs:
        if first.setdefault(run.id, run) is not run:
            values = ", ".join(f"{name}={value}" for name, value in run.overrides.items())
            raise ParameterError(f"the same run twice: {values}")
    return tuple(first.values())


def _not_negative(content: Mapping[str, Any], key: str) -> Any:
    value = content.get(key) or 0
    if not 0 <= value < math.inf:  # rejects nan, too
        raise ParameterError(f"{key}={value} is negative or not a number")
    return value


def _modules(names: Sequence[Any]) -> tuple[str, ...]:
    for name in names:
        if not all(part.isidentifier() for part in str(name).split(".")):
            raise ParameterError(f"warm: {name!r} is not a module name")
    return tuple(map(str, names))
