"""The points of a grid: the values that each run adds to the base, and replaced axes.

A value given with `-p`, or in the base of a `kaggle:` block, takes the place of an axis of that
name. A list, as in `-p image_size=[192,224]`, takes the place of the axis's values.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.notebooks import parameters
from kernelkit.notebooks.parameters import Parameter
from kernelkit.sweep.config import yaml_file

SEED = "seed"
MANY = 1000  # a grid of more runs is more likely a mistake

Values = dict[str, Any]
Known = Mapping[str, Parameter]


def on_kaggle(asked: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
    """The sweep as it is on Kaggle: its `kaggle:` block over the rest of the file.

    Names of `base` and `grid` are replaced one by one (null takes a name out), every other key
    as a whole.
    """
    base = _given(block.get("base"))
    there = {**fix(asked, {name: [value] for name, value in base.items()}), **block}
    there["base"] = {**_given(asked.get("base")), **base}
    there["grid"] = {**(asked.get("grid") or {}), **(block.get("grid") or {})}
    there["grid"] = _given(_less(there["grid"], set(base) - set(block.get("grid") or {})))
    return there if there["grid"] else _less(there, ["grid"])


def _given(values: Mapping[str, Any] | None) -> Values:
    return {name: value for name, value in (values or {}).items() if value is not None}


def override(asked: Mapping[str, Any], known: Known, given: Iterable[str]) -> dict[str, Any]:
    """The sweep with `name=value` and `name=[value, value]` strings put in place.

    Raises `ParameterError` for what the notebook does not take.
    """
    lists, plain = {}, []
    for pair in given:
        name, _, text = pair.partition("=")
        parameter = known.get(name.strip())
        takes_text = parameter is not None and parameter.type not in (list, dict, type(None))
        if takes_text and text.strip().startswith("[") and text.strip().endswith("]"):
            lists[name.strip()] = yaml_file.flow_list(text)
        else:
            plain.append(pair)
    values = parameters.resolve(known, plain)
    if both := sorted(set(lists) & set(values)):
        raise ParameterError(f"{both[0]} is given twice")
    changed = fix(asked, {**{name: [value] for name, value in values.items()}, **lists})
    changed["base"] = {**names(changed.get("base"), "base"), **values}
    if changed.get("search"):
        space = {**changed["search"].get("space", {}), **lists}
        return {**changed, "search": {**changed["search"], "space": space}}
    if lists:
        changed["grid"] = {**changed.get("grid", {}), **lists}
    return changed


def fix(asked: Mapping[str, Any], fixed: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The sweep without the axes of these names; `fixed` holds their values."""
    rest = dict(asked)
    if isinstance(rest.get("grid"), dict):
        rest["grid"] = _less(rest["grid"], fixed)
        if not rest["grid"] and asked["grid"]:
            del rest["grid"]
    if isinstance(rest.get("search"), dict) and isinstance(rest["search"].get("space"), dict):
        rest["search"] = {**rest["search"], "space": _less(rest["search"]["space"], fixed)}
    if any(set(fixed) & set(names(run, "a run")) for run in rest.get("runs") or []):
        cut = [_less(run, fixed) for run in rest["runs"]]
        rest["runs"] = list({json.dumps(run, sort_keys=True): run for run in cut}.values())
    if SEED in fixed:
        rest.pop("seeds", None)
    # A rule for a value that is not there any more excludes nothing.
    rules = [names(rule, "exclude") for rule in rest.get("exclude") or []]
    held = [r for r in rules if all(r[name] in fixed[name] for name in set(r) & set(fixed))]
    one = {name: values for name, values in fixed.items() if len(values) == 1}
    if rules:
        rest["exclude"] = [_less(rule, one) for rule in held]
    return rest


def _less(values: Mapping[str, Any], taken: Iterable[str]) -> Values:
    return {name: value for name, value in values.items() if name not in taken}


def points(asked: Mapping[str, Any], known: Known, many: bool) -> list[Values]:
    """The values that each run adds to the base, once for each seed; raises `ParameterError`."""
    grid = _grid(asked, known)
    singles = [parameters.resolve(known, names(run, "a run")) for run in asked.get("runs") or []]
    seeds = _seeds(asked, known)
    combinations = math.prod(len(values) for values in grid.values()) if grid else 0
    count = (combinations + len(singles) or 1) * max(1, len(seeds))
    if count > MANY and not many:
        raise ParameterError(f"{count:,} runs: make it fewer, or say --yes")
    listed = (dict(zip(grid, row, strict=True)) for row in itertools.product(*grid.values()))
    found = [*(listed if grid else ()), *singles] or [{}]
    kept = _without(found, asked.get("exclude") or [], known)
    if not kept:
        raise ParameterError("nothing to run: exclude takes every run out")
    return [{**p, SEED: seed} for p in kept for seed in seeds] if seeds else kept


def names(value: Any, where: str) -> Values:
    """A mapping's names and values, {} for None; raises `ParameterError` for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ParameterError(f"{where} must give names and values, not {value!r}")
    return {str(name): given for name, given in value.items()}


def _grid(asked: Mapping[str, Any], known: Known) -> dict[str, list[Any]]:
    if "grid" in asked and not asked["grid"]:
        raise ParameterError("the grid is empty: give each axis as `name: [value, value]`")
    grid: dict[str, list[Any]] = {}
    for name, values in (asked.get("grid") or {}).items():
        if not isinstance(values, list) or not values:
            raise ParameterError(f"grid: {name} needs a list of values, like [{values}]")
        grid[name] = [parameters.resolve(known, {str(name): value})[name] for value in values]
    return grid


def _seeds(asked: Mapping[str, Any], known: Known) -> list[int]:
    seeds = asked.get("seeds")
    if seeds is None:
        return []
    seeds = list(range(seeds)) if isinstance(seeds, int) else seeds
    if not seeds:
        raise ParameterError("seeds is empty: give a count or a list")
    return [parameters.resolve(known, {SEED: seed})[SEED] for seed in seeds]


def _without(combinations: Sequence[Values], excluded: Sequence[Any], known: Known) -> list[Values]:
    kept = list(combinations)
    for rule in excluded:
        pairs = parameters.resolve(known, names(rule, "exclude")).items()
        left = [p for p in kept if not all(p.get(name) == value for name, value in pairs)]
        if len(left) == len(kept):
            raise ParameterError(f"exclude: no run has {dict(pairs)}")
        kept = left
    return kept
