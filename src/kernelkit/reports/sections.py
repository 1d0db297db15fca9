"""The parts of a report that the run's own files fill: pictures, tables, bars, matrices, photos.

`[[tool.kernelkit.shown.sections]]` names the files and how each is shown. A file that is missing or
damaged is left out.
"""

from __future__ import annotations

import base64
import csv
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.shown import Section
from kernelkit.terminal import safe_text

MOST_ROWS, MOST_CLASSES, MOST_PHOTOS = 1_000, 400, 200
FIRST_ROWS = 15  # of bars, before the rest is folded
LARGEST = 4_000_000  # bytes of a file
MOST_LETTERS = 1_000  # of a conclusion
_PICTURE = re.compile(r"data:image/(?:png|jpeg|webp);base64,[A-Za-z0-9+/=]+")
_PERCENT = re.compile(r"\d+(\.\d+)? ?%")
_TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}

Content = dict[str, Any]


def filled(section: Section, folder: Path) -> Content | None:
    """The values of a section for the template; None where the run left no such file."""
    path = (folder / section.file).resolve()
    inside = path.is_relative_to(folder.resolve())
    if not inside or not path.is_file() or path.stat().st_size > LARGEST:
        return None
    try:
        content = _READ[section.kind](path)
    except (OSError, ValueError, TypeError, KeyError, IndexError, csv.Error, RecursionError):
        return None
    anchor = re.sub(r"\W+", "-", section.title.lower()).strip("-")
    texts = {"kind": section.kind, "title": section.title, "caption": section.caption}
    conclusion = path.with_suffix(".txt")  # what the run itself says of it
    if conclusion.is_file():
        texts["finding"] = safe_text.plain(conclusion.read_text(errors="replace")[:MOST_LETTERS])
    return {**texts, "anchor": f"part-{anchor}", **content} if content else None


