"""The packages that a notebook imports and Kaggle's image has, and this Python lacks."""

import nbformat

from kernelkit import image
from kernelkit.notebook.code.reading import Program


def what_to_do(content: nbformat.NotebookNode) -> str:
    """How to get all of them, in one sentence; "" if none is lacking."""
    cells = [(cell.cell_type, cell.source) for cell in content.cells if cell.cell_type == "code"]
    missing = image.missing_here(Program.of(cells, cells=True).needed)
    return image.how_to_get(missing) if missing else ""
