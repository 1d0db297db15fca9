"""The space of a search: how many points it has, which of them have run, which may come."""

import math
from collections.abc import Collection, Sequence
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.planning.sweep_file import Axis, Range, SearchSettings, Values
from kernelkit.sweep.sweep_folder import SweepFolder

MEDIAN, HYPERBAND = "median", "hyperband"


def settings_of(sweep: Specification) -> SearchSettings:
    """The settings of a sweep that is a search; raises `ValueError` for another one."""
    if sweep.search is None:
        raise ValueError(f"{sweep.name} is no search")
    return sweep.search


def trials(sweep: Specification) -> int:
    """The runs of a search: as many as it asks for, or as its space has points if that is fewer."""
    return int(min(settings_of(sweep).trials, size(sweep)))


def size(sweep: Specification) -> float:
    """The number of points of the space, infinite if an axis is continuous."""
    return math.prod(_length(sweep, *axis) for axis in settings_of(sweep).space.items())


def _length(sweep: Specification, name: str, axis: Axis) -> float:
    if not isinstance(axis, Range):
        return len(axis)
    step = _step(sweep, name, axis)
    if not step:
        return math.inf
    steps: int = math.floor((axis.high - axis.low) / step + 1e-9)
    return steps + 1


def _step(sweep: Specification, name: str, axis: Range) -> float | None:
    """The step between the values of a range; None if it is continuous."""
    if not axis.step and sweep.declared[name].type is int:
        return 1
    return axis.step


def unseen(sweep: Specification, runs: Collection[PlannedRun]) -> PlannedRun:
    """The first point of a finite space that is not among the runs."""
    points = (_point(sweep, number) for number in range(int(size(sweep))))
    return next(run for run in map(sweep.run, points) if run not in runs)


def _point(sweep: Specification, number: int) -> Values:
    """A point by its number: `itertools.product` would first copy axes like 2**31 seeds."""
    point = {}
    for name, axis in settings_of(sweep).space.items():
        number, place = divmod(number, int(_length(sweep, name, axis)))
        if isinstance(axis, Range):
            step = _step(sweep, name, axis) or 0
            point[name] = min(axis.low + place * step, axis.high)
        else:
            point[name] = axis[place]
    return point


def points(folder: SweepFolder, sweep: Specification) -> list[PlannedRun]:
    """The runs in a folder that are points of this search, sorted by id."""
    space = settings_of(sweep).space
    runs = []
    for id, record in folder.recorded():
        given = {name: record.parameters.get(name, sweep.declared[name].default) for name in space}
        try:
            run = sweep.run(given)
        except ParameterError:  # of an earlier notebook, whose parameters took other values
            continue
        inside = all(_holds(sweep, name, run.values[name]) for name in space)
        if inside and run.id == id:
            runs.append(run)
    return runs


def _holds(sweep: Specification, name: str, value: Any) -> bool:
    """Whether a value is on an axis, which may have changed since the value was proposed."""
    axis = settings_of(sweep).space[name]
    if not isinstance(axis, Range):
        return value in choices(sweep, name, axis)
    beside = math.remainder(value - axis.low, axis.step) if axis.step else 0
    return bool(axis.low <= value <= axis.high and abs(beside) < 1e-9)


def choices(sweep: Specification, name: str, axis: Sequence[Any]) -> list[Any]:
    """The choices of an axis as runs have them: where a file has a list, that may be a tuple."""
    return [sweep.declared[name].check(value) for value in axis]


def samples(sweep: Specification) -> list[PlannedRun]:
    """Points that the search may propose, with every choice and both ends of every range."""
    named = {name: _named(axis) for name, axis in settings_of(sweep).space.items()}
    runs = []
    for number in range(max(map(len, named.values()))):
        point = {name: values[number % len(values)] for name, values in named.items()}
        runs.append(sweep.run(point))
    return runs


def _named(axis: Axis) -> Sequence[Any]:
    """The values that a file names for an axis: its choices, or both ends of its range."""
    return [axis.low, axis.high] if isinstance(axis, Range) else axis


def check(sweep: Specification) -> None:
    """Check the `search` settings; raises `ParameterError` in one line."""
    settings = settings_of(sweep)
    if settings.trials < 1 or not settings.space:
        raise ParameterError(
            "search needs trials (at least 1) and a space with an axis that is not fixed"
        )
    if settings.sampler not in (None, "tpe", "random"):
        raise ParameterError(f"search: sampler {settings.sampler!r} must be tpe or random")
    if settings.prune not in (None, True, False, MEDIAN, HYPERBAND):
        raise ParameterError(
            f"search: prune {settings.prune!r} must be true, false, {MEDIAN} or {HYPERBAND}"
        )
    for name, axis in settings.space.items():
        values = _named(axis)
        ids = {sweep.run({name: value}).id for value in values}  # which checks the values, too
        if isinstance(axis, Range):
            _check_range(name, axis, sweep.declared[name].type is int)
        elif not values:
            raise ParameterError(
                f"search: {name} needs a list of choices, or {{low: …, high: …}} with log or step"
            )
        elif len(ids) < len(values):
            raise ParameterError(f"search: {name} lists a value twice: {axis}")


def _check_range(name: str, axis: Range, whole: bool) -> None:
    is_wrong = axis.low >= axis.high or (axis.step is not None and axis.step <= 0)
    if axis.log:
        is_wrong = is_wrong or axis.low <= 0 or bool(axis.step)
    if whole and isinstance(axis.step, float):
        is_wrong = True
    if is_wrong:
        given = {key: value for key, value in vars(axis).items() if value}
        raise ParameterError(
            f"search: {name} cannot range over {given}: low must be less than high, and step more "
            "than 0, a whole number if the parameter is one; log needs a low above 0 and no step"
        )
