"""Runs are called by what differs."""

import pytest

from kernelkit.reports import naming


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("168de1e41d4f", "size=3 rate=0.1 seed=1"),
        ("02_train-1122-031200", "size=3 rate=0.1 seed=1"),
        ("02_train-1122-031200-2", "size=3 rate=0.1 seed=1"),
        ("latest", "latest"),
        ("vgg-1122", "vgg-1122"),
    ],
)
def test_a_name_is_a_persons_or_what_is_no_default(tmp_path, folder, name):
    defaults = {"rate": 0.2, "size": 1, "seed": 0, "same": 5}
    values = {"rate": 0.1, "size": 3, "seed": 1, "same": 5}
    own, setting = naming.run_name(tmp_path / folder, lambda: (values, defaults), ["size"])
    assert own == name
    assert setting == name.removesuffix(" seed=1")


def test_a_long_name_is_cut_and_its_setting_is_not(tmp_path):
    values = dict.fromkeys("abcdef", 1)
    defaults = dict.fromkeys("abcdef", 0)
    names = naming.run_name(tmp_path / ("0" * 12), lambda: (values, defaults), [])
    assert names == ("a=1 b=1 c=1 d=1 and 2 more", "a=1 b=1 c=1 d=1 e=1 f=1")


def test_a_run_that_nothing_tells_apart_has_its_folders_name(tmp_path):
    folder = tmp_path / "02_train-1122-031200"
    assert naming.run_name(folder, lambda: ({}, {}), []) == (folder.name, folder.name)


def test_changed_parameters():
    assert naming.changed({"a": 2, "b": 1, "new": 3}, {"a": 1, "b": 1}) == {"a": 2}


def test_a_setting_in_words():
    values = {"rate": 0.0029541004914, "augment": "flip", "seed": 0}
    assert naming.setting_text(values) == "rate=0.002954 augment=flip seed=0"
    assert naming.setting_text(values, most=2) == "rate=0.002954 augment=flip and 1 more"
