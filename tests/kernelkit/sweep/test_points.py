"""What replaces an axis: a value on the command line, and the block for Kaggle."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.sweep import specification

GRID = "base: {kind: x}\ngrid: {a: [1, 2], does: [score, slow]}\nseeds: [0, 1]"


def points(sweeps, text, *overrides, names=("a", "kind", "does", "seed"), **options):
    runs = specification.read(sweeps.write(text), overrides, **options).runs
    return [tuple(run.values[name] for name in names) for run in runs]


def test_a_value_replaces_a_base_value_or_an_axis(sweeps):
    assert points(sweeps, "base: {kind: x}\ngrid: {a: [1]}", "kind=y") == [(1, "y", "score", 0)]
    assert points(sweeps, GRID, "a=7", "seed=5") == [(7, "x", "score", 5), (7, "x", "slow", 5)]
    assert points(sweeps, "grid: {a: [1, 2]}", "a=7") == [(7, "x", "score", 0)]


def test_equal_runs_are_one(sweeps):
    assert points(sweeps, "grid: {a: [1, 1]}\nruns: [{a: 1}, {kind: x, a: 1}]", names="a") == [(1,)]
    text = "runs: [{a: 1, kind: x}, {a: 1, kind: y}, {a: 2, kind: y}]"

    assert points(sweeps, text, "kind=y", names=["a", "kind"]) == [(1, "y"), (2, "y")]


def test_a_rule_of_exclude_follows_what_an_axis_became(sweeps):
    text = "grid: {a: [1, 2], kind: [x, y]}\nexclude: [{a: 2, kind: y}]"

    assert points(sweeps, text, "kind=y", names=["a", "kind"]) == [(1, "y")]
    assert points(sweeps, text, "kind=x", names=["a", "kind"]) == [(1, "x"), (2, "x")]
    with pytest.raises(ParameterError, match="removes every run"):
        points(sweeps, text, "kind=y", "a=2")


def test_a_search_loses_what_is_fixed(sweeps):
    text = "search: {trials: 3, space: {a: {low: 1, high: 9}, kind: [x, y]}}"

    block = "\nkaggle: {base: {kind: y}}"
    of_option = specification.read(sweeps.write(text), ["kind=y"])
    of_block = specification.read(sweeps.write(text + block), kaggle=True)

    for sweep in (of_option, of_block):
        assert sweep.search["space"] == {"a": {"low": 1, "high": 9}}
        assert sweep.base == {"kind": "y"}


def test_the_block_for_kaggle_stands_over_the_rest(sweeps):
    text = GRID + "\nkaggle: {base: {kind: y, a: 9}, grid: {does: [score]}, seeds: [4]}"

    assert points(sweeps, text, kaggle=True) == [(9, "y", "score", 4)]
    assert len(points(sweeps, text)) == 8
    assert points(sweeps, text, "a=3", kaggle=True) == [(3, "y", "score", 4)]


def test_the_block_may_take_names_out_and_add_axes(sweeps):
    text = GRID + "\nkaggle: {base: {kind: null}, grid: {a: null, kind: [x, y]}, seeds: [0]}"

    kinds = [(1, "x"), (1, "y")]
    expected = [
        (a, kind, does, 0) for a, _ in kinds[:1] for does in ("score", "slow") for kind in "xy"
    ]
    assert points(sweeps, text, kaggle=True) == expected


def test_an_axis_of_the_block_wins_over_its_own_base(sweeps):
    text = "grid: {a: [1]}\nkaggle: {base: {a: 3}, grid: {a: [4, 5]}}"

    assert points(sweeps, text, names=["a"], kaggle=True) == [(4,), (5,)]
