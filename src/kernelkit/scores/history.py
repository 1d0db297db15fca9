"""A run's `history.csv`: one row per epoch, with numbers and the name of the phase."""

import csv
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

HISTORY = "history.csv"
VALIDATED = "val_"
LEARNT = ("val_accuracy", "val_loss", "loss")  # if a history has no column for the score

Columns = dict[str, list[str]]


def read(folder: Path, name: str = HISTORY) -> Columns:
    """The columns as text, as far as they are written; empty if there is nothing to read."""
    try:
        with (folder / name).open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error):
        return {}
    if not rows:
        return {}
    names = filter(None, rows[0])
    return {name: [row.get(name) or "" for row in rows] for name in names}


def numbers(texts: Sequence[str]) -> list[float]:
    """The numbers at the beginning of a column, with nan for empty cells."""
    # The last line may be incomplete.
    return [float(text or "nan") for text in itertools.takewhile(_is_number, texts)]


def curve(folder: Path, score: str, otherwise: Sequence[str] = LEARNT) -> list[float]:
    """The numbers in the column `curve_name` of a run's history."""
    columns = read(folder)
    name = curve_name(columns, score, otherwise)
    return [v for v in numbers(columns.get(name, ())) if not math.isnan(v)]


def curve_name(columns: Columns, score: str, otherwise: Sequence[str] = LEARNT) -> str:
    """The column with a score per epoch (preferably on validation), "" without one.

    Without such a column, the first of `otherwise` that has a number.
    """
    for name in (VALIDATED + score, score, *otherwise):
        if not all(map(math.isnan, numbers(columns.get(name, ())))):
            return name
    return ""


def along(columns: Columns) -> dict[str, list[float]]:
    """Where epochs end: their `step`, and the `seconds` since the first began; [] if unknown."""
    step, seconds = (numbers(columns.get(name, ())) for name in ("step", "seconds"))
    return {"step": step, "seconds": [round(s, 2) for s in itertools.accumulate(seconds)]}


def phases(columns: Columns) -> list[tuple[int, str]]:
    """(epoch from 0, name) for each change in a text column, such as the phase."""
    for values in columns.values():
        if any(values) and not any(map(_is_number, filter(None, values))):
            return [(n, v) for n, v in enumerate(values) if n and v and v != values[n - 1]]
    return []


def _is_number(text: str) -> bool:
    """Whether a cell is a number or empty."""
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
