"""Tables of labels: a CSV in which one column names the photos and another one their classes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from petals.data.photo_files import SUFFIXES
from petals.errors import DataError

_SEPARATORS = ",;\t"


@dataclass(frozen=True)
class Columns:
    """The names of the two columns; "" for the table's own, as `read` says."""

    file: str = ""
    label: str = ""


USUAL = Columns()


def read(table: Path, columns: Columns) -> list[tuple[str, str]]:
    """The rows of a CSV in UTF-8 as (file, label), blank ones left out.

    Its first line names the columns. `columns` says which are meant; otherwise these are `file` and
    `label`, or the first and the second of two. They are separated by commas, or by what the first
    line has instead: semicolons or tabs. Raises `DataError` for a table that is not so.
    """
    try:
        text = table.read_text("utf-8-sig")
        first = text.partition("\n")[0]
        separator = next((each for each in _SEPARATORS if each in first), ",")
        lines = csv.reader(text.splitlines(), delimiter=separator, strict=True)
        header, *rows = [[cell.strip() for cell in line] for line in lines if any(line)]
    except (OSError, ValueError, csv.Error) as error:
        raise _refusal(table, f"it cannot be read ({error})") from None
    file = _place(table, header, columns.file, "file", 0)
    label = _place(table, header, columns.label, "label", 1)
    if Path(header[file]).suffix.lower() in SUFFIXES:
        raise _refusal(table, f"its first line is a photo's ({header[file]})")
    if not rows:
        raise _refusal(table, "it lists no photos")
    wrong = [number for number, row in enumerate(rows, 2) if len(row) != len(header)]
    if wrong:
        raise _refusal(
            table, f"{len(wrong):,} rows have not {len(header)} cells, such as row {wrong[0]}"
        )
    return [(row[file], row[label]) for row in rows]


def _place(table: Path, header: list[str], named: str, usual: str, default: int) -> int:
    """The place of a column in the header."""
    if named and named not in header:
        raise _refusal(table, f"it has no column {named}, only {', '.join(header)}")
    if named or usual in header:
        return header.index(named or usual)
    if len(header) != 2:
        raise _refusal(table, f"it has the columns {', '.join(header)}")
    return default


def _refusal(table: Path, why: str) -> DataError:
    return DataError(
        f"{table}: {why}. A table is a CSV in UTF-8 whose first line names the columns: file and "
        "label, or two in this order, or those of --file-column and --label-column"
    )
