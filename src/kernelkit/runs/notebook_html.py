"""An executed notebook as one HTML file that opens anywhere: no network, code folded away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, project
from kernelkit.errors import NotebookError
from kernelkit.notebooks import document, parameters
from kernelkit.notebooks.document import PARAMETERS_TAG, has_tag
from kernelkit.project import Shown
from kernelkit.runs.excerpts import excerpt
from kernelkit.terminal import safe_text

TEMPLATES = Path(__file__).parent / "templates"
INJECTED_TAG = "injected-parameters"
ERROR_CELL_TAG = "papermill-error-cell-tag"
HIDDEN_TAGS = ("bundle", ERROR_CELL_TAG, INJECTED_TAG, PARAMETERS_TAG)
LONGEST_TEXT, MOST_COLOURS = 500_000, 5_000  # characters, escapes: of one output in a page
LONGEST_FAILURE = 2_000
LONGEST_PICTURE = 14_000_000  # characters, which are 10 MB
WHOLE = "the executed notebook has all of it"
_HEADING = re.compile(r"^(#{1,3})\s+(.+?)\s*$", re.MULTILINE)


def write_report(
    notebook: Path, html: Path, folder: Path | None = None, clear: Callable[[str], str] = str
) -> Path:
    """Render the executed `notebook` to `html`; returns `html`.

    `metrics.json` of the run folder (by default the notebook's), if there is one, is shown at
    the top with the parameters and the environment. `clear` is applied to the page's text.
    Raises `NotebookError` when the notebook cannot be read.
    """
    notebook, html = Path(notebook), Path(html)
    try:
        content = nbformat.read(notebook, as_version=4)
    except Exception as error:  # nbformat raises a dozen kinds
        raise NotebookError(f"{notebook} cannot be read as a notebook: {error}") from None
    folder = folder or notebook.parent
    page = render(content, metrics_of(folder), project.shown(folder), folder)
    files.write_text(html, clear(page))
    return html


def render(
    notebook: nbformat.NotebookNode,
    metrics: Mapping[str, Any],
    shown: Shown,
    folder: Path | None = None,
) -> str:
    """The page's HTML for an executed notebook and the run's metrics (may be empty).

    `folder`: where the pictures lie that the notebook's text shows. Nothing that the notebook
    or its outputs bring runs in the page, or loads anything from elsewhere.
    """
    import nbconvert
    from traitlets.config import Config

    from kernelkit.runs import safe_html

    # Whatever else stands in metadata may end in the page's markup.
    kept = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    kept.cells = [_shown_cell(cell) for cell in notebook.cells if not _is_machinery(cell)]
    facts = _facts(notebook, metrics, shown)
    for cell in kept.cells:
        if cell.cell_type == "markdown" and f"# {facts['title']}\n" in cell.source + "\n":
            # The title stands above the facts; once is enough.
            cell.source = cell.source.replace(f"# {facts['title']}", "", 1)
            break
    exporter = nbconvert.HTMLExporter(
        config=Config(
            {
                "HTMLExporter": {
                    "extra_template_basedirs": [str(TEMPLATES)],
                    "template_name": "report",
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
    message = {"report": facts | {"policy": safe_html.POLICY}, "metadata": where}
    page, _ = exporter.from_notebook_node(kept, resources=message)
    return str(page)


def _is_machinery(cell: nbformat.NotebookNode) -> bool:
    """Whether a reader needs no such cell: the bundle's files, the parameters shown above."""
    return any(tag in HIDDEN_TAGS for tag in document.tags(cell))


def _shown_cell(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The cell as a page can hold it: no long texts, no sequences for a terminal but colours."""
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
        output.data = nbformat.from_dict({kind: _shown_data(kind, held)
                                          for kind, held in output.data.items()})  # fmt: skip
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
    # nbconvert takes quadratic time for colours, so that a text full of them loses them.
    colours = text.count("\x1b") <= MOST_COLOURS
    return safe_text.plain(excerpt(text, LONGEST_TEXT, WHOLE), colours=colours)


def _facts(
    notebook: nbformat.NotebookNode, metrics: Mapping[str, Any], shown: Shown
) -> dict[str, Any]:
    titles = [text for level, text in _headings(notebook) if level == 1]
    return {
        "title": titles[0] if titles else "Report",
        "style": (TEMPLATES / "report" / "style.css").read_text(encoding="utf-8"),
        "failure": failure(notebook),
        "contents": [(_anchor(text), text) for level, text in _headings(notebook) if level == 2],
        "parameters": [(name, _shown(value)) for name, value in parameters_of(notebook).items()],
        "metrics": [(label, _shown(value)) for label, value in shown.numbers(metrics).values()],
        "environment": _environment(metrics),
    }


def parameters_of(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """Every parameter's value in an executed notebook: the defaults, then what was injected."""
    values: dict[str, Any] = {}
    for tag in (PARAMETERS_TAG, INJECTED_TAG):
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


def _environment(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    parts = (metrics.get(name) for name in ("device", "versions", "git"))
    device, versions, git = (part if isinstance(part, Mapping) else {} for part in parts)
    rows = [(name, _shown(device[name])) for name in device]
    rows += [(name, str(version)) for name, version in versions.items()]
    if git.get("sha"):
        rows.append(("git", str(git["sha"])[:12] + (" with changes" if git.get("dirty") else "")))
    return rows


def _headings(notebook: nbformat.NotebookNode) -> list[tuple[int, str]]:
    headings = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            headings += [(len(marks), text) for marks, text in _HEADING.findall(cell.source)]
    return headings


def _anchor(heading: str) -> str:
    return re.sub(r"\s", "-", re.sub(r"[`*_]", "", heading))  # as nbconvert makes them


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def metrics_of(folder: Path) -> Mapping[str, Any]:
    """The run folder's `metrics.json`; empty when there is none that can be read."""
    try:
        read = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
