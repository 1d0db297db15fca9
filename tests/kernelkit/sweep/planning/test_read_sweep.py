"""A sweep is checked whole before its first run, with what replaces an axis of it."""

import pytest

from kernelkit import project
from kernelkit.errors import ParameterError
from kernelkit.shown import Shown
from kernelkit.sweep.planning.sweep_file import Range

GRID = "base: {kind: x}\ngrid: {a: [1, 2], does: [score, slow]}\nseeds: [0, 1]"


def points(sweeps, text, *overrides, names=("a", "kind"), **options):
    runs = sweeps.read(text, *overrides, **options).runs
    assert len({run.id for run in runs}) == len(runs)
    return [tuple(run.values[name] for name in names) for run in runs]


def test_a_grid_runs_and_seeds_are_multiplied_out_in_order(sweeps):
    text = "base: {kind: y}\ngrid: {a: [1, 2]}\nruns: [{a: 9, kind: x}]\nseeds: 2"

    expected = [(a, kind, seed) for a, kind in ((1, "y"), (2, "y"), (9, "x")) for seed in (0, 1)]
    assert points(sweeps, text, names=("a", "kind", "seed")) == expected


def test_a_value_replaces_a_base_value_or_an_axis(sweeps):
    assert points(sweeps, "base: {kind: x}\ngrid: {a: [1]}", "kind=y") == [(1, "y")]
    expected = [(7, "score", 5), (7, "slow", 5)]
    assert points(sweeps, "grid: {a: [1]}\nruns: [{kind: y}]", "a=7") == [(7, "x"), (7, "y")]
    assert points(sweeps, GRID, "a=7", "seed=5", names=("a", "does", "seed")) == expected


def test_equal_runs_are_one(sweeps):
    text = "grid: {a: [1, 1]}\nruns: [{a: 1}, {kind: x, a: 1}, {kind: y, a: 1}]"

    assert points(sweeps, text) == [(1, "x"), (1, "y")]
    assert points(sweeps, text, "kind=y") == [(1, "y")]


def test_a_rule_of_exclude_follows_what_an_axis_became(sweeps):
    text = "grid: {a: [1, 2], kind: [x, y]}\nexclude: [{a: 2, kind: y}]"

    assert points(sweeps, text) == [(1, "x"), (1, "y"), (2, "x")]
    assert points(sweeps, text, "kind=y") == [(1, "y")]
    assert points(sweeps, text, "kind=x") == [(1, "x"), (2, "x")]
    with pytest.raises(ParameterError, match="removes every run"):
        points(sweeps, text, "kind=y", "a=2")


def test_a_search_loses_what_is_fixed(sweeps):
    text = "search: {trials: 3, space: {a: {low: 1, high: 9}, kind: [x, y]}}"

    of_option = sweeps.read(text, "kind=y")
    of_block = sweeps.read(f"{text}\nkaggle: {{base: {{kind: y}}}}", kaggle=True)

    for sweep in (of_option, of_block):
        assert sweep.search.space == {"a": Range(1, 9)}
        assert sweep.base == {"kind": "y"}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("{base: {kind: y, a: 9}, grid: {does: [score]}, seeds: [4]}", [(9, "y", "score", 4)]),
        (
            "{base: {kind: null}, grid: {a: null, does: null, kind: [y, x]}, seeds: [0]}",
            [(1, "y", "score", 0), (1, "x", "score", 0)],
        ),
        (
            "{base: {a: 3}, grid: {a: [4, 5], does: null}, seeds: null}",
            [(4, "x", "score", 0), (5, "x", "score", 0)],
        ),
        ("{base: null, grid: null, seeds: null, runs: [{a: 8, kind: y}]}", [(8, "y", "score", 0)]),
        ("{base: {seed: 5}, grid: {a: [3], does: null}}", [(3, "x", "score", 5)]),
    ],
)
def test_the_block_for_kaggle_stands_over_the_rest(sweeps, block, expected):
    text = f"{GRID}\nkaggle: {block}"
    names = ("a", "kind", "does", "seed")

    assert points(sweeps, text, names=names, kaggle=True) == expected
    assert points(sweeps, text) == points(sweeps, GRID)
    assert sweeps.read(f"{GRID}\nkaggle: {{}}", kaggle=True) == sweeps.read(GRID)


