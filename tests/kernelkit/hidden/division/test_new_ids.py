"""New ids are numbers, or a prefix and a number, and none is an old one."""

import pytest

from kernelkit.errors import ParameterError
from kernelkit.hidden.division import new_ids
from kernelkit.hidden.tables import table_engine


@pytest.fixture
def engine():
    with table_engine.opened("it") as engine:
        yield engine


def new_of(engine, ids, *known):
    """The new ids of these, where they and the `known` ones are taken."""
    engine.run("CREATE OR REPLACE TABLE renamed (number INTEGER, id VARCHAR)")
    engine.run("CREATE OR REPLACE TABLE known_ids (id VARCHAR)")
    for number, one in enumerate(ids, 1):
        engine.run("INSERT INTO renamed VALUES (?, ?)", [number, one])
    for one in (*ids, *known):
        engine.run("INSERT INTO known_ids VALUES (?)", [one])
    made = new_ids.renamed(engine, "id", "VARCHAR")
    return [row[0] for row in engine.run(f"SELECT {made.expression} FROM renamed ORDER BY number")]


@pytest.mark.parametrize(
    ("ids", "known", "new"),
    [
        (["7", "3"], ["41"], ["42", "43"]),
        (["0007", "0003"], ["0041"], ["0042", "0043"]),
        (["8", "9"], [], ["10", "11"]),
        (["plot-012", "plot-003"], [], ["plot-013", "plot-014"]),
        (["north_0001", "south_0002"], [], ["north_0003", "south_0004"]),
        (["7.jpg", "8.jpg"], [], ["9.jpg", "10.jpg"]),
        (["000ff2bfdfe9", "a0c3"], ["f000000000007"], ["f8", "f9"]),
        (["a1b2.png", "c3d4.png"], [], ["f1.png", "f2.png"]),
        (["it's", "it\\d"], [], ["f1", "f2"]),
        (["P1_1", "P1_2"], ["P2_1"], ["f1", "f2"]),
        (["12345678901234567890"], [], ["f1"]),
    ],
)
def test_new_ids_go_on_after_the_old_ones(engine, ids, known, new):
    assert new_of(engine, ids, *known) == new


def test_new_ids_are_new_and_differ(engine):
    old = [f"{n:04x}" for n in range(3000, 3300)]
    made = new_of(engine, old, "f0002", "f003")
    assert len({*made, *old, "f0002", "f003"}) == 602


def test_texts_that_are_times_have_no_new_ones(engine):
    with pytest.raises(ParameterError, match=r'hidden = \{time = "id"\}'):
        new_of(engine, ["2026-01-01", "2026-01-02"], "2026-01-03 12:00")


@pytest.mark.parametrize("kind", ["DATE", "DOUBLE", "TIMESTAMP"])
def test_ids_of_another_type_have_no_new_ones(engine, kind):
    with pytest.raises(ParameterError, match=r'hidden = \{time = "day"\}'):
        new_ids.renamed(engine, "day", kind)
