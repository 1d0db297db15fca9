"""How many rows become hidden where nobody says it."""

import pytest

from kernelkit.hidden.division.divide import usual_number


@pytest.mark.parametrize(
    ("public", "training", "rows"), [(100, 10_000, 400), (3, 10_000, 200), (3, 100, 20)]
)
def test_the_usual_number_of_rows(public, training, rows):
    assert usual_number(public, training) == rows
