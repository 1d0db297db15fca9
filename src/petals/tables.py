"""A small table that displays as HTML in a notebook and as aligned text in a log."""

# Why not pandas: a DataFrame shows a missing value as NaN, the counts of such a column as
# fractions, six digits of each float, and at most 60 rows and 50 characters of a cell. A Styler
# aligns by <style>, which reports strip, escapes nothing by default, and is no text in a log.

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """Rows of values by column, of which the first row gives the order; None is shown as a dash.

    The numbers of a column are aligned to the right, with the same digits after the point.
    """

    rows: Sequence[Mapping[str, Any]]

    def __str__(self) -> str:
        columns = []
        for texts, side in self._columns():
            width = max(map(len, texts))
            align = str.rjust if side == "right" else str.ljust
            columns.append([align(text, width) for text in texts])
        return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))

    def _repr_html_(self) -> str:
        columns = []
        for texts, side in self._columns():
            cells = [_cell("th", side, texts[0])]
            cells += [_cell("td", side, text) for text in texts[1:]]
            columns.append(cells)
        rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*columns, strict=True))
        return f"<table>{rows}</table>"

    def _columns(self) -> Iterator[tuple[list[str], str]]:
        """(name and values as texts, side to which they are aligned) of each column."""
        for name in self.rows[0] if self.rows else ():
            values = [row.get(name) for row in self.rows]
            numbers = all(_is_number(value) for value in values if value is not None)
            yield [name, *_texts(values)], "right" if numbers else "left"


def _cell(tag: str, side: str, text: str) -> str:
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'


def _texts(values: Sequence[Any]) -> Iterator[str]:
    """A column's values as people write them: scores, which reach 1, to four digits."""
    sizes = [abs(v) for v in values if isinstance(v, float) and math.isfinite(v)]
    largest = max(sizes, default=0.0)
    digits = 0
    if largest <= 1:
        digits = 4
    elif largest < 10:
        digits = 3
    elif largest < 1000:
        digits = 1
    for value in values:
        if value is None:
            yield NOTHING
        elif isinstance(value, float):
            too_small = 0 < abs(value) < 0.5 * 10**-digits
            yield f"{value:.1g}" if too_small else f"{value:,.{digits}f}"
        else:
            yield f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
