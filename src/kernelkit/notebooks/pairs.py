"""The two halves of a Jupytext pair, compared cell by cell as Jupytext reads them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kernelkit.errors import NotebookError
from kernelkit.files import git
from kernelkit.notebooks.document import cell_source, has_tag, read_json

SHOWN_CHARACTERS = 60
Side = Literal["text", "notebook", "both", ""]  # the edited halves of a pair; "": unknown


@dataclass(frozen=True)
class Difference:
    """The first difference of a pair: `cell` counts from 1, the sources may be None."""

    cell: int
    in_text: str | None
    in_notebook: str | None
    edited: Side


def text_half(notebook: Path) -> Path | None:
    """The `.py` that a notebook is paired with, or None.

    A `.py` of the same name is the other half if it has a Jupytext header or `# %%` cells; any
    other script of that name is not.
    """
    script = notebook.with_suffix(".py")
    if notebook.suffix != ".ipynb" or not script.is_file():
        return None
    lines = script.read_text(encoding="utf-8", errors="replace").splitlines()
    header = (
        lines[: lines.index("# ---", 1)] if lines[:1] == ["# ---"] and "# ---" in lines[1:] else []
    )
    paired = "# jupyter:" in header or any(line.startswith("# %%") for line in lines)
    return script if paired else None


def difference(notebook: Path) -> Difference | None:
    """The first difference between a notebook and its `.py`; or None.

    Cells are compared in order: their kind, their source with magics but without trailing blank
    lines, and the `parameters` tag. Raises `NotebookError` for a half that cannot be read.
    """
    script = text_half(notebook)
    if script is None:
        return None
    text, cells = _read_text(script), read_json(notebook)["cells"]
    for number in range(max(len(text), len(cells))):
        halves = [half[number] if number < len(half) else None for half in (text, cells)]
        if _content(halves[0]) != _content(halves[1]):
            in_text, in_notebook = (cell and cell_source(cell) for cell in halves)
            return Difference(number + 1, in_text, in_notebook, _edited(script, notebook))
    return None


def advice(notebook: Path, place: Difference) -> str:
    """One sentence about a difference, with a command that loses no edits."""
    script = notebook.with_suffix(".py")
    where = f"{notebook.name} and {script.name} differ from cell {place.cell} on ({_shown(place)})"
    from_text = f"`jupytext --to ipynb --update {shlex.quote(str(script))}`"
    from_notebook = f"`jupytext --to py:percent {shlex.quote(str(notebook))}`"
    if place.edited == "text":
        return f"{where}: the .py was edited; update the notebook with {from_text}"
    if place.edited == "notebook":
        return f"{where}: the notebook was edited; update the .py with {from_notebook}"
    edits = "both were edited" if place.edited == "both" else "git does not know which was edited"
    return (
        f"{where}, and {edits}: copy one half to another name, then keep the .py's cells with "
        f"{from_text}, or the notebook's with {from_notebook}, and merge the copy by hand"
    )


def _read_text(script: Path) -> Sequence[Any]:
    import jupytext  # takes most of a second

    try:
        return list(jupytext.read(script).cells)
    except Exception as error:  # jupytext and nbformat raise a dozen kinds
        raise NotebookError(f"{script} cannot be read as a notebook: {error}") from None


def _content(cell: Any) -> tuple[str, str, bool] | None:
    if cell is None:
        return None
    lines = [line.rstrip() for line in cell_source(cell).rstrip().splitlines()]
    return str(cell["cell_type"]), "\n".join(lines), has_tag(cell, "parameters")


def _edited(script: Path, notebook: Path) -> Side:
    """Which half differs from the last commit, in which the two matched."""
    changed = [_changed(half) for half in (script, notebook)]
    if None in changed:
        return ""
    if all(changed):
        return "both"
    return "text" if changed[0] else "notebook" if changed[1] else ""


def _changed(path: Path) -> bool | None:
    """Whether a file differs from the last commit; None if git does not track it."""
    status = git(path.parent, "status", "--porcelain", "--ignored", "--", path.name)
    if status is None or status.startswith(("??", "!!", "A")):
        return None
    return bool(status.strip())


def _shown(place: Difference) -> str:
    texts = []
    for name, source in ((".py", place.in_text), (".ipynb", place.in_notebook)):
        first = "no such cell" if source is None else next(iter(source.strip().splitlines()), "")
        short = first if len(first) <= SHOWN_CHARACTERS else first[: SHOWN_CHARACTERS - 1] + "…"
        texts.append(f"{name}: {short or 'empty'}")
    return "; ".join(texts)
