"""The contents of a sweep's YAML file, checked against the notebook before the first run.

notebook: ../02_train.py            # relative to the YAML file
base: {image_size: 192}             # what all runs share
grid: {dropout: [0.0, 0.3], ...}    # every combination
runs: [{model: small}, ...]         # and these
exclude: [{dropout: 0.0, mix: mixup}]
seeds: [0, 1, 2]                    # each of them with every seed
search: {trials: 20, space: {...}}  # or let Optuna choose (kernelkit.sweep.search)
workers: 2                          # runs at a time
time_limit: 10                      # minutes a run may take; 0 = any
memory: 4                           # GB a run may take; 0 = what the machine bears
score: accuracy                     # the measure of metrics.json that runs are ranked by
minimize: false                     # whether a lower score is better
keep_best: {model.h5: 3}            # files that only the best so many runs keep
warm: [tensorflow]                  # imported once, before runs are forked off
kaggle: {base: {…}, grid: {…}, …}   # what is different in a Kaggle session; there alone also
                                    # wheels: owner/slug, a dataset with what its image lacks
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import project
from kernelkit.bundle import packages
from kernelkit.errors import ParameterError
from kernelkit.notebooks import document, parameters
from kernelkit.notebooks.parameters import Parameter
from kernelkit.sweep.config import points, yaml_file
from kernelkit.sweep.config.points import Values

if TYPE_CHECKING:
    import nbformat

KEYS: dict[str, type | tuple[type, ...]] = {
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
    "wheels": str,
}
KAGGLE_KEYS = (
    "base",
    "grid",
    "runs",
    "exclude",
    "seeds",
    "search",
    "time_limit",
    "memory",
    "wheels",
)
OUTPUT = "output"
LENGTH = 12  # hexadecimal digits of a run's id: 48 bits, for thousands of runs


@dataclass(frozen=True)
class Fingerprint:
    """A hash of the code that a sweep's runs share."""

    digest: str

    def run(self, values: Mapping[str, Any]) -> str:
        """The id of a run of this code with all of these parameters."""
        message = json.dumps([self.digest, sorted(values.items())], sort_keys=True)
        return hashlib.sha256(message.encode()).hexdigest()[:LENGTH]


@dataclass(frozen=True)
class PlannedRun:
    """One run: its id, the parameters it sets, and the values of all parameters."""

    id: str
    given: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Specification:
    """A sweep: its name, the notebook, the runs in order and how they are to be run.

    `time_limit` is in minutes and `memory` in GB, 0 for none; `search` is empty for a plain
    sweep, whose runs are known beforehand.
    """

    name: str
    notebook: Path
    known: Mapping[str, Parameter]
    base: Mapping[str, Any]
    code: Fingerprint
    runs: tuple[PlannedRun, ...]
    workers: int = 0
    time_limit: float = 0.0
    memory: float = 0.0
    score: str = ""
    minimize: bool = False
    warm: tuple[str, ...] = ()
    search: Mapping[str, Any] = field(default_factory=dict)
    wheels: str = ""
    keep_best: Mapping[str, int] = field(default_factory=dict)

    def run(self, given: Mapping[str, Any]) -> PlannedRun:
        """A run of these values on top of the base; raises `ParameterError` if they do not fit."""
        return _run(self.known, self.code, {**self.base, **given})


def read(
    path: Path, overrides: Iterable[str] = (), *, many: bool = False, kaggle: bool = False
) -> Specification:
    """The sweep in a YAML file.

    `overrides`: `name=value` strings that replace base values and axes; `kaggle`: as it is in a
    Kaggle session. Raises `ParameterError` or `NotebookError` in one line for anything that no
    run could take, and for more than `points.MANY` runs unless `many`.
    """
    path = Path(path)
    asked = yaml_file.load(path)
    try:
        _check_keys(asked, [key for key in KEYS if key != "wheels"], "a sweep")
        block = asked.pop("kaggle", None) or {}
        _check_keys(block, KAGGLE_KEYS, "kaggle")
        return _checked(path, points.on_kaggle(asked, block) if kaggle else asked, overrides, many)
    except ParameterError as error:
        raise ParameterError(f"{path.name}: {error}") from None


