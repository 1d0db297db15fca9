"""The new ids of the hidden rows: numbers, or a prefix and a number.

Ids that are a number, after the same or another text and before a file's ending, go on after the
largest number that is known, with as many digits: 17 → 42, plot-00012 → plot-00090, 7.jpg → 9.jpg.
Any other id becomes `f` and a number: 000ff2bfdfe9 → f1. An id that names its group or its time
says what its row is about, and stays. Rows without an id are counted.
"""

from dataclasses import dataclass

from kernelkit.errors import ParameterError
from kernelkit.hidden.competition.columns import Columns, are_whole_numbers, id_of_row
from kernelkit.hidden.competition.competition_tables import CompetitionTables
from kernelkit.hidden.competition.unknown import MAKE_IT_YOURSELF
from kernelkit.hidden.tables.table_engine import TEXT, WHOLE, TableEngine, literal

ENDING = r"\.[A-Za-z]\w{1,4}"  # of a file
NUMBERED = rf"(\D*)(\d{{1,18}})({ENDING})?"
LETTER = "f"  # which makes a text of digits one that is no number, and is a hexadecimal digit
LETTERED = rf"{LETTER}(\d{{1,17}})({ENDING})?"


@dataclass(frozen=True)
class NewIds:
    """`expression` gives in SQL the new id of a row with an `id` and a `number` from 1 on.

    `note` says what should be known of them; "" if nothing.
    """

    expression: str
    note: str = ""


def find_new_ids(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> NewIds:
    """How the hidden rows are named; the tables `ids` and `public_ids` have all that are taken.

    Raises `ParameterError` for ids of which no new one can be made.
    """
    own = columns.id_in_train
    if not columns.test_has_id:  # a submission counts the rows of the test table
        return _counted_from(engine.value(_public("min", 0)))
    if not own:
        _check_numbers(engine, tables, columns)
        return _counted_from(engine.value(_public("max", -1)) + 1)
    if columns.chosen_by:
        value = f"{tables.train.column(columns.chosen_by)}::{TEXT}"
        row_id = id_of_row(tables.train, columns)
        if engine.value(f"SELECT bool_and(contains({row_id}, {value})) FROM train"):
            note = f"the hidden rows keep their ids, which name their {columns.chosen_by!r}"
            return NewIds("id", note)
    engine.create("known", "SELECT id FROM ids UNION ALL SELECT id FROM public_ids")
    return renamed(engine, "known", own, tables.train.type_of(own))


def renamed(engine: TableEngine, known: str, column: str, kind: str) -> NewIds:
    """The new ids of a column of this type; `known` is a table of all `id` that are taken.

    Raises `ParameterError` for a type of which no new one can be made.
    """
    if kind != TEXT and not WHOLE.fullmatch(kind):
        raise _no_new_ones(column)
    if engine.value(f"SELECT bool_and(regexp_full_match(id, {literal(NUMBERED)})) FROM {known}"):
        return _numbered(engine, known)
    if engine.value(f"SELECT bool_and(try_cast(id AS TIMESTAMP) IS NOT NULL) FROM {known}"):
        raise _no_new_ones(column)
    return _lettered(engine, known)


def _numbered(engine: TableEngine, known: str) -> NewIds:
    """The old id with its number replaced by one after the largest, with as many digits."""
    before, digits, after = (f"regexp_extract(id, {literal(NUMBERED)}, {n})" for n in (1, 2, 3))
    largest = engine.value(f"SELECT max({digits}::BIGINT) FROM {known}")
    number = f"({largest} + number)::{TEXT}"
    width = f"greatest(length({digits}), length({number}))::INTEGER"
    return NewIds(f"{before} || lpad({number}, {width}, '0') || {after}")


def _lettered(engine: TableEngine, known: str) -> NewIds:
    """A letter and a number that is not taken, with the old id's ending."""
    pattern = literal(LETTERED)
    largest = engine.value(
        f"SELECT coalesce(max(regexp_extract(id, {pattern}, 1)::BIGINT), 0) FROM {known} "
        f"WHERE regexp_full_match(id, {pattern})"
    )
    ending = f"regexp_extract(id, {literal(ENDING + '$')})"
    one = engine.value(f"SELECT min(id) FROM {known}")
    note = f"ids are new: {LETTER} and a number, in place of such as {one}"
    return NewIds(f"'{LETTER}' || ({largest} + number) || {ending}", note)


def _counted_from(first: int) -> NewIds:
    """Whole numbers from `first` on, for rows that have no id."""
    return NewIds(f"({first} + number - 1)::{TEXT}")


def _public(which: str, otherwise: int) -> str:
    """In SQL, the `min` or `max` number among the public ids."""
    return f"SELECT coalesce({which}(try_cast(id AS BIGINT)), {otherwise}) FROM public_ids"


def _check_numbers(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> None:
    """Raise `ParameterError` unless the public ids are numbers, of which the next can be taken."""
    if are_whole_numbers(engine, tables.test, columns.id):
        return
    raise ParameterError(
        f"{tables.train.file} has no column {columns.id!r}, and the ids of {tables.test.file} are "
        "no numbers, of which the next could be taken: name the column with "
        f'hidden = {{columns = {{{columns.id} = "COLUMN"}}}} below [tool.kernelkit] in '
        f"pyproject.toml, or {MAKE_IT_YOURSELF}"
    )


def _no_new_ones(column: str) -> ParameterError:
    return ParameterError(
        f"the {column!r} are neither texts nor whole numbers, so that no new ones can be made: if "
        f'they are times, name them with hidden = {{time = "{column}"}} below [tool.kernelkit] in '
        f"pyproject.toml; else {MAKE_IT_YOURSELF}"
    )
