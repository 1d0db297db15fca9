"""Which rows of the training table become hidden.

Rows with one id are hidden together, and so are those of one group or one time where the settings
name one: such rows are a *unit*. Units are hidden in turn until enough ids with an answer are:
groups and ids in a random order, times from the last one on.

Each statement below but the last makes the table of its name: `TAKEN_IDS` makes `taken_ids`.
"""

from __future__ import annotations

from kernelkit.errors import ParameterError
from kernelkit.hidden.competition.columns import Columns, has_answer, id_of_row
from kernelkit.hidden.competition.competition_tables import CompetitionTables
from kernelkit.hidden.competition.unknown import MAKE_IT_YOURSELF, Unknown, ask
from kernelkit.hidden.data.new_ids import find_new_ids
from kernelkit.hidden.tables.table_engine import TEXT, Table, TableEngine, literal
from kernelkit.project import HiddenSettings

SEED = 0
MORE = 4  # times the ids of the public set, by default
FEWEST = 200  # ids by default, if there are enough
SHARE = 5  # one id in so many becomes hidden by default, at most
WHOLE_YEAR = r"^\s*\d{4}\D"  # begins a date
USUAL = (
    f"by default a hidden set has {MORE} times the rows of the public one, at least {FEWEST}, and "
    "at most a fifth of those to train on; --make-rows gives another number"
)

# The ids of the public test set, each once.
PUBLIC_IDS = """
    SELECT DISTINCT {id} AS id FROM {table} WHERE {id} IS NOT NULL
"""
# Each training row: its id, the unit it belongs to, and whether it has an answer.
TRAINING_ROWS = """
    SELECT rowid AS place, {id} AS id, {unit} AS unit, {answered} AS answered FROM train
"""
# Each id of the training table once, with the place of its first row.
IDS = """
    SELECT id, min(unit) AS unit, bool_or(answered) AS answered, min(place) AS place
    FROM training_rows GROUP BY id
"""
# Each unit with its turn, and the number of its ids that have an answer.
UNITS = """
    SELECT unit, {turn} AS turn, count(*) FILTER (answered) AS answers FROM ids GROUP BY unit
"""
# The units that become hidden: the first ones, until there are enough answers.
HIDDEN_UNITS = """
    SELECT unit, turn FROM (
        SELECT *, sum(answers) OVER (ORDER BY turn, unit ROWS UNBOUNDED PRECEDING) AS so_far
        FROM units
    ) WHERE so_far - answers < {count}
"""
# The ids of these units. Those with an answer are hidden, numbered from 1 on, under a new id; the
# others only leave the training table.
TAKEN_IDS = """
    SELECT id, number, CASE WHEN number IS NOT NULL THEN {new} END AS new FROM (
        SELECT id, CASE WHEN answered THEN row_number() OVER (
            PARTITION BY answered ORDER BY {order}
        ) END AS number
        FROM ids JOIN hidden_units USING (unit)
    )
"""
# Each training row in its order: whether it leaves the training table, and its new id if it is
# hidden.
DIVISION = """
    SELECT place, answered, taken_ids.id IS NOT NULL AS taken, id, new, number
    FROM training_rows LEFT JOIN taken_ids USING (id) ORDER BY place
"""
# The hidden rows, with all columns of the training table, in the order of the new ids.
HIDDEN_ROWS = """
    SELECT train.*, answered, id, new, number FROM train POSITIONAL JOIN division
    WHERE new IS NOT NULL ORDER BY number, place
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
    """Make the tables that the statements above tell of; the number of hidden ids.

    `count`: how many are asked for; None for the usual number. `notes` gets how they were chosen.

    Raises `ParameterError` if there are too few, if an id is of several groups, or if a time is
    none.
    """
    train = tables.train
    public = _list_public_ids(engine, tables, columns)
    engine.create(
        "training_rows",
        TRAINING_ROWS.format(
            id=id_of_row(train, columns),
            unit=_unit(engine, train, columns),
            answered=has_answer(train, columns),
        ),
    )
    if columns.group:
        _check_groups(engine, train, columns, settings)
    engine.create("ids", IDS)
    training = engine.value("SELECT count(*) FROM ids WHERE answered")
    wanted = count or usual_number(public, training)
    engine.create("units", UNITS.format(turn=_turn(columns)))
    if not columns.time:  # what was never answered stays, except behind a hidden time
        engine.run("DELETE FROM units WHERE answers = 0")
    engine.create("hidden_units", HIDDEN_UNITS.format(count=wanted))
    new = find_new_ids(engine, tables, columns)
    order = "place" if columns.time else "turn, place"
    engine.create("taken_ids", TAKEN_IDS.format(new=new.expression, order=order))
    engine.create("division", DIVISION)
    hidden = int(engine.value("SELECT count(new) FROM taken_ids"))
    left = engine.value("SELECT count(*) FROM division WHERE NOT taken")
    if not hidden or not left:
        whole = f" by whole {columns.chosen_by!r}" if columns.chosen_by else ""
        raise ParameterError(
            f"{train.file} has {training:,} rows with an answer: too few to hide {wanted:,} of "
            f"them{whole} and to train on the others. --make-rows gives another number"
        )
    engine.create("hidden_rows", HIDDEN_ROWS)
    notes.append(_how(columns))
    if count is None:
        notes.append(USUAL)
    if new.note:
        notes.append(new.note)
    lacking = engine.value("SELECT count(*) FROM training_rows WHERE NOT answered")
    if lacking:
        notes.append(f"{lacking:,} rows of {train.file} lack an answer: none of them is hidden")
    return hidden


def usual_number(public: int, training: int) -> int:
    """The number of ids to hide by default, for a public set and training data with so many."""
    return max(1, min(max(MORE * public, FEWEST), training // SHARE))


def _list_public_ids(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> int:
    """Make the table `public_ids`; their number.

    They are in the test table, or in the sample submission where that counts the rows.
    """
    table = tables.test
    column = columns.id
    if not columns.test_has_id and tables.sample:
        table = tables.sample
        column = columns.submitted
    own = f"{table.column(column)}::{TEXT}"
    engine.create("public_ids", PUBLIC_IDS.format(id=own, table=table.name))
    return int(engine.value("SELECT count(*) FROM public_ids"))


def _unit(engine: TableEngine, train: Table, columns: Columns) -> str:
    """In SQL, what rows have in common that are hidden together: a time as a number, or a text."""
    if columns.time:
        return _time(engine, train, columns.time)
    if columns.group:
        return f"coalesce({train.column(columns.group)}::{TEXT}, '')"
    return id_of_row(train, columns)


def _turn(columns: Columns) -> str:
    """In SQL, the turn of a unit, the lowest first: a time's from the last one on, else random."""
    return "-unit" if columns.time else f"md5_number_lower('{SEED} ' || unit)"


