"""Where a finding is, in words: cells of a notebook, lines of a file."""

from collections.abc import Iterable

MOST_PLACES = 4  # to name besides the first


def at(place: str, line: int) -> str:
    """A line of code: that of a file by its number, that of a cell as the cell."""
    return place if place.endswith("]") else f"{place}, line {line}"


def where(lines: Iterable[tuple[str, int]]) -> str:
    """The lines of these places in one text, see `several`."""
    return several(at(place, line) for place, line in lines)


def several(places: Iterable[str]) -> str:
    """Places in one text: "train.ipynb[cell 2] (and cell 4, cell 7)"; of many, the first."""
    first, *others = dict.fromkeys(places)
    if not others:
        return first
    if len(others) > MOST_PLACES:
        return f"{first} (and {len(others)} more)"
    file = first.partition("[")[0].partition(",")[0]
    return f"{first} (and {', '.join(_within(file, each) for each in others)})"


def _within(file: str, place: str) -> str:
    if not place.startswith(file):
        return place
    return place.removeprefix(file).replace("]", "").strip("[, ")
