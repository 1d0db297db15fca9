"""Notebooks as files: read either half of a jupytext pair, find the parameters cell.

The `.py` (py:percent) is the source of truth; the `.ipynb` beside it is what Kaggle and
Jupyter open. Everything here takes either.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit.errors import NotebookError

if TYPE_CHECKING:  # takes most of a second to import, which no tool's --help should wait for
    import nbformat

PARAMETERS_TAG = "parameters"
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook at `path`, from its `.py` or its `.ipynb`, always with a kernelspec.

    Raises `NotebookError` when there is no such file or it is not a notebook.
    """
    path = Path(path)
    if not path.is_file():
        raise NotebookError(f"no notebook at {path}{_others_in(path.parent)}")
    if path.suffix not in (".py", ".ipynb"):
        raise NotebookError(f"{path} is not a notebook: a .py (py:percent) or .ipynb is needed")
    try:
        if path.suffix == ".py":
            import jupytext

            notebook = jupytext.read(path)
        else:  # without jupytext, which Kaggle's images lack
            import nbformat

            notebook = nbformat.read(path, as_version=4)
    except Exception as error:  # jupytext and nbformat raise a dozen kinds
        raise NotebookError(f"{path} cannot be read as a notebook: {error}") from None
    for cell in notebook.cells:
        if "tags" in cell.metadata:  # papermill does not bear a null there
            cell.metadata["tags"] = tags(cell)
    notebook.metadata["kernelspec"] = dict(KERNELSPEC)
    return notebook


def _others_in(folder: Path) -> str:
    found = sorted(p.name for p in folder.glob("*.ipynb")) if folder.is_dir() else []
    return f"; {folder} holds {', '.join(found)}" if found else ""


def tags(cell: Mapping[str, Any]) -> list[str]:
    """The cell's tags; none where its metadata holds no list of them."""
    metadata = cell.get("metadata")
    found = metadata.get("tags") if isinstance(metadata, Mapping) else None
    return [tag for tag in found if isinstance(tag, str)] if isinstance(found, list) else []


def has_tag(cell: Mapping[str, Any], tag: str) -> bool:
    """Whether the cell carries the tag."""
    return tag in tags(cell)


def parameters_cell(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The one code cell tagged `parameters`; raises `NotebookError` unless there is exactly one."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and has_tag(c, PARAMETERS_TAG)]
    if not cells:
        raise NotebookError(
            "the notebook has no cell tagged 'parameters': begin one with "
            '`# %% tags=["parameters"]` in the .py, or add the tag in Jupyter'
        )
    if len(cells) > 1:
        raise NotebookError(f"the notebook has {len(cells)} cells tagged 'parameters': keep one")
    return cells[0]


def strip(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy without outputs, counts, cell ids' randomness and traces of where it was written."""
    import nbformat

    clean = nbformat.v4.new_notebook(metadata={"kernelspec": dict(KERNELSPEC)})
    for number, cell in enumerate(notebook.cells):
        metadata = {"tags": tags(cell)} if tags(cell) else {}
        make = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")
        clean.cells.append(make(cell.source, metadata=metadata, id=f"cell-{number:02d}"))
    return clean
