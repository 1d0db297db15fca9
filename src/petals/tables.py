"""A small table that shows itself: as HTML in a notebook, as aligned text in a log."""

# Why not pandas: a DataFrame shows NaN where a value is missing, counts of such columns as
# fractions, six digits of each float, and no more than 60 rows and 50 characters of a cell. The
# groups of petals.comparison, written with pandas, came to as many lines.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns; the table shows None as a dash."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """A table from dicts; the first dict gives the order of the columns."""
        columns = list(rows[0]) if rows else []
        return cls(columns, [[row.get(column) for column in columns] for row in rows])

    def __str__(self) -> str:
        cells = [list(self.columns), *([shown(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(shown(value))}</td>" for value in row) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shown(value: Any) -> str:
    """A value as people write it: scores to four digits, counts with commas."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        if abs(value) >= 1000:
            return f"{value:,.0f}"
        if abs(value) >= 1 or value == 0:
            return f"{value:.1f}"
        return f"{value:.4f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
