"""The line through two runs, and where none can be drawn."""

import pytest

from kernelkit.hidden.projection import Growth


def test_what_any_number_of_rows_takes_is_not_taken_for_each():
    assert Growth(20, 400, 2.4, 10.0).at(4_000) == pytest.approx(2.0 + 0.02 * 4_000)


def test_the_longer_run_may_be_the_public_one():
    growth = Growth(400, 20, 10.0, 2.4)
    assert growth.grows(0.5)
    assert growth.at(4_000) == pytest.approx(2.0 + 0.02 * 4_000)


@pytest.mark.parametrize("figures", [(20, 400, 3.0, 3.0), (20, 400, 4.0, 3.0), (400, 20, 3.0, 4.0)])
def test_less_or_as_much_for_more_rows_is_no_growth(figures):
    assert not Growth(*figures).grows(0)


@pytest.mark.parametrize("figures", [(20, 400, 3.0, 4.0), (400, 20, 4.0, 3.0)])
def test_growth_is_a_part_of_what_fewer_rows_took(figures):
    assert Growth(*figures).grows(0.3)
    assert not Growth(*figures).grows(0.4)
