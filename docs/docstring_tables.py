"""Shows a docstring's table of names as a list on the site: `make site` loads this into Griffe."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ROW = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")  # a name, or several, before what it is
CONTINUED = re.compile(r" {3,}(\S.*)")


class DocstringTables(Extension):
    """Rewrites each docstring before Griffe reads its sections."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called for each module, class and function."""
        if obj.docstring:
            obj.docstring.value = listed(obj.docstring.value)


def listed(text: str) -> str:
    """The text with each row of two or more aligned columns as an item of a list."""
    lines: list[str] = []
    in_table = False
    for line in text.splitlines():
        row = ROW.fullmatch(line)
        more = CONTINUED.fullmatch(line)
        if row:
            if not in_table:
                lines.append("")
            names = ", ".join(f"`{name}`" for name in row[1].split(", "))
            lines.append(f"- {names}: {row[2]}")
            in_table = True
        elif in_table and more:
            lines.append(f"    {more[1]}")
        else:
            if in_table and line:
                lines.append("")
            lines.append(line)
            in_table = False
    return "\n".join(lines)