def _time(engine: TableEngine, train: Table, name: str) -> str:
    """In SQL, a column's time as a number. Raises `ParameterError` if a value is none."""
    text = f"{train.column(name)}::{TEXT}"
    number = f"try_cast({text} AS DOUBLE)"
    # DuckDB takes 25/01/24 for a day of the year 25.
    whole_year = f"regexp_matches({text}, {literal(WHOLE_YEAR)})"
    date = f"CASE WHEN {whole_year} THEN epoch(try_cast({text} AS TIMESTAMP)) END"
    for form in (number, date):
        if engine.value(f"SELECT bool_and({form} IS NOT NULL) FROM train"):
            return form
    no_time = f"SELECT {text} FROM train WHERE {number} IS NULL AND {date} IS NULL LIMIT 1"
    other = engine.run(no_time)
    such = f", such as {other[0][0]!r}" if other and other[0][0] else ""
    raise ParameterError(
        f"{name!r} of {train.file} has values that are no times of one form{such}: numbers and "
        f"2026-12-31, with or without a time of day, are. Else {MAKE_IT_YOURSELF}"
    )


def _check_groups(
    engine: TableEngine, train: Table, columns: Columns, settings: HiddenSettings
) -> None:
    """Raise `ParameterError` for an id whose rows are of several groups."""
    several = engine.run(OF_SEVERAL)
    if several:
        own = columns.id_in_train
        what = f"the {own!r} {several[0][0]!r} of {train.file} is of several {columns.group!r}"
        raise ask([Unknown(what, {"group": own})], settings)


def _how(columns: Columns) -> str:
    """How the hidden rows were chosen, in words."""
    if columns.time:
        return f"the hidden rows are the last ones by {columns.time!r}"
    if columns.chosen_by:
        return f"rows of one {columns.chosen_by!r} stay together"
    return (
        "the hidden rows are drawn at random: for whole groups, or for the last ones in time, set "
        "group or time in hidden = {…}"
    )
