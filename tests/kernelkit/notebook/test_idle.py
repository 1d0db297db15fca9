"""Which parameters change nothing."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.notebook.interface.idle import idle_parameters, refuse_idle


def notebook(*cells, tagged=0):
    sources = [{"cell_type": "code", "metadata": {}, "source": text} for text in cells]
    sources[tagged]["metadata"] = {"tags": ["parameters"]}
    return {"cells": sources}


@pytest.mark.parametrize(
    "later",
    [
        ["rate = 0.01", "fit(rate)"],
        ["import json", "rate: float = 0.01"],
        ["width = 1\nrate, width = 1, 2"],
        ["%%time\nrate = 0.01\nfit(rate)"],
    ],
)
def test_a_parameter_that_is_set_again_before_anything_reads_it(later):
    found = {each.name: each for each in idle_parameters(notebook("rate = 0.1", *later))}
    assert found["rate"].certain
    assert "sets rate again" in found["rate"].text
    with pytest.raises(ParameterError, match=r"-p rate=VALUE changes nothing: line \d of cell \d"):
        refuse_idle(found.values(), ["rate"])
    refuse_idle(found.values(), ["width"])


@pytest.mark.parametrize(
    "later",
    [
        ["fit(rate)", "rate = 0.01"],
        ["rate = rate or 0.01", "fit(rate)"],
        ["if fast:\n    rate = 0.01", "fit(rate)"],
        ["def f():\n    return rate", "rate = 0.01"],
        ["!train --rate {rate}", "rate = 0.01"],
        ["settings = dict(globals())", "rate = 0.01"],
        ["frame.query('width > @rate')", "rate = 0.01"],
        ["x = (", "rate = 0.01"],
        ["%%timeit step = rate\nfit(step)", "rate = 0.01"],
        ["%%timeit -n 3 rate\nfit()", "rate = 0.01"],
        ["from __main__ import rate as old\nrate = 0.01"],
        ["import __main__ as own\nrate = 0.01"],
    ],
)
def test_a_parameter_that_is_read_first_has_an_effect(later):
    assert not idle_parameters(notebook("rate = 0.1", *later))


@pytest.mark.parametrize("cells", [["rate = 0.1"], ["rate = 0.1\ntwice = 2 * rate", "fit(twice)"]])
def test_a_parameter_that_nothing_reads_after_its_cell_is_a_guess(cells):
    (found,) = idle_parameters(notebook(*cells))
    assert found.text == "-p rate=VALUE changes nothing: nothing in the notebook reads rate"
    assert not found.certain


@pytest.mark.parametrize(
    "body", ["with suppress(OSError):\n    rate = best()", "with a, b:\n    import rate"]
)
def test_what_is_set_below_a_with_may_stay_as_it_was(body):
    assert not idle_parameters(notebook("rate = 0.1", body, "fit(rate)"))


@pytest.mark.parametrize(
    "function",
    [
        "def fit():\n    return rate",
        "fit = lambda: rate",
        "class Model:\n    def fit(self):\n        print(f'{rate}')",
        "def fit():\n    !python fit.py --rate {rate}",
        "def fit():\n    %run fit.py",
        "def fit():\n    return frame.query('width > @rate')",
        "def fit():\n    return globals()",
    ],
)
def test_a_function_of_an_earlier_cell_reads_later(function):
    cells = function, "rate = 0.1", "fit()", "rate = 0.01"
    assert not idle_parameters(notebook(*cells, tagged=1))


def test_what_an_earlier_cell_itself_reads_is_no_use():
    (found,) = idle_parameters(notebook("print(rate)", "rate = 0.1", "rate = 0.01", tagged=1))
    assert found.certain


def test_a_function_of_the_parameters_cell_reads_later():
    assert not idle_parameters(notebook("rate = 0.1\ndef f():\n    return rate", "f()"))
