"""Which rows of the training table become hidden.

Rows with one id are hidden together, and so are those of one group or one time where the settings
name one: such rows are a *unit*. Units are hidden one after the other until enough ids with an
answer are: groups and ids in a random order, times from the last one on.

Each statement below makes the table of its name; of the training rows

    id  shop  tons
    a   N     3
    a   N
    b   N
    c   S     5

with the group `shop`, of which N is hidden, they make these:

    table          row                            what a row is
    public_ids     x                              an id of the public test set, once
    training_rows  1, a, N, false                 a training row: place, id, unit, whether answered
    ids            a, N, true, 0                  an id: its unit, whether any row is answered, and
                                                  its first place. An id of several times is hidden
                                                  by the earliest
    units          N, 9717…, 1                    a unit: its rank, and how many ids are answered
    hidden_units   N, 9717…                       a unit that becomes hidden, by its rank
    removed_ids    a, 1, f1; b, NULL, NULL        an id of a hidden unit, which leaves the training
                                                  table. With an answer it is hidden, and has a
                                                  number from 1 on and a new id
    division       1, false, true, a, f1, 1       a training row in its order: place, whether
                                                  answered, whether removed, id, new id, number
    hidden_rows    a, N, 3, true, a, f1, 1        a hidden row: all columns of the training table,
                                                  then those of `division`; by the new ids' numbers
"""

from __future__ import annotations

from kernelkit.errors import ParameterError
from kernelkit.hidden.competition.columns import Columns, has_answer, id_of_row
from kernelkit.hidden.competition.competition_tables import CompetitionTables
from kernelkit.hidden.competition.unknown import MAKE_IT_YOURSELF, Unknown, ask
from kernelkit.hidden.division.new_ids import find_new_ids
from kernelkit.hidden.tables.table_engine import TEXT, Table, TableEngine, literal
from kernelkit.project import HiddenSettings

SEED = 0
MORE = 4  # times the ids of the public set, by default
FEWEST = 200  # ids by default, if there are enough
SHARE = 5  # one id in so many becomes hidden by default, at most
WHOLE_YEAR = r"^\s*\d{4}\D"  # begins a date
HOW_MANY = (
    f"by default a hidden set has {MORE} times the rows of the public one, at least {FEWEST}, and "
    f"at most 1/{SHARE} of those to train on; --make-rows gives another number"
)

PUBLIC_IDS = """
    SELECT DISTINCT {id} AS id FROM {table} WHERE {id} IS NOT NULL
"""
TRAINING_ROWS = """
    SELECT rowid AS place, {id} AS id, {unit} AS unit, {answered} AS answered FROM train
"""
IDS = """
    SELECT id, min(unit) AS unit, bool_or(answered) AS answered, min(place) AS place
    FROM training_rows GROUP BY id
"""
UNITS = """
    SELECT unit, {rank} AS rank, count(*) FILTER (answered) AS answers FROM ids GROUP BY unit
"""
HIDDEN_UNITS = """
    SELECT unit, rank FROM (
        SELECT *, sum(answers) OVER (ORDER BY rank, unit ROWS UNBOUNDED PRECEDING) AS so_far
        FROM units
    ) WHERE so_far - answers < {count}
"""
# The ids with an answer are numbered among themselves.
REMOVED_IDS = """
    SELECT id, number, CASE WHEN number IS NOT NULL THEN {new_id} END AS new_id FROM (
        SELECT id, CASE WHEN answered THEN row_number() OVER (
            PARTITION BY answered ORDER BY {order}
        ) END AS number
        FROM ids JOIN hidden_units USING (unit)
    )
"""
DIVISION = """
    SELECT place, answered, removed_ids.id IS NOT NULL AS removed, id, new_id, number
    FROM training_rows LEFT JOIN removed_ids USING (id) ORDER BY place
"""
HIDDEN_ROWS = """
    SELECT train.*, answered, id, new_id, number FROM train POSITIONAL JOIN division
    WHERE new_id IS NOT NULL ORDER BY number, place
"""
# How many rows have an id of which no row is answered.
WITHOUT_ANSWER = """
    SELECT count(*) FROM training_rows JOIN ids USING (id) WHERE NOT ids.answered
"""
# An id whose rows are of several units.
OF_SEVERAL = """
    SELECT id FROM training_rows GROUP BY id HAVING min(unit) <> max(unit) LIMIT 1
"""


