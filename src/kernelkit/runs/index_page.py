"""A page over all runs: one HTML file, sortable and filterable, that needs no network."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kernelkit import files, project
from kernelkit.project import Shown
from kernelkit.runs import run_folder
from kernelkit.runs.notebook_html import TEMPLATES

DEPTH = 2  # runs/NAME and runs/SWEEP/NAME; deeper lie a rehearsal's own files
_LEFT_BY_A_RUN = (run_folder.METRICS, *run_folder.EXECUTED)


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and what it is sorted by."""

    text: str
    key: str | float = ""
    link: str = ""
    note: str = ""


def is_run(folder: Path) -> bool:
    """Whether the folder holds what a run leaves."""
    return any((folder / n).is_file() for n in _LEFT_BY_A_RUN)


def runs_under(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the paths and up to two levels below them, sorted."""
    found: set[Path] = set()
    for path in paths:
        level = [path]
        for _ in range(DEPTH + 1):
            found.update(folder for folder in level if is_run(folder))
            level = [c for folder in level for c in folder.iterdir()
                     if c.is_dir() and not c.name.startswith(".")]  # fmt: skip
    return sorted(found)


def write(folders: Sequence[Path], page: Path) -> Path:
    """Write the page over these run folders, newest first; links are relative to it.

    A run whose metrics cannot be read is listed as such. Returns `page`.
    """
    shown = project.shown(page.parent)
    rows = [row(folder, page.parent, shown) for folder in folders]
    return files.write_text(page, render(rows, shown.measures.get(shown.score, shown.score)))


def row(folder: Path, base: Path, shown: Shown) -> dict[str, Cell]:
    """A run's cells by column; `base` is the folder that links start from."""
    found = run_folder.metrics(folder)
    metrics: Mapping[str, Any] = found or {}
    report = run_folder.report_place(folder)
    link = ""
    if report.is_file():
        link = quote(os.path.relpath(report.resolve(), base.resolve()).replace(os.sep, "/"))
    when = max(
        (p.stat().st_mtime for p in folder.iterdir() if p.name in _LEFT_BY_A_RUN), default=0.0
    )
    name = os.path.relpath(folder.resolve(), base.resolve())
    label = folder.resolve().name if name == "." else name
    set_to = _part(metrics, "parameters")
    measures = dict.fromkeys([shown.score, *list(shown.measures)[: run_folder.IN_A_LINE]])
    return {
        "run": Cell(label, name, link, note="" if found else _without(folder)),
        "when": Cell(time.strftime("%Y-%m-%d %H:%M", time.localtime(when)), when),
        **{one.replace("_", " "): _text(set_to.get(one)) for one in shown.parameters},
        **{shown.measures.get(one, one): _number(one, metrics.get(one)) for one in measures if one},
        "device": _text(_device(_part(metrics, "device"))),
        "validated on": _text(_data(_part(metrics, "data"))),
    }


def _without(folder: Path) -> str:
    there = (folder / run_folder.METRICS).is_file()
    return "metrics.json cannot be read" if there else "no metrics.json"


def _part(metrics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = metrics.get(name)
    return part if isinstance(part, Mapping) else {}


def _data(data: Mapping[str, Any]) -> str:
    images = data.get("val")
    message = Path(str(data.get("source", ""))).name
    return f"{message} ({images:,} val)" if isinstance(images, int) else message


def _device(device: Mapping[str, Any]) -> str:
    message = str(device.get("name") or device.get("kind") or "")
    replicas = device.get("replicas", 1)
    message += f" × {replicas}" if isinstance(replicas, int) and replicas > 1 else ""
    return message + (" (rehearsal)" if device.get("rehearsal") else "")


def _text(value: object) -> Cell:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Cell(str(value), float(value))
    return Cell("" if value is None else str(value), "" if value is None else str(value))


def _number(name: str, value: object) -> Cell:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return Cell("")
    large = name == "seconds" or "per_second" in name or isinstance(value, int)
    return Cell(f"{value:,.0f}" if large else f"{value:.4f}", float(value))


def render(rows: Sequence[Mapping[str, Cell]], score: str = "") -> str:
    """The page's HTML; columns that are empty in all rows are left out.

    Marked is the best `score` (a column's name) of those that were validated on the same data.
    """
    rows = sorted(rows, key=lambda cells: -float(cells["when"].key or 0))
    columns = [n for n in (rows[0] if rows else ()) if any(cells[n].text for cells in rows)]
    best: dict[str, float] = {}
    scored = [cells for cells in rows if score and cells[score].text]
    for cells in scored:
        data = cells["validated on"].text
        best[data] = max(best.get(data, -math.inf), float(cells[score].key))
    head = "".join(f'<th><button type="button">{escape(name)}</button></th>' for name in columns)
    body = "\n".join(
        _line(
            cells,
            columns,
            cells in scored and cells[score].key == best[cells["validated on"].text],
        )
        for cells in rows
    )
    style = (TEMPLATES / "report" / "style.css").read_text(encoding="utf-8")
    return (
        (TEMPLATES / "index" / "page.html").read_text(encoding="utf-8")
        .replace("{{style}}", style)
        .replace("{{count}}", f"{len(rows):,} run" + "s" * (len(rows) != 1))
        .replace("{{head}}", head)
        .replace("{{body}}", body)
    )  # fmt: skip


def _line(cells: Mapping[str, Cell], columns: Sequence[str], best: bool) -> str:
    marked = ' class="best"' if best else ""
    return f"<tr{marked}>" + "".join(_cell(cells[name]) for name in columns) + "</tr>"


def _cell(cell: Cell) -> str:
    number = ' class="number"' if isinstance(cell.key, float) else ""
    text = escape(cell.text)
    shown = f'<a href="{escape(cell.link)}">{text}</a>' if cell.link else text
    shown += f"<br><small>{escape(cell.note)}</small>" if cell.note else ""
    return f'<td{number} data-key="{escape(str(cell.key))}">{shown}</td>'
