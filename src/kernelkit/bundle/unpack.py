"""A pushed bundle read back from its text: the files that it carries, and the notebook's own cells.

Nothing of it is run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from kernelkit.errors import NotebookError
from kernelkit.notebooks.document import INJECTED_TAG, SCRIPT_BEGINS, cell_source, tags

FOLDED_TAG = "bundle"  # of the cells that a push adds
FIRST = "# Pushed by kernelkit."


class OwnCell(NamedTuple):
    """A cell that the notebook had before it was pushed."""

    kind: str
    source: str
    tags: tuple[str, ...]


def carried(text: str) -> dict[str, str]:
    """{path: text} of the files that a bundle's cells write.

    Raises `NotebookError` for a text that no push made, or a folded cell that is not Python.
    """
    files: dict[str, str] = {}
    for source in _folded(text):
        try:
            files |= dict(_files(ast.parse(source)))
        except (SyntaxError, ValueError):
            raise NotebookError(
                "a folded cell of that version is not Python: see it there"
            ) from None
    return files


def own_cells(text: str) -> list[OwnCell]:
    """The notebook's own cells, without the one that holds a push's parameters."""
    own = []
    for cell in _notebook(text):
        source, labels = cell_source(cell), tags(cell)
        if not {FOLDED_TAG, INJECTED_TAG} & {*labels} and not source.startswith(FIRST):
            own.append(OwnCell(str(cell["cell_type"]), source, tuple(labels)))
    return own


def own_script(text: str) -> str:
    """What stands after the part of a script that the push carried."""
    _, mark, own = text.partition(f"{SCRIPT_BEGINS}\n")
    if not mark:
        raise NotebookError("that version was not pushed by kernelkit, or its mark was removed")
    return own


def _folded(text: str) -> list[str]:
    if not text.startswith("{"):
        return [text.partition(SCRIPT_BEGINS)[0]]
    cells = _notebook(text)
    return [cell_source(cell) for cell in cells if FOLDED_TAG in tags(cell)]


def _notebook(text: str) -> list[dict[str, Any]]:
    try:
        cells = json.loads(text)["cells"]
        for cell in cells:
            str(cell["cell_type"]), cell_source(cell)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotebookError("that version is not a notebook of Jupyter's fourth format") from None
    return list(cells)


def _files(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The arguments of the calls that write files: the path, and the text after its first line."""
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and ast.unparse(call.func) == "_carry"
            and len(call.args) == 3
        ):
            path, _, text = call.args
            inner = text.value if isinstance(text, ast.Subscript) else text
            yield ast.literal_eval(path), str(ast.literal_eval(inner)).removeprefix("\n")
