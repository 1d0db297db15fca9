import numpy as np
import pytest

from petals.data import exploration
from petals.errors import DataError

NAMES = ("blue", "red", "yellow")


def test_balance_finds_what_is_uneven():
    train = np.repeat([0, 1, 2], [100, 80, 20])
    even = exploration.balance({"train": train, "val": np.repeat([0, 1, 2], [50, 40, 10])}, NAMES)
    assert [even[name] for name in ("smallest", "median", "largest", "ratio")] == [20, 80, 100, 5]
    assert even["unlike_val"] == even["absent"] == []
    uneven = exploration.balance({"train": train, "val": np.full(50, 2)}, (*NAMES, "white"))
    assert uneven["absent"] == ["white"]
    assert uneven["unlike_val"][0][0] == "yellow"


def test_some_of_each_class_in_label_order(splits):
    labels, _ = splits[0].labels_and_ids()
    chosen = exploration.some_of_each(labels, 2)
    assert labels[chosen].tolist() == [0, 0, 1, 1, 2, 2]


def test_labels_without_a_name_are_refused(splits):
    parts = dict(zip(("train", "val", "test"), splits, strict=True))
    assert list(exploration.labels(parts, 3)) == ["train", "val"]
    with pytest.raises(DataError, match=r"no label in 0\.\.1: .* write a classes\.json"):
        exploration.labels(parts, 2)
