"""Runs are called by what differs."""

import pytest

from kernelkit.reports import naming


@pytest.mark.parametrize(
    ("folder", "made_up"),
    [
        ("168de1e41d4f", True),
        ("02_train-1122-031200", True),
        ("02_train-1122-031200-2", True),
        ("latest", False),
        ("vgg-1122", False),
    ],
)
def test_a_name_is_the_kits_or_a_persons(folder, made_up):
    assert naming.is_made_up(folder) is made_up


def test_varying_and_changed_parameters():
    runs = [{"a": 1, "b": [1], "output": "x"}, {"a": 1, "b": [2], "output": "y", "c": None}]
    assert naming.varying(runs) == ["b"]
    assert naming.varying([]) == []
    assert naming.changed({"a": 2, "b": 1, "new": 3}, {"a": 1, "b": 1}) == {"a": 2}


def test_a_setting_in_words():
    values = {"rate": 0.0029541004914, "augment": "flip", "seed": 0}
    assert naming.setting_text(values) == "rate=0.002954 augment=flip seed=0"
    assert naming.setting_text(values, most=2) == "rate=0.002954 augment=flip and 1 more"
