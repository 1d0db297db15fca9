"""New ids for the rows of a hidden test set: numbers, or a prefix and a number.

Ids that are a number, after the same or another text and before a file's ending, go on after the
largest number that is known, with as many digits: 17 → 42, plot-00012 → plot-00090, 7.jpg → 9.jpg.
Any other id becomes `f` and a number: 000ff2bfdfe9 → f1. An id that names its group or its time
says what its row is about, and stays.
"""

from dataclasses import dataclass

from kernelkit.errors import ParameterError
from kernelkit.hidden.data.hidden_content import MAKE_IT_YOURSELF
from kernelkit.hidden.data.table_engine import TEXT, WHOLE, TableEngine, literal

NUMBERED = r"(\D*)(\d{1,18})(\.[A-Za-z]\w{1,4})?"  # the text before a number, it, and an ending
LETTER = "f"  # which makes a text of digits one that is no number, and is a hexadecimal digit


@dataclass(frozen=True)
class NewIds:
    """`expression` gives in SQL the new id of a row with an `id` and a `number` from 1 on.

    `note` says what should be known of them; "" if nothing. `are_kept`: whether they stay.
    """

    expression: str
    note: str = ""
    are_kept: bool = False


def counted(first: int) -> NewIds:
    """Whole numbers from `first` on, for rows that have no id."""
    return NewIds(f"({first} + number - 1)::{TEXT}")


def renamed(engine: TableEngine, known: str, column: str, kind: str) -> NewIds:
    """The new ids of a column of this type; `known` is a table of all `id` that are taken.

    Raises `ParameterError` for a type of which no new one can be made.
    """
    if kind != TEXT and not WHOLE.fullmatch(kind):
        raise _no_new_ones(column)
    pattern = literal(NUMBERED)
    if engine.value(f"SELECT bool_and(regexp_full_match(id, {pattern})) FROM {known}"):
        largest = engine.value(f"SELECT max(regexp_extract(id, {pattern}, 2)::BIGINT) FROM {known}")
        before = f"regexp_extract(id, {pattern}, 1)"
        digits = f"length(regexp_extract(id, {pattern}, 2))"
        after = f"regexp_extract(id, {pattern}, 3)"
        number = f"({largest} + number)::{TEXT}"
        width = f"greatest({digits}, length({number}))::INTEGER"
        return NewIds(f"{before} || lpad({number}, {width}, '0') || {after}")
    times = f"SELECT bool_and(try_cast(id AS TIMESTAMP) IS NOT NULL) FROM {known}"
    if engine.value(times):
        raise _no_new_ones(column)
    ending = r"\.[A-Za-z]\w{1,4}"
    taken = literal(rf"{LETTER}(\d{{1,17}})({ending})?")
    largest = engine.value(
        f"SELECT coalesce(max(regexp_extract(id, {taken}, 1)::BIGINT), 0) FROM {known} "
        f"WHERE regexp_full_match(id, {taken})"
    )
    least = engine.value(f"SELECT min(id) FROM {known}")
    made = f"'{LETTER}' || ({largest} + number) || regexp_extract(id, {literal(ending + '$')})"
    return NewIds(made, f"ids are new: {LETTER} and a number, in place of such as {least}")


def _no_new_ones(column: str) -> ParameterError:
    return ParameterError(
        f"the {column!r} are neither texts nor whole numbers, so that no new ones can be made: if "
        f'they are times, name them with hidden = {{time = "{column}"}} below [tool.kernelkit] in '
        f"pyproject.toml; else {MAKE_IT_YOURSELF}"
    )
