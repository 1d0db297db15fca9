"""An executed notebook as HTML for a report: code folded away, nothing in it that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from kernelkit.errors import NotebookError
from kernelkit.notebooks import document, parameters
from kernelkit.notebooks.document import INJECTED_TAG, PARAMETERS_TAG, has_tag
from kernelkit.run_folders.excerpts import excerpt
from kernelkit.terminal import safe_text

TEMPLATES = Path(__file__).parent / "templates"
ERROR_CELL_TAG = "papermill-error-cell-tag"
HIDDEN_TAGS = ("bundle", ERROR_CELL_TAG, INJECTED_TAG, PARAMETERS_TAG)
LONGEST_TEXT, MOST_COLOURS = 500_000, 5_000  # characters, escapes: of one output in a page
LONGEST_FAILURE = 2_000
LONGEST_PICTURE = 14_000_000  # characters, which are 10 MB
WHOLE = "the executed notebook has all of it"
_TITLE = re.compile(r"^#\s+(.+?)\s*$", re.MULTILINE)


def body(notebook: nbformat.NotebookNode, folder: Path | None = None) -> str:
    """The HTML of an executed notebook's cells, code folded away.

    `folder`: where the pictures lie that the notebook's text shows. Nothing that the notebook
    or its outputs bring runs in the page, or loads anything from elsewhere.
    """
    import nbconvert
    from traitlets.config import Config

    from kernelkit.reports import safe_html

    # Other metadata could reach the page's markup.
    kept = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    kept.cells = [_shown_cell(cell) for cell in notebook.cells if not _is_machinery(cell)]
    exporter = nbconvert.HTMLExporter(
        config=Config(
            {
                "HTMLExporter": {
                    "extra_template_basedirs": [str(TEMPLATES)],
                    "template_name": "notebook",
                    "embed_images": folder is not None,
                    "sanitize_html": True,
                    "mathjax_url": "",
                    "require_js_url": "",
                }
            }
        ),
        filters={"clean_html": safe_html.clean},
    )
    where = {"path": "" if folder is None else str(folder)}
    page, _ = exporter.from_notebook_node(kept, resources={"metadata": where})
    return str(page)


def _is_machinery(cell: nbformat.NotebookNode) -> bool:
    """Whether the page leaves the cell out: it holds the bundle's files, or the parameters."""
    return any(tag in HIDDEN_TAGS for tag in document.tags(cell))


def _shown_cell(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The cell for a page: long texts are cut, and of a terminal's sequences colours alone stay."""
    cell = cell.copy()
    cell.metadata = nbformat.from_dict({"tags": document.tags(cell)})
    cell.source = _short(cell.source)
    if "outputs" in cell:
        cell.outputs = [_shown_output(output.copy()) for output in cell.outputs]
    return cell


def _shown_output(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if output.output_type == "stream":
        output.text = _short(output.text)
    elif output.output_type == "error":
        output.traceback = [_short("\n".join(map(str, output.traceback)))]
    else:
        output.data = nbformat.from_dict(
            {kind: _shown_data(kind, held) for kind, held in output.data.items()}
        )
        for kind in [k for k in output.data if k.startswith("image/")]:
            if len(str(output.data[kind])) > LONGEST_PICTURE:
                size = len(output.data.pop(kind)) * 3 // 4
                output.data["text/plain"] = (
                    f"[a picture of {size / 1e6:.0f} MB, too large for a report: {WHOLE}]"
                )
    return output


def _shown_data(kind: str, held: Any) -> Any:
    return _short(held) if kind == "text/plain" else held


def _short(text: str) -> str:
    # nbconvert's time grows with the square of the number of colours: too many are removed.
    colours = text.count("\x1b") <= MOST_COLOURS
    return safe_text.plain(excerpt(text, LONGEST_TEXT, WHOLE), colours=colours)


def title(notebook: nbformat.NotebookNode) -> str:
    """The notebook's first heading of the first level, or nothing."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := _TITLE.search(cell.source)):
            return found[1]
    return ""


def parameters_of(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """Every parameter's value in an executed notebook: the defaults, then what was injected."""
    return declared(notebook, PARAMETERS_TAG) | declared(notebook, INJECTED_TAG)


def declared(notebook: nbformat.NotebookNode, tag: str) -> dict[str, Any]:
    """The parameters and values of the cells with this tag."""
    values: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and has_tag(cell, tag):
            try:
                found = parameters.declared(cell.source)
            except NotebookError:
                continue  # a foreign notebook may compute in its parameters cell
            values |= {name: parameter.default for name, parameter in found.items()}
    return values


def failure(notebook: nbformat.NotebookNode) -> str:
    """The error that ended the run, as `Name: message`, or nothing."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return safe_text.plain(f"{output.ename}: {output.evalue}"[:LONGEST_FAILURE])
    return ""
