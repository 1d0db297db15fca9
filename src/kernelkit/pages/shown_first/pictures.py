"""The pictures and tables that a notebook shows, and the pictures that its run left.

Each has the heading above it. A picture stands in the page once; where the notebook showed it, the
page's script shows it again.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files
from kernelkit.pages.cells import notebook_html, safe_html
from kernelkit.pages.shared.sections import PICTURES
from kernelkit.pages.shown_first.headings import LONGEST_HEADING, last_heading
from kernelkit.terminal import safe_text

CAPTIONS = "figures.json"  # of a run: {a figure's file: {"caption", "text" for who cannot see it}}
NUMBER = "kernelkit_picture"  # in an output's metadata: the picture that it shows
MOST_FILES = 100  # pictures of a run's folder
LARGEST_FILE = 4_000_000  # bytes
LONGEST_TABLE, LONGEST_TABLES = 60_000, 600_000  # characters of one, and of all
_ID = re.compile(r'\sid="[^"]*"')
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")


@dataclass(frozen=True)
class Picture:
    """A picture of a page: its `data:` address, the heading above it, and what describes it.

    `number` is its place among those that the notebook shows; 0 for a file's.
    """

    source: str
    heading: str = ""
    caption: str = ""
    text: str = ""
    number: int = 0


@dataclass(frozen=True)
class ShownTable:
    """A table that the notebook showed, as harmless HTML, with the heading above it."""

    html: str
    heading: str = ""


def of_notebook(
    notebook: nbformat.NotebookNode, *, numbered: bool = True
) -> tuple[list[Picture], list[ShownTable]]:
    """The pictures and the tables that an executed notebook shows, from top to bottom.

    `numbered`: the metadata of each output that is such a picture get its `NUMBER`, so that the
    notebook's HTML refers to it.
    """
    pictures: list[Picture] = []
    tables: list[ShownTable] = []
    heading = ""
    length = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = last_heading(cell.source) or heading
        if notebook_html.is_hidden(cell):
            continue
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            output.get("metadata", {}).pop(NUMBER, None)
            html = str(data.get("text/html", ""))
            source = "" if "text/html" in data else _source(data)
            if source:
                if numbered:
                    output.metadata[NUMBER] = len(pictures) + 1
                text = _described(data)
                pictures.append(Picture(source, heading, text=text, number=len(pictures) + 1))
            elif "<table" in html and length < LONGEST_TABLES and not safe_html.shows_less(html):
                table = _ID.sub("", safe_html.clean(html))
                if "<table" in table and len(table) <= LONGEST_TABLE:
                    tables.append(ShownTable(table, heading))
                    length += len(table)
    return pictures, tables


def of_files(folder: Path, left: Sequence[Path]) -> list[Picture]:
    """The pictures among the files `left` in a run's folder: those with captions first, in the
    order drawn."""
    captions = files.read_object(folder / CAPTIONS)
    own = [path for path in left if path.suffix.lower() in PICTURES]
    pictures: list[Picture] = []
    for path in dict.fromkeys([*(folder / name for name in captions), *own]):
        if path not in own or path.stat().st_size > LARGEST_FILE:
            continue
        if len(pictures) == MOST_FILES:
            break
        kind = PICTURES[path.suffix.lower()]
        encoded = base64.b64encode(path.read_bytes()).decode()
        texts = captions.get(path.relative_to(folder).as_posix())
        texts = texts if isinstance(texts, dict) else {}  # as the run wrote them
        name = safe_text.plain(path.relative_to(folder).as_posix())
        caption = safe_text.plain(str(texts.get("caption", "")))
        text = safe_text.plain(str(texts.get("text", "")))
        source = f"data:image/{kind};base64,{encoded}"
        pictures.append(Picture(source, name, caption, text or caption or name))
    return pictures


def _source(data: dict[str, Any]) -> str:
    """The `data:` address of an output that is a picture; "" for another."""
    drawing = data.get("image/svg+xml")
    if isinstance(drawing, str) and drawing:
        encoded = base64.b64encode(drawing.encode("utf-8", "replace")).decode()
        return f"data:image/svg+xml;base64,{encoded}"
    for kind in ("image/png", "image/jpeg"):
        encoded = str(data.get(kind) or "")
        if encoded and _BASE64.fullmatch(encoded):
            return f"data:{kind};base64,{''.join(encoded.split())}"
    return ""


def _described(data: dict[str, Any]) -> str:
    """What an output says of its picture; "" for matplotlib's "<Figure size 640x480 …>"."""
    text = safe_text.plain(str(data.get("text/plain", ""))).strip()
    return "" if text.startswith("<") else text[:LONGEST_HEADING]
