"""The page of a sweep: one file that opens from disk, with table, filters, curves, pictures."""

from __future__ import annotations

import html
import json
from pathlib import Path

from kernelkit import files
from kernelkit.sweep.store import results
from kernelkit.sweep.store.results import ResultTable

TEMPLATE = Path(__file__).parent / "page"


def write(path: Path, table: ResultTable) -> Path:
    """Write the page of a table to `path`, whole or not at all."""
    return files.write_text(path, render(table))


def render(table: ResultTable) -> str:
    """The page's HTML, with style, script and data inside it and nothing to fetch."""
    shell = (TEMPLATE / "page.html").read_text(encoding="utf-8")
    # "</" would end the script element, wherever in a string it stands, and "<!--" its reading.
    data = json.dumps(_finite(results.as_json(table))).replace("<", "\\u003c")
    parts = {
        "{{title}}": html.escape(table.name),
        "{{style}}": (TEMPLATE / "page.css").read_text(encoding="utf-8"),
        "{{script}}": (TEMPLATE / "page.js").read_text(encoding="utf-8"),
        "{{data}}": data,
    }
    for mark, text in parts.items():
        shell = shell.replace(mark, text, 1)
    return shell


def _finite(value: object) -> object:
    """The same with nan and infinities as null, which JSON in a browser cannot hold."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
