"""A run's `history.csv`: one row an epoch, numbers and the phase that they belong to."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

HISTORY = "history.csv"
VALIDATED = "val_"
LEARNT = ("val_accuracy", "val_loss", "loss")  # where a history has no column of the score

Columns = dict[str, list[str]]


def read(folder: Path, name: str = HISTORY) -> Columns:
    """The columns as text, as far as they are written; empty where there is nothing to read."""
    try:
        with (folder / name).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error):
        return {}
    names = [name for name in (rows[0] if rows else ()) if name]
    return {name: [row.get(name) or "" for row in rows] for name in names}


def numbers(texts: Sequence[str]) -> list[float]:
    """The numbers at the beginning of a column, nan where a cell is empty."""
    # The last line may be half written.
    return [float(text or "nan") for text in itertools.takewhile(_is_number, texts)]


def curve(folder: Path, score: str, otherwise: Sequence[str] = LEARNT) -> tuple[str, list[float]]:
    """The column that shows a score by epoch, on validation first, and its numbers.

    Where the history has none, it is the first of the columns `otherwise` that it has.
    """
    columns = read(folder)
    for name in (VALIDATED + score, score, *otherwise):
        if name in columns and columns[name][0]:
            return name, [value for value in numbers(columns[name]) if not math.isnan(value)]
    return "", []


def along(folder: Path) -> dict[str, list[float]]:
    """Where epochs end: their `step`, and the `seconds` since the first began; [] if unknown."""
    columns = read(folder)
    step, seconds = (numbers(columns.get(name, ())) for name in ("step", "seconds"))
    return {"step": step, "seconds": [round(s, 2) for s in itertools.accumulate(seconds)]}


def phases(columns: Columns) -> list[tuple[int, str]]:
    """(epoch from 0, name) where a column of words, as the phase is, changes."""
    for values in columns.values():
        if any(values) and not any(map(_is_number, filter(None, values))):
            return [(n, v) for n, v in enumerate(values) if n and v and v != values[n - 1]]
    return []


def _is_number(text: str) -> bool:
    """Whether a cell holds a number, or nothing."""
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
