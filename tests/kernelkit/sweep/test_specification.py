"""A sweep is checked whole before its first run."""

import pytest

from kernelkit import project
from kernelkit.errors import NotebookError, ParameterError
from kernelkit.shown import Shown
from kernelkit.sweep import specification


def read(sweeps, text, *overrides, **options):
    return specification.read(sweeps.write(text), overrides, **options)


def test_a_grid_runs_and_seeds_are_multiplied_out_in_order(sweeps):
    text = "base: {kind: y}\ngrid: {a: [1, 2]}\nruns: [{a: 9, kind: x}]\nseeds: [0, 1]"

    runs = read(sweeps, text).runs

    values = [(run.values["a"], run.values["kind"], run.values["seed"]) for run in runs]
    assert values == [(1, "y", 0), (1, "y", 1), (2, "y", 0), (2, "y", 1), (9, "x", 0), (9, "x", 1)]
    assert len({run.id for run in runs}) == 6


def test_excluded_combinations_are_left_out(sweeps):
    text = "grid: {a: [1, 2], kind: [x, y]}\nexclude: [{a: 2, kind: y}]"

    values = [(run.values["a"], run.values["kind"]) for run in read(sweeps, text).runs]

    assert values == [(1, "x"), (1, "y"), (2, "x")]


def test_more_than_a_thousand_runs_have_to_be_confirmed(sweeps):
    text = f"grid: {{a: {list(range(501))}}}\nseeds: 2"

    with pytest.raises(ParameterError, match="1,002 runs: reduce them, or add --yes"):
        sweeps.run(text, dry_run=True)

    sweeps.run(text, dry_run=True, yes=True)
    assert "1002 runs, 0 done, 1002 to run" in sweeps.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minimize: 1", "minimize has the wrong type"),
        ("workers: true", "workers has the wrong type"),
        ("gird: {a: [1]}", "no key 'gird': did you mean grid?"),
        ("grid: {kidn: [x]}", "no parameter 'kidn': did you mean kind?"),
        ("grid: {a: [one]}", "wrong type: a whole number is needed"),
        ("grid: {a: [1.5]}", "wrong type"),
        ("grid: {a: [3000]}", "not allowed"),
        ("grid: {kind: [z]}", "not allowed"),
        ("grid: {a: 1}", "needs a list"),
        ("grid: [1]", "grid has the wrong type"),
        ("grid: {}", "nothing to run"),
        ("grid:", "nothing to run"),
        ("grid: {a: []}", "needs a list"),
        ("base: {a: 1}", "nothing to run"),
        ("seeds: []", "nothing to run"),
        ("seeds: true", "seeds has the wrong type"),
        ("grid: {a: [1]}\nexclude: [{a: 1}]", "removes every run"),
        ("grid: {a: [1]}\nexclude: [a]", "exclude takes a list of {name: value}"),
        ("grid: {a: [1]}\nexclude: [{a: 2}]", "exclude: no run has {'a': 2}"),
        ("runs: [a]", "runs takes a list of {name: value}"),
        ("grid: {a: [1]}\nexclude: [{b: 7}]", "no parameter 'b'"),
        ("grid: {a: [1]}\nbase: {output: here}", "output is set to each run's own"),
        ("grid: {a: [1]}\nworkers: -1", "is negative"),
        ("grid: {a: [1]}\nworkers: two", "wrong type"),
        ("grid: {a: [1]}\ntime_limit: .nan", "not a number"),
        ("grid: {a: [1]}\nmemory: .inf", "not a number"),
        ("grid: {a: [1]}\nsearch: {trials: 3}", "search replaces grid"),
        ("kaggle: {bse: {a: 1}}", "kaggle has no key 'bse': did you mean base?"),
        ("kaggle: {base: [1]}", "base has the wrong type"),
        ("kaggle: [1]", "kaggle has the wrong type"),
    ],
)
def test_a_sweep_that_cannot_run_is_refused_in_one_line(sweeps, text, message):
    with pytest.raises(ParameterError) as caught:
        read(sweeps, text)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_empty_kaggle_block_changes_nothing(sweeps):
    text = "base: {kind: x}\ngrid: {a: [1]}\nkaggle: {}"

    assert read(sweeps, text, kaggle=True) == read(sweeps, text)


def test_a_notebook_without_a_parameters_cell_is_refused(sweeps):
    sweeps.notebook.write_text("# %%\na = 1\n")

    with pytest.raises(NotebookError, match="no cell tagged 'parameters'"):
        read(sweeps, "grid: {a: [1]}")


def test_an_id_follows_code_packages_and_parameters(sweeps):
    package = sweeps.folder / "src" / "blossom"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (sweeps.folder / "pyproject.toml").write_text('[tool.kernelkit]\npackages = ["blossom"]\n')

    def id_of(text="grid: {a: [1]}"):
        return read(sweeps, text).runs[0].id

    first = id_of()
    assert id_of() == first
    assert id_of("runs: [{a: 1, kind: x}]") == first  # the default, said aloud
    assert id_of("grid: {a: [2]}") != first
    (package / "__init__.py").write_text("new = 1\n")
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
    assert specification.read(sweeps.write(f"grid: {{a: [1]}}\n{text}")).minimize is minimize
