"""A pushed bundle, read back from its text without running any of it."""

from typing import Any

from kernelkit import files
from kernelkit.errors import NotebookError
from kernelkit.notebook import document, scripts
from kernelkit.notebook.code.reading import read
from kernelkit.notebook.document import Cell, cell_source, tags
from kernelkit.push.added.added_cells import FIRST
from kernelkit.push.bundle.build import FOLDED_TAG


def bundled_files(text: str) -> dict[str, str]:
    """{path: text} of the files that a bundle's cells write, but for the kit's own.

    There are none in a notebook that no push made. Raises `NotebookError` for JSON that is no
    notebook, and for a folded cell that is not Python.
    """
    if text.startswith("{"):
        folded = [cell_source(cell) for cell in _cells(text) if FOLDED_TAG in tags(cell)]
    else:
        folded = [text.partition(scripts.BEGINS)[0]]
    found = {}
    for source in folded:
        reading = read(source, cell=False)
        if reading.problem:
            raise NotebookError("a folded cell of that version is not Python: see it there")
        for call in reading.calls:
            match call.name, call.arguments:
                case "_carry", [str(path), _, str(content)]:
                    found[path] = content
    return found


def own_cells(text: str) -> list[Cell]:
    """The cells that the notebook had before it was pushed.

    Raises `NotebookError` for a text that is no notebook.
    """
    own = []
    for cell in document.own_cells(_cells(text)):
        if FOLDED_TAG not in cell.tags and not cell.source.startswith(FIRST):
            own.append(cell)
    return own


def own_script(text: str) -> str:
    """A script as it was before it was pushed: what stands after the part that a push adds.

    Raises `NotebookError` for a version that the kit did not push.
    """
    _, mark, own = text.partition(f"{scripts.BEGINS}\n")
    if not mark:
        raise NotebookError("that version was not pushed by kernelkit, or its mark was removed")
    return own


def _cells(text: str) -> list[dict[str, Any]]:
    try:
        cells = files.parse_json(text)["cells"]
        for cell in cells:
            str(cell["cell_type"]), cell_source(cell)
    except (ValueError, KeyError, TypeError):
        raise NotebookError("that version is not a notebook of Jupyter's fourth format") from None
    return list(cells)
