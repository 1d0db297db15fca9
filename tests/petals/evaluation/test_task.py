"""Tasks whose scores would mislead are refused or named before anything trains."""

import numpy as np
import pytest

from petals.errors import DataError
from petals.evaluation.task import weaknesses

NAMES = ("aster", "iris", "rose")


def labels(*counts):
    return np.repeat(np.arange(len(counts)), counts)


def test_a_usual_task_has_none():
    assert weaknesses(labels(9, 8, 7), labels(3, 2, 2), NAMES) == []


@pytest.mark.parametrize(
    ("train", "names", "says"),
    [
        (labels(0, 9), NAMES, r"of one class \(iris\)"),
        (labels(9), ("rose",), r"of one class \(rose\)"),
        (labels(), NAMES, "of one class .none."),
        (labels(9, 9), ("train", "val"), "named train, val, which are names of splits"),
        (labels(9, 9, 9), ("Test", "Train", "Valid"), "names of splits"),
    ],
)
def test_a_task_without_a_meaning_is_refused(train, names, says):
    with pytest.raises(DataError, match=says):
        weaknesses(train, labels(1, 1), names)


@pytest.mark.parametrize(
    ("train", "val", "says"),
    [
        (labels(9, 0, 9), labels(2, 2, 2), r"1 \(iris\) of 3 classes without a photo to train on"),
        (labels(1, 1), labels(2, 2, 2), "There are 3 classes, but only 2 photos to train on"),
        (labels(9, 9, 9), labels(2, 2), r"1 \(rose\) of 3 classes without a validation photo"),
        (labels(9, 9, 9), labels(1, 1, 1), "No class has more than one validation photo"),
    ],
)
def test_a_weak_task_is_named(train, val, says):
    import re

    assert any(re.search(says, line) for line in weaknesses(train, val, NAMES))


def test_many_missing_classes_are_counted_and_five_are_named():
    names = [f"c{number}" for number in range(20)]
    (line, *_) = weaknesses(np.array([0, 1] * 20), np.arange(20).repeat(2), names)
    assert line.startswith("18 (c2, c3, c4, c5, c6 and 13 more) of 20 classes")
