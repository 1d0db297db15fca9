"""Measures as people write them."""

import pytest

from kernelkit.shown import duration, measure


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("f1", 0.9, "0.9000"),
        ("loss", 12.345, "12.35"),
        ("seconds", 166.2, "2 min 46 s"),
        ("images_per_second", 1469.2, "1,469"),
        ("images_per_second", 46.92, "46.9"),
        ("images_per_second", 0.5, "0.50"),
        ("epochs", 20, "20"),
        ("parameters", 4182795, "4,182,795"),
    ],
)
def test_a_measures_name_says_its_unit(name, value, text):
    assert measure(name, value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.004, "0.004 s"),
        (0.04, "0.04 s"),
        (8.21, "8.2 s"),
        (119.6, "2 min 0 s"),
        (3599.7, "1 h 00 min"),
        (3900, "1 h 05 min"),
    ],
)
def test_times(seconds, text):
    assert duration(seconds) == text
