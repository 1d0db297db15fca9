"""Where a finding is, in words: cells of a notebook, lines of a script."""

import re
from collections.abc import Iterable

from kernelkit.push.plan import Plan

MOST_PLACES = 4  # to name besides the first


def several(places: Iterable[str]) -> str:
    """Places in one text: "train.ipynb[cell 2] (and cell 4, cell 7)"; of many, the first."""
    first, *others = dict.fromkeys(places)
    if not others:
        return first
    if len(others) > MOST_PLACES:
        return f"{first} (and {len(others)} more)"
    file, bracket, _ = first.partition("[cell ")
    if bracket and first.endswith("]"):  # no line follows, as in scripts
        others = [each.removeprefix(f"{file}[").removesuffix("]") for each in others]
    return f"{first} (and {', '.join(others)})"


def in_lines(plan: Plan, text: str) -> str:
    """A finding's text with places such as "n.py[cell 2], line 3" as lines of the script.

    A script's code is divided where its block of parameters begins and ends; its author sees lines.
    """
    if not plan.metadata.is_script or "[cell " not in text:
        return text
    whole = plan.metadata.code_file.read_text("utf-8-sig", "replace")
    offsets = {}
    position = 0
    for place, source in plan.bundle.code:
        start = max(whole.find(source, position), 0)
        offsets[place] = whole[:start].count("\n")
        position = start + len(source)

    def line(match: re.Match[str]) -> str:
        file = match[1].partition("[cell ")[0]
        if match[1] not in offsets:
            return match[0]
        return f"{file}, line {offsets[match[1]] + int(match[2])}" if match[2] else file

    return re.sub(r"([^\s(]+\[cell \d+\])(?:(?:, line |:)(\d+))?", line, text)
