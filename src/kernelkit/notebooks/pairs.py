"""The two halves of a Jupytext pair, compared cell by cell as Jupytext reads them."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import Any

from kernelkit.notebooks.document import PARAMETERS_TAG, cell_source, has_tag, read, read_json


def text_half(notebook: Path) -> Path | None:
    """The `.py` that a notebook is paired with, or None.

    A `.py` of the same name is the other half if it has a Jupytext header or `# %%` cells; any
    other script of that name is not.
    """
    script = notebook.with_suffix(".py")
    if notebook.suffix != ".ipynb" or not script.is_file():
        return None
    lines = script.read_text(encoding="utf-8", errors="replace").splitlines()
    paired = any(line.startswith(("# jupyter:", "# %%")) for line in lines)
    return script if paired else None


def difference(notebook: Path) -> str:
    """A sentence with the first difference between a notebook and its `.py`; empty if none.

    Cells are compared in order: their kind, their source with magics but without trailing blank
    lines, and the `parameters` tag. Raises `NotebookError` for a half that cannot be read.
    """
    script = text_half(notebook)
    if script is None:
        return ""
    halves = itertools.zip_longest(read(script)["cells"], read_json(notebook)["cells"])
    contents = (tuple(map(_content, cells)) for cells in halves)
    for number, (in_text, in_notebook) in enumerate(contents, start=1):
        if in_text != in_notebook:
            return (
                f"{notebook.name} and {script.name} differ from cell {number} on. To keep what the "
                f".py holds: `jupytext --to ipynb --update {shlex.quote(str(script))}`; what the "
                f"notebook holds: `jupytext --to py:percent {shlex.quote(str(notebook))}`; if both "
                "were edited, copy one half to another name first, and merge by hand"
            )
    return ""


def _content(cell: Any) -> tuple[str, str, bool] | None:
    if cell is None:
        return None
    lines = [line.rstrip() for line in cell_source(cell).rstrip().splitlines()]
    return str(cell["cell_type"]), "\n".join(lines), has_tag(cell, PARAMETERS_TAG)