def _figure(path: Path) -> Content:
    kind = _TYPES[path.suffix.lower()]
    return {"picture": f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"}


def _table(path: Path) -> Content:
    records = _records(path)
    columns = list(dict.fromkeys(name for record in records for name in record))
    texts = {name: _written_alike([record.get(name) for record in records]) for name in columns}
    rows = []
    for number, record in enumerate(records[:MOST_ROWS]):
        row = [_cell(record.get(name), texts[name][number]) for name in columns]
        words = _words({n: cell["text"] for n, cell in zip(columns, row, strict=True)})
        for name, cell in zip(columns, row, strict=True):
            cell["alt"] = f"{name}: {words}" if words else name
        rows.append(row)
    pictures = any(cell["picture"] for row in rows for cell in row)
    return {"columns": columns, "rows": rows, "pictures": pictures} if rows else {}


def _photos(path: Path) -> Content:
    photos = []
    for record in _records(path)[:MOST_PHOTOS]:
        cells = {name: _cell(value) for name, value in record.items()}
        picture = next((cell["picture"] for cell in cells.values() if cell["picture"]), "")
        texts = {name: cell["text"] for name, cell in cells.items() if cell["text"]}
        if picture:
            photos.append({"picture": picture, "texts": texts, "alt": _words(texts)})
    return {"photos": photos} if photos else {}


def _words(texts: Mapping[str, str]) -> str:
    """The texts of a row, for who cannot see its picture."""
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


def _bars(path: Path) -> Content:
    with path.open(encoding="utf-8", newline="") as lines:
        columns, *rows = list(csv.reader(lines))
    rows.sort(key=lambda row: (float(row[1]), row))
    values = [float(row[1]) for row in rows]
    if not values or not all(map(math.isfinite, values)):
        return {}
    mean, longest = sum(values) / len(values), max(1.0, values[-1])
    # The numbers of every further column are written alike, with three digits after the point.
    others = [
        _written_alike([_number(cell) for cell in column], 3)
        for column in list(zip(*rows, strict=True))[2:]
    ]
    bars = [
        {
            "name": rows[n][0],
            "text": f"{value:.3f}",
            "width": round(100 * max(value, 0) / longest, 1),
            "below": value < mean,
            "others": [safe_text.plain(column[n]) for column in others],
        }
        for n, value in enumerate(values[:MOST_ROWS])
    ]
    worst, best = (
        _few([row[0] for row, value in zip(rows, values, strict=True) if value == end])
        for end in (values[0], values[-1])
    )
    below = sum(value < mean for value in values)
    finding = (
        f"Lowest: {values[0]:.3f} ({worst}). Highest: {values[-1]:.3f} ({best}). "
        f"Mean: {mean:.3f}, with {below} of {len(values)} below it."
    )
    bars_of_page = {"bars": bars[:FIRST_ROWS], "rest": bars[FIRST_ROWS:]}
    return {"columns": columns, **bars_of_page, "mean": f"{mean:.3f}", "finding": finding}


def _matrix(path: Path) -> Content:
    with path.open(encoding="utf-8", newline="") as lines:
        (_, *names), *rows = list(csv.reader(lines))
    counts = [[int(cell) for cell in row[1:]] for row in rows]
    square = all(len(row) == len(names) for row in counts) and len(counts) == len(names)
    if not square or not 2 <= len(names) <= MOST_CLASSES:
        return {}
    cells = {(i, j): count for i, row in enumerate(counts) for j, count in enumerate(row)}
    total = sum(cells.values())
    right = sum(count for (i, j), count in cells.items() if i == j)
    finding = f"{right:,} of {total:,} are correct ({100 * right / max(total, 1):.1f} %)."
    i, j = max((cell for cell in cells if cell[0] != cell[1]), key=cells.__getitem__)
    if times := cells[i, j]:
        often = f"{times} times" if times > 1 else "once"
        finding += f" Most common mistake: {names[i]} → {names[j]}, {often}."
    return {"matrix": {"names": names, "counts": counts}, "finding": finding}


_READ: Mapping[str, Callable[[Path], Content]] = {
    "figure": _figure,
    "table": _table,
    "photos": _photos,
    "bars": _bars,
    "matrix": _matrix,
}


def _records(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, or the objects in a JSON file's list."""
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            return [{k: _number(v) for k, v in row.items() if k} for row in csv.DictReader(lines)]
    return [dict(record) for record in json.loads(path.read_text(encoding="utf-8"))]


def _number(text: object) -> object:
    for kind in (int, float):
        try:
            return kind(str(text))
        except ValueError:
            continue
    return text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object, text: str | None = None) -> Content:
    """A value as a page shows it: its picture, or its text and whether that is a number."""
    if isinstance(value, str) and _PICTURE.fullmatch(value):
        return {"picture": value, "text": "", "number": False}
    text = safe_text.plain(written(value) if text is None else text)
    number = _is_number(value) or _PERCENT.fullmatch(text) is not None
    return {"picture": "", "text": text, "number": number}


def _written_alike(values: Sequence[Any], most: int = 4) -> list[str]:
    """A column's values as text; where one is a fraction, all have its digits after the point."""
    finite = [abs(value) for value in values if _is_number(value) and math.isfinite(value)]
    if not any(isinstance(value, float) for value in finite):
        return [written(value) for value in values]
    digits = most if max(finite) <= 1 else max(0, most - len(str(int(max(finite)))))

    def text(value: Any) -> str:
        if not _is_number(value):
            return written(value)
        too_small = 0 < abs(value) < 0.5 * 10**-digits
        return f"{value:.1g}" if too_small else f"{value:,.{digits}f}"

    return [text(value) for value in values]


def _few(names: Sequence[str]) -> str:
    """Some names in words: one, or two, or the first and how many more."""
    if len(names) > 2:
        return f"{names[0]} and {len(names) - 1} others"
    return " and ".join(names)


def written(value: object) -> str:
    """A value as people write it: four digits, counts with commas."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
