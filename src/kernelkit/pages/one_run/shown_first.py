"""What a report shows before the notebook: its pictures and tables, each with its heading.

A picture stands in the page once; where the notebook showed it, the page's script shows it again.
"""

import base64
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import nbformat

from kernelkit import files
from kernelkit.pages.cells import notebook_html, safe_html
from kernelkit.pages.shared.sections import PICTURES, Content
from kernelkit.terminal import safe_text

CAPTIONS = "figures.json"  # of a run: {a figure's file: {"caption", "text" for who cannot see it}}
NUMBER = "kernelkit_picture"  # in an output's metadata: the picture that it shows
MOST_PICTURES, MOST_TABLES = 24, 12  # unfolded
MOST_FILES = 100  # pictures of a run's folder
LARGEST_FILE = 4_000_000  # bytes
LONGEST_TABLE, LONGEST_TABLES = 60_000, 600_000  # characters of one, and of all
LONGEST_HEADING, LONGEST_MARKDOWN = 200, 100_000
DRAWING = "data:image/svg+xml"  # begins the address of a drawing, which has no thumbnail
# In Markdown, and as HTML in Markdown.
_HEADING = re.compile(
    r"(?m)^ {0,3}#{1,6}[ \t]+(?P<marked>[^\n]{1,500})$"
    r"|<h[1-6]\b[^<>]{0,500}>(?P<tagged>(?s:.{0,500}?))</h[1-6]\s*>"
)
_FENCES = ("```", "~~~")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_TAG = re.compile(r"<[^<>]*>")
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


Headed = TypeVar("Headed", Picture, ShownTable)


@dataclass(frozen=True)
class First:
    """What stands before a notebook; `stands_for_it` is the address of the picture that stands for
    the run, "" without one."""

    pictures: Sequence[Picture]
    tables: Sequence[ShownTable]
    stands_for_it: str


def chosen(
    notebook: nbformat.NotebookNode,
    folder: Path,
    left: Sequence[Path],
    parts: Sequence[Content],
    *,
    own_parts: bool,
) -> First:
    """What stands before a notebook: the pictures and tables that it shows.

    own_parts  whether the run has parts of its own, which are `parts` and curves: then these stand
               there, and nothing of the notebook
    left       the run's files, whose pictures stand there where there are no `parts` and the
               notebook shows no picture

    The first picture of the parts stands for the run, or else the last that the notebook shows or
    the run left.
    """
    pictures, tables = of_notebook(notebook, numbered=not own_parts)
    drawn = [each for each in pictures if not each.source.startswith(DRAWING)]
    in_files = [] if drawn else of_files(folder, left)
    sources = [str(part["picture"]) for part in parts if "picture" in part][:1]
    sources += [each.source for each in (drawn or in_files)[-1:]]
    before: list[Picture] = []
    if not pictures and not parts:
        before = in_files
    elif not own_parts:
        before = pictures
    return First(
        pictures=list(by_heading(before)),
        tables=[] if own_parts else list(by_heading(tables)),
        stands_for_it=next(iter(sources), ""),
    )


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
            heading = _last_heading(cell.source) or heading
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


def by_heading(shown: Iterable[Headed]) -> Iterator[Headed]:
    """The pictures, or the tables, of which only the first below a heading has it."""
    before = ""
    for one in shown:
        yield replace(one, heading="") if one.heading == before else one
        before = one.heading


def _last_heading(source: str) -> str:
    """The last heading in a cell of Markdown as plain text; "" if it has none."""
    lines = []
    is_code = False
    for line in source[:LONGEST_MARKDOWN].split("\n"):
        if line.lstrip().startswith(_FENCES):
            is_code = not is_code
        elif not is_code:
            lines.append(line)
    for match in reversed(list(_HEADING.finditer("\n".join(lines)))):
        text = _TAG.sub("", match["marked"] or match["tagged"] or "")
        text = _LINK.sub(r"\1", html.unescape(text)).replace("**", "").replace("`", "")
        text = " ".join(safe_text.plain(text).split()).strip("*_# ")
        if text:
            return text[:LONGEST_HEADING]
    return ""


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