def _checked(
    path: Path, asked: Mapping[str, Any], overrides: Iterable[str], many: bool
) -> Specification:
    if "notebook" not in asked:
        raise ParameterError("no notebook: write `notebook: PATH`, relative to this file")
    notebook = (path.parent / asked["notebook"]).resolve()
    source = document.read(notebook)
    known = parameters.declared(
        document.parameters_cell(source).source, project.find_project(notebook)
    )
    given = ("runs", "search", "seeds")
    if "grid" not in asked and not any(asked.get(key) not in (None, {}) for key in given):
        raise ParameterError("nothing to run: give grid, runs, seeds or search")
    asked = points.override(asked, known, overrides)
    base = parameters.resolve(known, points.names(asked.get("base"), "base"))
    code = fingerprint(notebook, source)
    search = asked.get("search") or {}
    runs: tuple[PlannedRun, ...] = ()
    if search:
        if asked.get("grid") or asked.get("runs"):
            raise ParameterError("search takes the place of grid and runs: keep one of them")
        _reject_output(base)
    else:
        planned = points.points(asked, known, many)
        runs = tuple(_run(known, code, {**base, **point}) for point in planned)
        _reject_twins(runs)
    return Specification(
        path.stem,
        notebook,
        known,
        base,
        code,
        runs,
        workers=_at_least(asked, "workers", 0),
        time_limit=_at_least(asked, "time_limit", 0),
        memory=_at_least(asked, "memory", 0),
        score=_score(asked, notebook),
        minimize=bool(asked.get("minimize")),
        warm=_modules(asked.get("warm", [])),
        search=search,
        wheels=asked.get("wheels") or "",
        keep_best=_keep_best(asked, notebook),
    )


def _score(asked: Mapping[str, Any], notebook: Path) -> str:
    """The measure that runs are ranked by; "" where none is named: a grid then takes the first."""
    score = asked.get("score") or project.shown(notebook).score
    if not score and asked.get("search"):
        raise ParameterError(
            "no score to search by: write `score: NAME`, a number of metrics.json, or set "
            "score in [tool.kernelkit.shown] of pyproject.toml"
        )
    return str(score)


def _keep_best(asked: Mapping[str, Any], notebook: Path) -> dict[str, int]:
    own = project.find_project(notebook).keep_best
    return checked_keep_best(own if asked.get("keep_best") is None else asked["keep_best"])


def checked_keep_best(asked: object) -> dict[str, int]:
    """{file name: runs} as a sweep or a project writes it; raises `ParameterError` for others."""
    if not isinstance(asked, dict):
        raise ParameterError("keep_best takes {FILE: RUNS}, like {model.h5: 3}")
    for name, most in asked.items():
        plain = isinstance(name, str) and name and Path(name).name == name
        if not plain or type(most) is not int or most < 1:
            raise ParameterError(
                f"keep_best: {name!r}: {most!r} is no file name with a number of runs, 1 or more"
            )
    return dict(asked)


def _check_keys(asked: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    for key, value in asked.items():
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(keys)}"
            raise ParameterError(f"{what} has no key {key!r}: {hint}")
        empty = value is None and key != "notebook"
        truth = isinstance(value, bool) == (KEYS[key] is bool)  # Python's True is an int too
        if not empty and not (isinstance(value, KEYS[key]) and truth):
            raise ParameterError(f"{key} has the wrong type: {value!r}")


def _run(known: Mapping[str, Parameter], code: Fingerprint, given: Values) -> PlannedRun:
    _reject_output(given)
    checked = parameters.resolve(known, given)
    values = {name: p.default for name, p in known.items() if name != OUTPUT} | checked
    return PlannedRun(code.run(values), checked, values)


def _reject_output(given: Mapping[str, Any]) -> None:
    if OUTPUT in given:
        raise ParameterError("output is set to each run's own folder: leave it out")


def _reject_twins(runs: Sequence[PlannedRun]) -> None:
    seen: set[str] = set()
    for run in runs:
        if run.id in seen:
            message = ", ".join(f"{name}={value}" for name, value in run.given.items())
            raise ParameterError(f"the same run twice: {message}")
        seen.add(run.id)


def _at_least(asked: Mapping[str, Any], key: str, least: int) -> Any:
    value = asked.get(key) or 0
    if not least <= value < math.inf:  # nan is no number of minutes
        raise ParameterError(f"{key}={value} is below {least}, or no number")
    return value


def _modules(names: Sequence[Any]) -> tuple[str, ...]:
    for name in names:
        if not all(part.isidentifier() for part in str(name).split(".")):
            raise ParameterError(f"warm: {name!r} is no module's name")
    return tuple(map(str, names))


def fingerprint(notebook: Path, source: nbformat.NotebookNode) -> Fingerprint:
    """Hash a notebook's code cells and the packages of the project it lies in."""
    here = project.find_project(notebook)
    digest = hashlib.sha256()
    for cell in source.cells:
        if cell.cell_type == "code":
            digest.update(cell.source.encode() + b"\0")
    for package in here.packages:
        for file in packages.files(here.package_folder(package), here.leave_out):
            digest.update(f"{file.path}\0{file.sha256}\0".encode())
    return Fingerprint(digest.hexdigest())
