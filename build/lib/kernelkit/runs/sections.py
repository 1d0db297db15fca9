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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernelkit.shown import Section
from kernelkit.terminal import safe_text

MOST_ROWS, MOST_CLASSES, MOST_PHOTOS = 1_000, 400, 200
FIRST_ROWS = 15  # of bars, before the rest is folded
LARGEST = 4_000_000  # bytes of a file
_PICTURE = re.compile(r"data:image/(?:png|jpeg|webp);base64,[A-Za-z0-9+/=]+")
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
    if not content:
        return None
    anchor = re.sub(r"\W+", "-", section.title.lower()).strip("-")
    return {
        "kind": section.kind, "title": section.title, "caption": section.caption,
        "anchor": f"part-{anchor}", **content,
    }  # fmt: skip


def _figure(path: Path) -> Content:
    kind = _TYPES[path.suffix.lower()]
    return {"picture": f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"}


def _table(path: Path) -> Content:
    records = _records(path)
    columns = list(dict.fromkeys(name for record in records for name in record))
    rows = [[_cell(record.get(name)) for name in columns] for record in records[:MOST_ROWS]]
    return {"columns": columns, "rows": rows} if rows else {}


def _photos(path: Path) -> Content:
    photos = []
    for record in _records(path)[:MOST_PHOTOS]:
        cells = {name: _cell(value) for name, value in record.items()}
        picture = next((cell["picture"] for cell in cells.values() if cell["picture"]), "")
        said = {name: cell["text"] for name, cell in cells.items() if not cell["picture"]}
        if picture:
            alt = ", ".join(f"{name} {text}" for name, text in said.items())
            photos.append({"picture": picture, "said": said, "alt": alt})
    return {"photos": photos} if photos else {}


def _bars(path: Path) -> Content:
    with path.open(encoding="utf-8", newline="") as lines:
        header, *rows = list(csv.reader(lines))
    name, measure, *others = header
    values = sorted((float(row[1]), row[0], row[2:]) for row in rows)
    if not values or not all(math.isfinite(value) for value, _, _ in values):
        return {}
    mean, longest = sum(v for v, _, _ in values) / len(values), max(1.0, values[-1][0])
    bars: list[Content] = [
        {"name": label, "text": f"{value:.3f}", "width": round(100 * max(value, 0) / longest, 1),
         "below": value < mean, "others": [safe_text.plain(other) for other in more]}
        for value, label, more in values[:MOST_ROWS]
    ]  # fmt: skip
    below = sum(value < mean for value, _, _ in values)
    finding = (
        f"The worst is {values[0][1]} with {values[0][0]:.3f}, the best {values[-1][1]} with "
        f"{values[-1][0]:.3f}; the mean is {mean:.3f}, and {below} of {len(values)} are below it."
    )
    return {
        "columns": [name, measure, *others], "bars": bars[:FIRST_ROWS], "rest": bars[FIRST_ROWS:],
        "mean": f"{mean:.3f}", "finding": finding,
    }  # fmt: skip


def _matrix(path: Path) -> Content:
    with path.open(encoding="utf-8", newline="") as lines:
        (_, *names), *rows = list(csv.reader(lines))
    counts = [[int(cell) for cell in row[1:]] for row in rows]
    square = all(len(row) == len(names) for row in counts) and len(counts) == len(names)
    if not square or not 2 <= len(names) <= MOST_CLASSES:
        return {}
    total = sum(map(sum, counts))
    right = sum(counts[i][i] for i in range(len(names)))
    times, i, j = max(
        (counts[i][j], -i, -j) for i in range(len(names)) for j in range(len(names)) if i != j
    )
    finding = f"{right:,} of {total:,} are right ({right / max(total, 1):.1%})."
    if times:
        finding += f" Most often {names[-i]} is taken for {names[-j]}: {times} times."
    return {"matrix": {"names": names, "counts": counts}, "finding": finding}


_READ: Mapping[str, Callable[[Path], Content]] = {
    "figure": _figure, "table": _table, "photos": _photos, "bars": _bars, "matrix": _matrix,
}  # fmt: skip


def _records(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, or the objects in a JSON file's list."""
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            return [{k: _number(v) for k, v in row.items() if k} for row in csv.DictReader(lines)]
    found = json.loads(path.read_text(encoding="utf-8"))
    return [dict(record) for record in found]


def _number(text: object) -> object:
    for kind in (int, float):
        try:
            return kind(str(text))
        except ValueError:
            continue
    return text


def _cell(value: object) -> Content:
    """A value as a page shows it: its picture, or its text and whether that is a number."""
    if isinstance(value, str) and _PICTURE.fullmatch(value):
        return {"picture": value, "text": "", "number": False}
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {"picture": "", "text": safe_text.plain(written(value)), "number": number}


def written(value: object) -> str:
    """A value as people write it: four digits, counts with commas."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
