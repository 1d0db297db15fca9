"""The runs that a file's grid, runs, seeds and exclude describe."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.notebook.interface.values import resolve
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.planning.sweep_file import SEED, SweepFile, Values, without

MANY = 1000  # runs: more have to be confirmed


def runs(sweep: Specification, content: SweepFile, fixed: Values, many: bool) -> list[PlannedRun]:
    """The runs of the grid and those listed, once for each seed; equal runs are one.

    `fixed`: the values of `-p`, which all runs have in place of their own; `many`: whether more
    than `MANY` runs are accepted. Raises `ParameterError` for what makes no runs.
    """
    grid = without(content.grid, fixed)
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
        rule = resolve(sweep.declared, written)
        excluded = [run.id for run in every if rule.items() <= run.values.items()]
        if not (excluded or rule.keys() & fixed.keys()):  # an axis that is fixed may not fit it
            raise ParameterError(f"exclude: no run has {rule}")
        for identifier in excluded:
            runs.pop(identifier, None)
    return list(runs.values())
