"""A small table that displays as HTML in a notebook and as aligned text in a log."""

# Why not pandas: a DataFrame shows a missing value as NaN, the counts of such a column as
# fractions, six digits of each float, and at most 60 rows and 50 characters of a cell.

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

NOTHING = "–"
_UNIT = re.compile(r"(^|[ ,])(kB|MB|s|minutes|images/s)\b")


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns; None is shown as a dash.

    The numbers of a column are aligned to the right, with the same digits after the point. If the
    column's name has a unit, as in "MB" and "first epoch, s", they are measured quantities, for
    which three digits are enough; others are scores, counts or settings.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """A table from dicts; the first dict gives the order of the columns."""
        columns = list(rows[0]) if rows else []
        return cls(columns, [[row.get(column) for column in columns] for row in rows])

    def __str__(self) -> str:
        columns = []
        for name, texts, numbers in self._columns():
            width = max(map(len, (name, *texts)))
            columns.append([t.rjust(width) if numbers else t.ljust(width) for t in (name, *texts)])
        return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))

    def _repr_html_(self) -> str:
        columns = []
        for name, texts, numbers in self._columns():
            style = ' style="text-align: right"' if numbers else ""
            tags = ("th", *("td" for _ in texts))
            cells = zip(tags, (name, *texts), strict=True)
            columns.append([f"<{tag}{style}>{escape(text)}</{tag}>" for tag, text in cells])
        head, *body = ["".join(cells) for cells in zip(*columns, strict=True)] or [""]
        rows = "".join(f"<tr>{cells}</tr>" for cells in body)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _columns(self) -> list[tuple[str, list[str], bool]]:
        """(name, texts, whether they are numbers) of each column."""
        columns = []
        for place, name in enumerate(self.columns):
            values = [row[place] for row in self.rows]
            kinds = {_is_number(value) for value in values if value is not None}
            columns.append((name, _texts(name, values), kinds == {True}))
        return columns


def _texts(name: str, values: Sequence[Any]) -> list[str]:
    """A column's values as people write them."""
    sizes = [abs(v) for v in values if isinstance(v, float) and math.isfinite(v)]
    largest = max(sizes, default=0.0)
    if _UNIT.search(name):
        digits = 0 if largest >= 100 else 1 if largest >= 10 else 2
    else:  # scores, which reach 1, to four digits
        digits = 4 if largest <= 1 else 3 if largest < 10 else 1 if largest < 1000 else 0
    return [_text(value, digits) for value in values]


def _text(value: Any, digits: int) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, float):
        too_small = 0 < abs(value) < 0.5 * 10**-digits
        return f"{value:.1g}" if too_small else f"{value:,.{digits}f}"
    return f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
