"""An executed notebook as HTML for a report: code folded away, nothing in it that runs."""

import itertools
import re
from pathlib import Path
from typing import Any

import nbformat

from kernelkit.notebook import document
from kernelkit.notebook.document import INJECTED_TAG, PARAMETERS_TAG
from kernelkit.terminal import safe_text

ERROR_CELL_TAG = "papermill-error-cell-tag"
# of cells that hold a bundle's files, or the parameters, which the page shows itself
HIDDEN_TAGS = ("bundle", ERROR_CELL_TAG, INJECTED_TAG, PARAMETERS_TAG)
LONGEST_TEXT, MOST_COLOURS = 500_000, 5_000  # characters, escapes: of one output in a page
LONGEST_MARKDOWN = 20_000  # of an output: mistune's time grows with the square of some
MOST_OUTPUTS = 1_000  # of one cell
# of outputs that a page can show
_KINDS = "text/html text/markdown text/latex text/plain image/svg+xml image/png image/jpeg"
KINDS = frozenset(_KINDS.split())
WIDGET = "application/vnd.jupyter.widget-view+json"
_PROGRESS = re.compile(r"\[\d\d:\d\d[<,]")  # of a bar by tqdm
WHOLE = "the executed notebook has all of it"
# Python's text for an object without one of its own, in one line
_OBJECT = re.compile(r"<[^\n]*\b(?:object|at 0x[0-9a-fA-F]+)[^\n]*>")


def body(notebook: nbformat.NotebookNode, folder: Path) -> str:
    """The HTML of an executed notebook's cells, code folded away.

    `folder`: where the pictures lie that the notebook's text shows. Nothing that the notebook
    or its outputs bring runs in the page, or loads anything from elsewhere.
    """
    from kernelkit.pages.cells.exporter import Exporter

    # Other metadata could reach the page's markup.
    shown = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    shown.cells = [_shown_cell(cell) for cell in notebook.cells if not is_hidden(cell)]
    resources = {"metadata": {"path": str(folder)}}
    page, _ = Exporter().from_notebook_node(shown, resources=resources)
    return str(page)


def is_hidden(cell: nbformat.NotebookNode) -> bool:
    """Whether a page leaves a cell out."""
    return any(tag in HIDDEN_TAGS for tag in document.tags(cell))


def _shown_cell(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The cell for a page: long texts are cut, and of a terminal's sequences only colours stay."""
    cell = cell.copy()
    cell.metadata = nbformat.from_dict({"tags": document.tags(cell)})
    cell.source = _short(cell.source)
    if "outputs" in cell:
        # Only streams have names. A log is thousands of them, each a part of a line.
        parts = itertools.groupby(cell.outputs, lambda output: output.get("name", id(output)))
        shown = (_shown_output(list(group)) for _, group in parts)
        cell.outputs = _ends_of([output for output in shown if not _is_empty(output)])
    return cell


def _ends_of(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Of very many outputs the first and the last ones."""
    if len(outputs) <= MOST_OUTPUTS:
        return outputs
    half = MOST_OUTPUTS // 2
    words = f"… {len(outputs) - 2 * half:,} outputs: {WHOLE} …\n"
    note = nbformat.v4.new_output("stream", text=words)
    return [*outputs[:half], note, *outputs[-half:]]


def _is_empty(output: nbformat.NotebookNode) -> bool:
    if output.output_type == "stream":
        return not output.text.strip()
    return output.output_type != "error" and not any(output.data.values())


def _shown_output(parts: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    output = parts[0].copy()
    if output.output_type == "stream":
        text = "".join(part.text for part in parts)
        if output.name == "stderr":  # without the diagnostics of C++ libraries
            lines = text.splitlines(keepends=True)
            text = "".join(line for line in lines if not safe_text.note_level(line))
        output.text = _short(text)
    elif output.output_type == "error":
        output.traceback = [_short("\n".join(map(str, output.traceback)))]
    else:
        output.data = nbformat.from_dict(_shown_data(output.data))
    return output


def _shown_data(data: dict[str, Any]) -> dict[str, Any]:
    """The forms of an output from which the page takes the best that it can show."""
    from kernelkit.pages.cells import safe_html

    if "text/plain" in data:
        data = data | {"text/plain": _short(data["text/plain"])}
    plain = data.get("text/plain", "").strip()
    if WIDGET in data and _PROGRESS.search(plain):
        return {}  # its text is that of the beginning, and of its end nobody needs one
    says_nothing = not plain or _OBJECT.fullmatch(plain) is not None
    if not says_nothing and safe_html.shows_less(str(data.get("text/html", ""))):
        del data["text/html"]
    others = data.keys() - {"text/plain"}
    if others and not others & KINDS and says_nothing:
        return {"text/plain": f"{', '.join(sorted(others))}: {WHOLE}"}
    if len(data.get("text/markdown", "")) > LONGEST_MARKDOWN:
        data = data | {"text/plain": _short(data["text/markdown"])}
        del data["text/markdown"]
    return {kind: value for kind, value in data.items() if kind != WIDGET}


def _short(text: str) -> str:
    # nbconvert's time grows with the square of the number of colours: too many are removed.
    colours = text.count("\x1b") <= MOST_COLOURS
    return safe_text.plain(safe_text.excerpt(text, LONGEST_TEXT, WHOLE), colours=colours)
