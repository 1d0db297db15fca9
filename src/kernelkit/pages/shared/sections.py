"""The parts of a report that the run's own files fill: pictures, tables, bars, matrices, photos.

`[[tool.kernelkit.shown.sections]]` names the files and how each is shown. A file that is missing or
damaged is left out.
"""

import base64
import contextlib
import csv
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.session_records import proved
from kernelkit.shown import Section
from kernelkit.terminal import safe_text

MOST_ROWS, MOST_CLASSES, MOST_PHOTOS = 1_000, 400, 200
LARGEST = 4_000_000  # bytes of a file
MOST_LETTERS = 1_000  # of a conclusion
_PICTURE = re.compile(r"data:image/(?:png|jpeg|webp);base64,[A-Za-z0-9+/=]+")
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}

Content = dict[str, Any]


class _TooLargeError(Exception):
    """A file has more than a page can show."""


def filled(section: Section, folder: Path) -> Content | None:
    """The values of a section for the template; None for a file that is missing or damaged.

    Of a file that is too large for a page, the section says so.
    """
    path = (folder / section.file).resolve()
    inside = path.is_relative_to(folder.resolve())
    if not inside or not path.is_file():
        return None
    try:
        if path.stat().st_size > LARGEST:
            raise _TooLargeError(f"{section.file} is too large for this page.")
        content = _READ[section.kind](path)
    except _TooLargeError as error:
        content = {"kind": "note", "finding": str(error)}
    except (OSError, ValueError, TypeError, KeyError, IndexError, csv.Error):
        return None
    anchor = re.sub(r"\W+", "-", section.title.lower()).strip("-")
    texts = {"kind": section.kind, "title": section.title, "caption": section.caption}
    unverified = proved.doubt(folder, section.file)
    if unverified:
        texts["caption"] = f"{proved.NOT_VERIFIED}: {unverified}. {section.caption}".strip()
    conclusion = path.with_suffix(".txt")  # what the run itself says of it
    if conclusion.is_file():
        texts["finding"] = safe_text.plain(conclusion.read_text("utf-8", "replace")[:MOST_LETTERS])
    return {**texts, "anchor": f"part-{anchor}", **content}


def bars(sections: Sequence[Section], folder: Path) -> dict[str, str]:
    """{name: score} in the first section of bars; {} without it."""
    contents = (filled(section, folder) for section in sections if section.kind == "bars")
    return {bar["name"]: bar["text"] for bar in (next(contents, None) or {}).get("bars", ())}


def _figure(path: Path) -> Content:
    kind = PICTURES[path.suffix.lower()]
    return {"picture": f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"}


def _table(path: Path) -> Content:
    records = _records(path)[:MOST_ROWS]
    columns = list(dict.fromkeys(name for record in records for name in record))
    rows = [[_cell(record.get(name)) for name in columns] for record in records]
    pictures = any(cell["picture"] for row in rows for cell in row)
    return {"columns": columns, "rows": rows, "pictures": pictures}


def _photos(path: Path) -> Content:
    photos = []
    for record in _records(path)[:MOST_PHOTOS]:
        cells = {name: _cell(value) for name, value in record.items()}
        texts = {name: cell["text"] for name, cell in cells.items() if cell["text"]}
        alt = ", ".join(f"{name} {text}" for name, text in texts.items())
        if pictures := [cell["picture"] for cell in cells.values() if cell["picture"]]:
            photos.append({"picture": pictures[0], "texts": texts, "alt": alt})
    if not photos:
        raise ValueError(f"{path} has no photos")
    return {"photos": photos}


def _bars(path: Path) -> Content:
    """Bars of a score, the higher the better; those below the mean come first, marked."""
    columns, *rows = _csv(path)
    rows.sort(key=lambda row: float(row[1]))
    values = [float(row[1]) for row in rows]
    mean = statistics.fmean(values)
    longest = max(1.0, values[-1])
    if not math.isfinite(mean):
        raise ValueError(f"{path} has a score that is not a number")
    bars = [
        {
            "name": name,
            "text": f"{value:.3f}",
            "width": round(100 * max(value, 0) / longest, 1),
            "below": value < mean,
            "others": [safe_text.plain(_alike(cell)) for cell in others],
        }
        for (name, _, *others), value in zip(rows, values, strict=True)
    ]
    return {"columns": columns, "bars": bars, "mean": f"{mean:.3f}"}


def _matrix(path: Path) -> Content:
    (_, *names), *rows = _csv(path)
    counts = [[int(cell) for cell in row[1:]] for row in rows]
    square = len(counts) == len(names) and all(len(row) == len(names) for row in counts)
    if not square:
        raise ValueError(f"{path} is not square")
    if len(names) > MOST_CLASSES:
        raise _TooLargeError(f"{path.name} has {len(names):,} classes: too many for this page.")
    total = sum(map(sum, counts))
    right = sum(row[n] for n, row in enumerate(counts))
    finding = f"{right:,} of {total:,} are correct ({100 * right / max(total, 1):.1f} %)."
    mistakes = []
    for truth, row in enumerate(counts):
        mistakes += [(times, truth, guess) for guess, times in enumerate(row) if guess != truth]
    most = max((times for times, _, _ in mistakes), default=0)
    common = [(truth, guess) for times, truth, guess in mistakes if times == most]
    if most and len(common) == 1:  # what several pairs share is not the most common
        truth, guess = common[0]
        finding += f" Most common mistake: {names[truth]} → {names[guess]} ({most})."
    return {"matrix": {"names": names, "counts": counts}, "finding": finding}


_READ: Mapping[str, Callable[[Path], Content]] = {
    "figure": _figure,
    "table": _table,
    "photos": _photos,
    "bars": _bars,
    "matrix": _matrix,
}


def _csv(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return list(filter(None, csv.reader(lines)))


def _records(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, or the objects in a JSON file's list; raises `ValueError` for none."""
    if path.suffix.lower() == ".csv":
        names, *rows = _csv(path)
        records: list[dict[str, Any]] = [dict(zip(names, row, strict=False)) for row in rows]
        identifiers = {name for record in records for name in record if _holds_zeros(record[name])}
        for record in records:
            for name in record.keys() - identifiers:
                record[name] = _number(record[name])
    else:
        records = [dict(record) for record in files.parse_json(path.read_text("utf-8"))]
    if not records:
        raise ValueError(f"{path} has no rows")
    return records


def _holds_zeros(cell: str) -> bool:
    """Whether a cell begins with a zero, as 0012: it is an identifier, and so is 1200 below it."""
    return bool(re.match(r"-?0\d", cell))


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text.replace("_", "no digit"))  # Python reads 12_34 as a number
    return text


def _alike(cell: str) -> str:
    """A cell as people write it; fractions have three digits, as the scores beside them."""
    value = _number(cell)
    return f"{value:,.3f}" if isinstance(value, float) else written(value)


def _cell(value: object) -> Content:
    """A value as a page shows it: its picture, or its text and whether that is a number."""
    if isinstance(value, str) and _PICTURE.fullmatch(value):
        return {"picture": value, "text": "", "number": False}
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = safe_text.plain(written(value))
    return {"picture": "", "text": text, "number": number or text.endswith(" %")}


def written(value: object) -> str:
    """A value as people write it: four digits, counts with commas."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def texts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values by their names, as people write them."""
    return [(name, safe_text.plain(written(value))) for name, value in values.items()]
