"""The new ids of the hidden rows: numbers, or a prefix and a number.

Ids that are a number, after the same or another text and before a file's ending, go on after the
largest number that is known, with as many digits: after 41, the next is 42; after plot-00089,
plot-00090; after 8.jpg, 9.jpg. Any other id is replaced by `f` and a number: 000ff2bfdfe9 by f1. An
id that names its group or its time says what its row is about, and stays. Rows without an id are
numbered.
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
    """How hidden rows get their new ids.

    expression  in SQL, the new id of a row that has its old `id` and a `number` from 1 on
    note        what should be known of the new ids; "" if nothing
    """

    expression: str
    note: str = ""


def find_new_ids(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> NewIds:
    """How the hidden rows are named, unlike all ids in the tables `ids` and `public_ids`.

    Raises `ParameterError` for ids of which no new one can be made.
    """
    if not columns.test_has_id:  # a submission numbers the rows of the test table, here the hidden
        return _numbered_from(engine.value(_public("min", 0)))
    if not columns.id_in_train:  # the test table numbers its rows on from those of training
        _check_numbers(engine, tables, columns)
        return _numbered_from(engine.value(_public("max", -1)) + 1)
    if columns.chosen_by:
        value = f"{tables.train.column(columns.chosen_by)}::{TEXT}"
        row_id = id_of_row(tables.train, columns)
        if engine.value(f"SELECT bool_and(contains({row_id}, {value})) FROM train"):
            note = f"the hidden rows keep their ids, which name their {columns.chosen_by!r}"
            return NewIds("id", note)
    engine.create("known_ids", "SELECT id FROM ids UNION ALL SELECT id FROM public_ids")
    column = columns.id_in_train
    return renamed(engine, column, tables.train.type_of(column))


def renamed(engine: TableEngine, column: str, column_type: str) -> NewIds:
    """The new ids of a column of this type of DuckDB, unlike all in the table `known_ids`.

    Raises `ParameterError` for a type of which no new one can be made, and for times.
    """
    if column_type != TEXT and not WHOLE.fullmatch(column_type):
        raise _no_new_ones(column)
    if engine.value(f"SELECT bool_and(regexp_full_match(id, {literal(NUMBERED)})) FROM known_ids"):
        return _numbered(engine)
    if engine.value("SELECT bool_and(try_cast(id AS TIMESTAMP) IS NOT NULL) FROM known_ids"):
        raise _no_new_ones(column)
    return _lettered(engine)


def _numbered(engine: TableEngine) -> NewIds:
    """The old id with its number replaced by one after the largest, with as many digits."""
    before, digits, after = (f"regexp_extract(id, {literal(NUMBERED)}, {n})" for n in (1, 2, 3))
    largest = engine.value(f"SELECT max({digits}::BIGINT) FROM known_ids")
    number = f"({largest} + number)::{TEXT}"
    width = f"greatest(length({digits}), length({number}))::INTEGER"
    return NewIds(f"{before} || lpad({number}, {width}, '0') || {after}")


def _lettered(engine: TableEngine) -> NewIds:
    """A letter and a number that no known id has, with the old id's ending."""
    pattern = literal(LETTERED)
    largest = engine.value(
        f"SELECT coalesce(max(regexp_extract(id, {pattern}, 1)::BIGINT), 0) FROM known_ids "
        f"WHERE regexp_full_match(id, {pattern})"
    )
    ending = f"regexp_extract(id, {literal(ENDING + '$')})"
    one = engine.value("SELECT min(id) FROM known_ids")
    note = f"ids are new: {LETTER} and a number, in place of such as {one}"
    return NewIds(f"'{LETTER}' || ({largest} + number) || {ending}", note)


def _numbered_from(first: int) -> NewIds:
    """Whole numbers from `first` on, for rows that have no id."""
    return NewIds(f"({first} + number - 1)::{TEXT}")


def _public(which: str, otherwise: int) -> str:
    """A query of the `min` or `max` number among the public ids; `otherwise` without a number."""
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