@pytest.mark.parametrize(
    "text",
    [
        f"grid: {{a: {list(range(501))}}}\nseeds: 2",
        f"grid: {{a: {list(range(500))}}}\nruns: [{{kind: y}}]\nseeds: 2",
    ],
)
def test_more_than_a_thousand_runs_have_to_be_confirmed(sweeps, text):
    with pytest.raises(ParameterError, match="1,002 runs: reduce them, or add --yes"):
        sweeps.run(text, dry_run=True)

    sweeps.run(text, dry_run=True, yes=True)
    assert "1002 runs, 0 done, 1002 to run" in sweeps.message
    sweeps.run("grid: {a: [1]}", dry_run=True)
    assert "\n1 run, 0 done, 1 to run" in sweeps.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minimize: 1", "minimize has the wrong type: 1; it takes true or false"),
        ("workers: true", "workers has the wrong type"),
        ("grid: {a: [1]}\nworkers: 0", "workers: 0 would run nothing"),
        ("kaggle: {workers: 0}", "kaggle: workers has no effect in a session"),
        ("grid: {a: [1]}\nwarm: [3]", "entry 1 of warm has the wrong type"),
        ("grid: [", "is not YAML"),
        ("gird: {a: [1]}", "no key 'gird': did you mean grid?"),
        ("grid: {kidn: [x]}", "no parameter 'kidn': did you mean kind?"),
        ("grid: {a: [one]}", "wrong type: a whole number is needed"),
        ("grid: {a: 1}", "needs a list"),
        ("grid: {}", "nothing to run"),
        ("seeds: 20261129000000", "20,261,129,000,000 runs: reduce them"),
        ("grid: {seed: [7, 8]}\nseeds: 2", "seeds sets seed in every run: leave it out"),
        ("runs: [{a: 1}, {seed: 7}]\nseeds: 2", "seeds sets seed in every run: leave it out"),
        ("grid: {a: [1]}\nseeds: 0", "seeds takes a number from 1 on, or a list"),
        ("grid: {a: [1]}\nexclude: [a]", "exclude takes a list of {name: value}"),
        ("grid: {a: [1]}\nexclude: [{a: 2}]", "exclude: no run has {'a': 2}"),
        ("runs: [a]", "runs takes a list of {name: value}"),
        ("grid: {a: [1]}\nbase: {output: here}", "output is set to each run's own"),
        ("grid: {a: [1]}\nworkers: -1", "is negative"),
        ("grid: {a: [1]}\ntime_limit: .nan", "wrong type: nan; it takes a number"),
        ("grid: {a: [1]}\nmemory: .inf", "wrong type: inf; it takes a number"),
        ("grid: {a: [1]}\nkeep_best: {model.h5: 0}", "keep_best takes names of files"),
        ("grid: {a: [1]}\nkeep_best: {../model.h5: 1}", "not '../model.h5' with 1"),
        ("grid: {a: [1]}\nsearch: {trials: 3, space: {kind: [x]}}", "search replaces grid"),
        ("seeds: 2\nsearch: {trials: 3, space: {kind: [x]}}", "search replaces seeds"),
        ("kaggle: {bse: {a: 1}}", "kaggle has no key 'bse': did you mean base?"),
        ("kaggle: {workers: 2}", "kaggle: workers has no effect in a session"),
    ],
)
def test_a_sweep_that_cannot_run_is_refused_in_one_line(sweeps, text, message):
    with pytest.raises(ParameterError) as caught:
        sweeps.read(text)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("tiny.yaml") == 1
    assert caught.value.exit_code == 2


def test_an_id_follows_code_packages_and_parameters(sweeps):
    package = sweeps.folder / "src" / "blossom" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.touch()
    (sweeps.folder / "pyproject.toml").write_text('[tool.kernelkit]\npackages = ["blossom"]\n')

    def id_of(text="grid: {a: [1]}"):
        return sweeps.read(text).runs[0].id

    first = id_of()
    assert id_of() == first
    assert id_of("runs: [{a: 1, kind: x}]") == first  # the default, said aloud
    assert id_of("grid: {a: [2]}") != first
    package.write_text("new = 1\n")
    second = id_of()
    assert second != first
    sweeps.notebook.write_text(sweeps.notebook.read_text() + "\nprint()\n")
    assert id_of() not in (first, second)


@pytest.mark.parametrize(
    ("text", "minimize"),
    [("", True), ("minimize: false", False), ("score: f1", False), ("score: rmse", True)],
)
def test_whether_the_lowest_is_the_best_is_the_projects(sweeps, monkeypatch, text, minimize):
    monkeypatch.setenv(project.SHOWN, Shown("rmse", minimize=True).as_json())
    assert sweeps.read(f"grid: {{a: [1]}}\n{text}").minimize is minimize
