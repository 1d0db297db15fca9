"""The keys of a sweep's YAML file.

notebook: ../02_train.py            # relative to the YAML file
base: {image_size: 192}             # what all runs share
grid: {dropout: [0.0, 0.3], ...}    # every combination
runs: [{model: small}, ...]         # and these
exclude: [{dropout: 0.0, mix: mixup}]
seeds: [0, 1, 2]                    # each of them with every value of the parameter seed
search: {trials: 20, space: {...}}  # or let Optuna choose
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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from kernelkit import project, typed
from kernelkit.errors import ParameterError

T = TypeVar("T")
Values = dict[str, Any]
IN_WORDS = typed.IN_WORDS | {dict: "names with values"}
OF_THE_DESK = ("kaggle", "workers", "warm")  # no effect in a session: it makes one run at a time
SEED = "seed"


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
        return replace(self, space=without(self.space, fixed))


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
    warm: Sequence[str] | None = None
    kaggle: Mapping[str, Any] | None = None
    keep_best: Mapping[str, Any] | None = typed.declared(None, check=project.check_keep_best)

    @property
    def given(self) -> Values:
        """What it sets, by key."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {key: value for key, value in named.items() if value is not None}


def read_keys(keys: Mapping[str, Any], *, kaggle: bool = False) -> SweepFile:
    """What the keys of a file say, with `kaggle` as its `kaggle:` block has it.

    Raises `ParameterError` for a key that no sweep has, or a value of the wrong type.
    """
    content = _read_part(SweepFile, keys, "a sweep")
    written = content.kaggle or {}
    block = _read_part(SweepFile, written, "kaggle")
    idle = [key for key in OF_THE_DESK if key in block.given]
    if idle:
        raise ParameterError(
            f"kaggle: {idle[0]} has no effect in a session, which does one run at a time: "
            "leave it out"
        )
    if not kaggle:
        return content
    removed = [key for key, value in written.items() if value is None]
    return _with_kaggle_block(content, block, removed)


def _read_part(kind: type[T], content: Mapping[str, Any], where: str) -> T:
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


def _with_kaggle_block(content: SweepFile, block: SweepFile, removed: Iterable[str]) -> SweepFile:
    """The sweep as it runs on Kaggle: its `kaggle:` block over the rest of the file.

    The names in `base` and `grid` are replaced individually, every other key as a whole; null
    removes a name, or a whole key: those are `removed`. A name in the block's base is no axis,
    unless the block's grid has it, or its `seeds`.
    """
    base = {**(content.base or {}), **(block.base or {})}
    grid = {**without(content.grid, block.base or {}), **(block.grid or {})}
    search = content.search
    if search:
        search = search.without(block.base or {})
    seeds = None if SEED in (block.base or {}) else content.seeds
    own = {"search": search, "seeds": seeds}
    merged = {**own, **block.given, "base": _set(base), "grid": _set(grid)}
    return replace(content, **merged | dict.fromkeys(removed))


def _set(values: Values) -> Values:
    return {name: value for name, value in values.items() if value is not None}


def without(axes: Mapping[str, Any] | None, fixed: Mapping[str, Any]) -> Values:
    """The axes that are not fixed."""
    return {name: axis for name, axis in (axes or {}).items() if name not in fixed}
