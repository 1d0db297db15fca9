"""A run's report: one HTML file that opens anywhere, with what the run left laid out."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat

from kernelkit import files, project
from kernelkit.notebook import document
from kernelkit.pages.cells import notebook_html
from kernelkit.pages.judged import since_last, verdict
from kernelkit.pages.one_run import left, measures, origin
from kernelkit.pages.one_run.charts import curves, resources
from kernelkit.pages.shared import ending, naming, sections, standalone, thumbnail, trail
from kernelkit.pages.shared.attempts import attempt
from kernelkit.pages.shown_first import first
from kernelkit.runs import kit_folder, run_folder, run_state
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import machine_use
from kernelkit.shown import Shown
from kernelkit.terminal import safe_text

SCRIPT = "report/report.js"


def write_report(
    notebook: Path, html: Path, folder: Path, clear: Callable[[str], str] = str
) -> Path:
    """Render the executed `notebook` to `html`; returns the page's path.

    If another program wrote `html`, the page is written among the kit's own files of `folder`. What
    the run folder holds is laid out before the notebook: measures, learning curves, and the files
    that `[tool.kernelkit.shown]` names. `clear` is applied to the page's text. Raises
    `NotebookError` if the notebook cannot be read.
    """
    content = document.read(notebook)
    html = html if standalone.is_free(html) else kit_folder.path(folder, html.name)
    shown = project.shown(folder)
    metrics = Metrics.of_run(folder, shown.score)
    ended = metrics.end(notebook.stat().st_mtime)
    page, picture = render(content, metrics, shown, folder, ended, html.parent)
    if run_folder.is_run(folder):
        thumbnail.keep(folder, picture)
    return files.write_text(html, clear(page))


def report_run(folder: Path) -> None:
    """Write the report of a run on this machine into its folder; only warns if that fails."""
    executed = folder / run_folder.EXECUTED
    _, error = attempt(write_report, executed, folder / kit_folder.REPORT, folder)
    if error:
        print(f"warning: no report: {safe_text.plain(str(error))}", file=sys.stderr)


def render(
    notebook: nbformat.NotebookNode,
    metrics: Metrics,
    shown: Shown,
    folder: Path,
    ended: float,
    place: Path,
) -> tuple[str, str]:
    """The page's HTML for an executed notebook and the run's metrics (may be empty), and the
    address of the picture that stands for the run, "" without one.

    `folder`: the run's; `place`: the page's; `ended`: seconds since 1970. Nothing of the notebook
    or the run's files runs in the page, or is loaded from elsewhere.
    """
    name, title = _names(notebook, folder)
    date = time.strftime("%d %B %Y, %H:%M", time.localtime(ended))
    came_from = origin.links(folder, place, metrics)
    changed, same, own = origin.settings(notebook, naming.parameters(folder))
    end = _end(notebook, metrics, folder)
    judged = verdict.of_run(folder, place, shown, end)
    head = {
        "name": name,
        "title": "" if title in (name, *(text for text, _ in came_from)) else title,
        "facts": (date, str(metrics.data), str(metrics.device)),
        "origin": came_from,
        "machine": machine_use.in_words(folder),
        "command": origin.command(folder, metrics, changed),
        "goes_on": run_state.is_active(folder),
        "ended": end,
        "verdict": judged,
        "cards": measures.cards(metrics, shown, folder),
    }
    charts = {"curves": curves(folder, shown), "resources": resources(folder)}
    parts = list(filter(None, (sections.filled(each, folder) for each in shown.sections)))
    # Without parts of its own the notebook's pictures and tables come first.
    own_parts = bool(charts["curves"] or parts)
    files_left = left.files(folder) if run_folder.is_run(folder) else []
    before = first.chosen(notebook, folder, files_left, parts, own_parts=own_parts)
    log = left.log(folder)
    below = {  # in the order of the page, below the head
        "pictures": before.pictures,
        "since": since_last.changes(folder, place, shown, judged.last),
        "submissions": measures.submissions(folder),
        **charts,
        "changed": sections.texts(changed),
        "same": sections.texts(same),
        "own": sections.texts(own),
        "tables": measures.tables(metrics, shown, folder),
        "parts": parts,
        "tables_shown": before.tables,
        "unfolded": {"pictures": first.MOST_PICTURES, "tables": first.MOST_TABLES},
        "log": log,
        "open_log": log and not any(cell.get("outputs") for cell in notebook.cells),
        "files": left.listed(files_left, folder, place),
        # The notebook, which of what is no training is the result.
        "notebook": notebook_html.body(notebook, folder),
        "of_script": kit_folder.path(folder, kit_folder.PUSHED_SCRIPT).is_file(),
        "open": end.error or not own_parts,
    }
    body = standalone.rendered("report.html.j2", **head, **below)
    data = charts | {"matrices": [part["matrix"] for part in parts if "matrix" in part]}
    page = standalone.page(name, body, SCRIPT, data, trail.way_back(folder, place))
    return page, before.stands_for_it


def _names(notebook: nbformat.NotebookNode, folder: Path) -> tuple[str, str]:
    """What the page is called, and the title of the notebook."""
    title = origin.title(notebook) or str(notebook.metadata.get("title", ""))
    if run_folder.is_run(folder):
        return naming.run_name(folder)[0], title
    return title or "Report", title


def _end(notebook: nbformat.NotebookNode, metrics: Metrics, folder: Path) -> ending.Ending:
    if run_folder.is_run(folder):
        return ending.of_content(folder, notebook, metrics)
    error = ending.failure(notebook)
    return ending.Ending(reached=not error, error=error)
