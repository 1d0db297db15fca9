import numpy as np

from petals.data import exploration

NAMES = ("blue", "red", "yellow")


def test_balance_finds_what_is_uneven():
    train = np.repeat([0, 1, 2], [100, 80, 20])
    even = exploration.balance({"train": train, "val": np.repeat([0, 1, 2], [50, 40, 10])}, NAMES)
    assert [even[name] for name in ("smallest", "median", "largest")] == [20, 80, 100]
    assert even["unlike_val"] == even["absent"] == []
    uneven = exploration.balance({"train": train, "val": np.full(50, 2)}, (*NAMES, "white"))
    assert uneven["absent"] == ["white"]
    assert uneven["unlike_val"][0][0] == "yellow"
