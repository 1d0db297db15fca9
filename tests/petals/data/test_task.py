import pytest

from petals.data.task import task_warnings
from petals.errors import DataError

NAMES = ("daisy", "rose", "tulip")


@pytest.fixture
def warnings(picture, write_split, tmp_path):
    """The warnings about splits of (seed, label) rows: the seed makes the picture."""

    def warnings(train, val, names=NAMES):
        splits = []
        for split, rows in (("train", train), ("val", val)):
            written = [
                (picture(seed), f"{split}{n}", label) for n, (seed, label) in enumerate(rows)
            ]
            splits.append(write_split(tmp_path, split, written) if rows else None)
        return task_warnings(*splits, names)

    return warnings


GOOD = [(n, n % 3) for n in range(12)]
VAL = [(n, n % 3) for n in range(20, 26)]


def test_of_a_plain_task_there_is_nothing_to_say(warnings):
    assert warnings(GOOD, VAL) == []
    assert warnings(GOOD, []) == []


@pytest.mark.parametrize(
    ("train", "names", "message"),
    [
        ([(n, 1) for n in range(9)], NAMES, r"all 9 training photos are of one class \(rose\)"),
        ([(5, n % 3) for n in range(9)], NAMES, "all 9 training photos are the same picture"),
    ],
)
def test_what_is_no_task_is_refused(warnings, train, names, message):
    with pytest.raises(DataError, match=message):
        warnings(train, VAL, names)


@pytest.mark.parametrize(
    ("train", "val", "names", "expected"),
    [
        (
            [(0, 0), (1, 1), (2, 0)],
            VAL,
            NAMES,
            ["1 of 3 classes have no training photo, so no photo is recognised as one of them: "],
        ),
        (
            [(0, 0), (1, 2)],
            VAL,
            NAMES,
            [
                "fewer training photos than classes: 2 for 3",
                "1 of 3 classes have no training photo",
            ],
        ),
        (GOOD, VAL[:3], NAMES, ["validation has one photo a class at most, 3 in all: a single"]),
        (GOOD, [(20, 0), (21, 0), (22, 1)], NAMES, ["1 of 3 classes have no validation photo"]),
        (GOOD, [*VAL, (0, 0), (1, 1)], NAMES, ["2 of 8 validation photos are also in train"]),
        ([*GOOD, (0, 1)], VAL, NAMES, ["1 pictures are in train under two classes"]),
        (GOOD, VAL, ("rose", "daisy", "Rose "), ["rose, Rose : two classes have this name"]),
        ([*GOOD, (0, 0), (1, 1)], VAL, NAMES, ["only 12 of 14 training photos differ"]),
        (
            [(n % 3, n % 3) for n in range(9)],
            VAL,
            NAMES,
            ["only 3 of 9 training photos differ"],
        ),
    ],
)
def test_what_makes_a_score_mean_less_is_named(warnings, train, val, names, expected):
    lines = warnings(train, val, names)
    assert len(lines) == len(expected)
    for line, begins in zip(lines, expected, strict=True):
        assert line.startswith(begins)


def test_many_names_are_cut(warnings):
    names = tuple(f"class {n}" for n in range(30))
    assert warnings(GOOD, VAL, names)[1].endswith("class 9, class 10 and 19 more")
