"""New ids have the form of the old ones, so that a notebook that takes them apart goes on."""

import datetime

import pytest

from kernelkit.hidden.new_ids import renamed


def rows(*ids, **columns):
    made = [{"id": one} for one in ids]
    for name, values in columns.items():
        for row, value in zip(made, values, strict=True):
            row[name] = value
    return made


def new_of(made, *known):
    ids = [str(row["id"]) for row in made]
    found, why = renamed(ids, made, "id", {*known, *(str(row["id"]) for row in made)})
    assert why == ""
    return list(found.values())


def test_numbers_go_on_after_the_largest_with_their_leading_zeros():
    assert new_of(rows("0007", "0003"), "0041") == ["0042", "0043"]
    assert new_of(rows(7, 3), "41") == ["42", "43"]


def test_a_number_after_a_word_goes_on_too():
    assert new_of(rows("plot-012", "plot-003")) == ["plot-013", "plot-014"]
    assert new_of(rows("P9", "P10")) == ["P11", "P12"]


def test_letters_and_digits_keep_their_length_and_are_new():
    old = [f"{n:08x}f" for n in range(5000)]
    found = new_of(rows(*old))
    assert len({*found, *old}) == 10_000
    assert {len(one) for one in found} == {9}


def test_an_extension_stays():
    assert new_of(rows("a1b2.png", "c3d4.png"))[0].endswith(".png")
    assert new_of(rows("7.jpg", "8.jpg")) == ["9.jpg", "10.jpg"]


def test_what_an_id_repeats_of_other_columns_is_repeated():
    made = rows("north_0001", "south_0002", shop=["north", "south"])
    assert new_of(made) == ["north_0003", "south_0004"]


def test_a_part_that_rows_share_is_shared_by_the_new_ones():
    made = rows("p7_1", "p7_2", "p9_1", visit=["1", "2", "1"])
    first, second, third = new_of(made)
    assert first.partition("_")[0] == second.partition("_")[0] != third.partition("_")[0]
    assert [one.partition("_")[2] for one in (first, second, third)] == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (rows("2017-08-01", "2017-08-02"), "neither text nor whole numbers"),
        (rows("2011-01-20 00:00:00", "2011-01-20 01:00:00"), "neither text nor whole numbers"),
        (rows("31/12/2020", "01/01/2021"), "neither text nor whole numbers"),
        (rows(datetime.date(2020, 1, 1)), "neither text nor whole numbers"),
        (
            rows("north_4", "south_5", shop=["north", "south"], day=["4", "5"]),
            "each part of 'id' is in another column",
        ),
    ],
)
def test_ids_that_say_what_a_row_is_about_stay(made, why):
    ids = [str(row["id"]) for row in made]
    found, reason = renamed(ids, made, "id", {str(row["id"]) for row in made})
    assert why in reason
    assert all(old == new for old, new in found.items())