def divide(
    engine: TableEngine,
    tables: CompetitionTables,
    columns: Columns,
    settings: HiddenSettings,
    count: int | None,
    notes: list[str],
) -> int:
    """Make the tables above; returns the number of hidden ids.

    `count`: how many are asked for; None for a default. `notes` gets how they were chosen.

    Raises `ParameterError` if there are too few, if an id is of several groups, or if a time is
    none.
    """
    train = tables.train
    public = _list_public_ids(engine, tables, columns)
    _list_training_ids(engine, train, columns, settings)
    training = engine.value("SELECT count(*) FROM ids WHERE answered")
    wanted = count or usual_number(public, training)
    _list_hidden_units(engine, columns, wanted)
    new_ids = find_new_ids(engine, tables, columns)
    order = "place" if columns.time else "rank, place"
    engine.create("removed_ids", REMOVED_IDS.format(new_id=new_ids.expression, order=order))
    engine.create("division", DIVISION)
    hidden = int(engine.value("SELECT count(new_id) FROM removed_ids"))
    remaining = engine.value("SELECT count(*) FROM division WHERE NOT removed")
    if not hidden or not remaining:
        whole = f" by whole {columns.chosen_by!r}" if columns.chosen_by else ""
        raise ParameterError(
            f"{train.file} has {training:,} ids with an answer: too few to hide {wanted:,} of "
            f"them{whole} and to train on the others. --make-rows gives another number"
        )
    engine.create("hidden_rows", HIDDEN_ROWS)
    notes.append(_how_chosen(columns))
    if count is None:
        notes.append(HOW_MANY)
    if new_ids.note:
        notes.append(new_ids.note)
    unanswered = engine.value(WITHOUT_ANSWER)
    if unanswered:
        notes.append(
            f"{unanswered:,} rows of {train.file} have an id without an answer: none of them is "
            "hidden"
        )
    return hidden


def usual_number(public: int, training: int) -> int:
    """The number of ids to hide by default, for a public set and training data with so many."""
    return max(1, min(max(MORE * public, FEWEST), training // SHARE))


def _list_public_ids(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> int:
    """Make the table `public_ids`; returns the number of its rows.

    The ids are in the test table, or in the sample submission where that numbers the rows.
    """
    table = tables.test
    column = columns.id
    if not columns.test_has_id and tables.sample:
        table = tables.sample
        column = columns.submitted
    id_as_text = f"{table.column(column)}::{TEXT}"
    engine.create("public_ids", PUBLIC_IDS.format(id=id_as_text, table=table.name))
    return int(engine.value("SELECT count(*) FROM public_ids"))


def _list_training_ids(
    engine: TableEngine, train: Table, columns: Columns, settings: HiddenSettings
) -> None:
    """Make the tables `training_rows` and `ids`.

    Raises `ParameterError` for an id whose rows are of several groups, and for a time that is none.
    """
    rows = TRAINING_ROWS.format(
        id=id_of_row(train, columns),
        unit=_unit(engine, train, columns),
        answered=has_answer(train, columns),
    )
    engine.create("training_rows", rows)
    several = engine.run(OF_SEVERAL) if columns.group else []
    if several:
        column = columns.id_in_train
        what = f"the {column!r} {several[0][0]!r} of {train.file} is of several {columns.group!r}"
        raise ask([Unknown(what, {"group": column})], settings)
    engine.create("ids", IDS)


def _list_hidden_units(engine: TableEngine, columns: Columns, count: int) -> None:
    """Make the tables `units` and `hidden_units`, for so many ids with an answer."""
    # A random order that is the same on every machine.
    rank = "-unit" if columns.time else f"md5_number_lower('{SEED} ' || unit)"
    engine.create("units", UNITS.format(rank=rank))
    if not columns.time:  # what was never answered stays, except behind a hidden time
        engine.run("DELETE FROM units WHERE answers = 0")
    engine.create("hidden_units", HIDDEN_UNITS.format(count=count))


def _unit(engine: TableEngine, train: Table, columns: Columns) -> str:
    """In SQL, the unit of a training row: a time as a number, a group, or the id."""
    if columns.time:
        return _time(engine, train, columns.time)
    if columns.group:
        return f"coalesce({train.column(columns.group)}::{TEXT}, '')"
    return id_of_row(train, columns)


def _time(engine: TableEngine, train: Table, name: str) -> str:
    """In SQL, a column's time as a number: its own, or that of a date.

    Raises `ParameterError` unless all values are of one of these forms.
    """
    text = f"{train.column(name)}::{TEXT}"
    number = f"try_cast({text} AS DOUBLE)"
    # DuckDB takes 25/01/24 for a day of the year 25.
    whole_year = f"regexp_matches({text}, {literal(WHOLE_YEAR)})"
    date = f"CASE WHEN {whole_year} THEN epoch(try_cast({text} AS TIMESTAMP)) END"
    for form in (number, date):
        if engine.value(f"SELECT bool_and({form} IS NOT NULL) FROM train"):
            return form
    of_neither = f"SELECT {text} FROM train WHERE {number} IS NULL AND {date} IS NULL LIMIT 1"
    found = engine.run(of_neither)
    such = f", such as {found[0][0]!r}" if found and found[0][0] else ""
    raise ParameterError(
        f"{name!r} of {train.file} has values that are no times of one form{such}: numbers and "
        f"2026-12-31, with or without a time of day, are. Else {MAKE_IT_YOURSELF}"
    )


def _how_chosen(columns: Columns) -> str:
    """How the hidden rows were chosen, in words."""
    if columns.time:
        return f"the hidden rows are the last ones by {columns.time!r}"
    if columns.chosen_by:
        return f"rows of one {columns.chosen_by!r} stay together"
    return (
        "the hidden rows are drawn at random: for whole groups, or for the last ones in time, set "
        "group or time in hidden = {…}"
    )
