"""A run's report: one HTML file that opens anywhere, with what the run left laid out."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import files, project
from kernelkit.errors import KernelkitError, NotebookError, StorageError
from kernelkit.notebook import document
from kernelkit.pages import (
    ending,
    naming,
    origin,
    sections,
    shown_first,
    since_last,
    standalone,
    trail,
    verdict,
)
from kernelkit.pages.cells import notebook_html
from kernelkit.pages.sections import texts, written
from kernelkit.runs import kit_folder, run_folder, run_state, submitted
from kernelkit.runs.kit_folder import RESOURCES
from kernelkit.scores import history
from kernelkit.scores.metrics import Metrics
from kernelkit.session_records import machine_use, proved
from kernelkit.shown import Shown
from kernelkit.terminal import safe_text
from kernelkit.terminal.events import size_of
from kernelkit.terminal.exits import unusable

SCRIPT = "report/report.js"
CARDS = 4  # measures that stand first
FEWEST_SAMPLES = 2  # of the machine, for a chart of them


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
        shown_first.keep_thumbnail(folder, picture)
    return files.write_text(html, clear(page))


def report_run(folder: Path) -> None:
    """Write the report of a run on this machine into its folder; only warns if that fails."""
    executed = folder / run_folder.EXECUTED
    _, error = attempt(write_report, executed, folder / kit_folder.REPORT, folder)
    if error:
        print(f"warning: no report: {safe_text.plain(str(error))}", file=sys.stderr)


def attempt(
    function: Callable[..., Any], path: Path, *arguments: Any
) -> tuple[Any, KernelkitError | None]:
    """What `function` returns, or None and the error: no report may cost its run or the others."""
    try:
        return function(path, *arguments), None
    except KernelkitError as error:
        return None, error
    except OSError as error:
        error.filename = error.filename or str(path)
        return None, StorageError(unusable(error))
    except Exception as error:  # nbconvert and jinja raise a dozen kinds
        return None, NotebookError(f"{path}: {type(error).__name__}: {error}")


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
    curves = _curves(history.read(folder), shown)
    if proved.doubt(folder, history.HISTORY):
        curves = [curve | {"label": proved.marked(curve["label"])} for curve in curves]
    parts = list(filter(None, (sections.filled(each, folder) for each in shown.sections)))
    own_parts = bool(curves or parts)  # else the notebook's pictures and tables come first
    is_run = run_folder.is_run(folder)
    left = _left(folder) if is_run else []
    first = shown_first.chosen(notebook, folder, left, parts, own_parts=own_parts)
    log = _log(folder)
    resources = history.read(kit_folder.path(folder), RESOURCES) or history.read(folder, RESOURCES)
    if len(resources.get("seconds", ())) < FEWEST_SAMPLES:
        resources = {}
    changed, same, own = origin.settings(notebook, naming.parameters(folder))
    cards = _cards(metrics, shown, folder)
    measured = _measures(metrics, metrics.numbers, shown, folder)
    title = origin.title(notebook) or str(notebook.metadata.get("title", ""))
    if is_run:
        ended_so = ending.of_content(folder, notebook, metrics)
    else:
        error = ending.failure(notebook)
        ended_so = ending.Ending(reached=not error, error=error)
    name = naming.run_name(folder)[0] if is_run else title or "Report"
    judged = verdict.of_run(folder, place, shown, ended_so)
    date = time.strftime("%d %B %Y, %H:%M", time.localtime(ended))
    came_from = origin.named(folder, place, metrics)
    body = standalone.rendered(
        "report.html.j2",
        name=name,
        title="" if title in (name, *(text for text, _ in came_from)) else title,
        facts=(date, str(metrics.data), str(metrics.device)),
        goes_on=run_state.is_active(folder),
        ended=ended_so,
        of_script=kit_folder.path(folder, kit_folder.PUSHED_SCRIPT).is_file(),
        origin=came_from,
        pictures=first.pictures,
        tables_shown=first.tables,
        unfolded={
            "pictures": shown_first.MOST_PICTURES,
            "tables": shown_first.MOST_TABLES,
        },
        log=log,
        open_log=log and not any(cell.get("outputs") for cell in notebook.cells),
        command=origin.command(folder, metrics, changed),
        cards=cards,
        machine=machine_use.in_words(folder),
        verdict=judged,
        files=_files(left, folder, place),
        since=since_last.table(folder, place, shown, judged.last),
        submissions=_submissions(folder),
        curves=curves,
        resources=resources,
        changed=texts(changed),
        same=texts(same),
        own=texts(own),
        tables={
            "Measures": [each for each in measured if each not in cards],
            "Machine": texts(metrics.table("device")),
            "Versions": texts(metrics.versions),
        },
        parts=parts,
        notebook=notebook_html.body(notebook, folder),
        open=ended_so.error or not own_parts,  # of what is no training it is the result
    )
    data = {
        "curves": curves,
        "matrices": [part["matrix"] for part in parts if "matrix" in part],
        "resources": {name: history.numbers(texts) for name, texts in resources.items()},
    }
    page = standalone.page(name, body, SCRIPT, data, trail.way_back(folder, place))
    return page, first.stands_for_it


def _log(folder: Path) -> str:
    """The readable log of a run's session; "" without one."""
    log = kit_folder.path(folder, kit_folder.LOG_TEXT)
    if not log.is_file():
        return ""
    text = log.read_text("utf-8", "replace")
    return safe_text.plain(
        safe_text.excerpt(text, notebook_html.LONGEST_TEXT, "the session's log has all of it")
    )


def _cards(metrics: Metrics, shown: Shown, folder: Path) -> list[tuple[str, str]]:
    """(label, text) of the first measures, and of the score of the run's submission."""
    numbers = metrics.numbers
    order = sorted(shown.texts(numbers), key=lambda name: name != shown.score)
    first = {name: numbers[name] for name in order[:CARDS]}
    cards = _measures(metrics, first, shown, folder)
    scored = [each for each in submitted.read(folder) if each.score]
    if scored:
        cards.append((f"score in {scored[-1].shown_competition}", scored[-1].score))
    return cards


def _measures(
    metrics: Metrics, numbers: Mapping[str, float], shown: Shown, folder: Path
) -> list[tuple[str, str]]:
    """(label, text) of measures of a run; the label says so where they are not verified."""
    texts = list(shown.texts(numbers).values())
    if metrics.doubt(folder):
        return [(proved.marked(label), text) for label, text in texts]
    return texts


def _submissions(folder: Path) -> list[dict[str, str]]:
    """{heading: text} of each submission of the run."""
    rows = []
    for each in submitted.read(folder):
        parameters = " ".join(f"{name}={written(v)}" for name, v in each.parameters.items())
        row = {
            "when": each.when[:16].replace("T", " "),
            "competition": each.shown_competition,
            "number": str(each.reference or ""),
            "message": each.message,
            "file": each.file,
            "SHA-256": each.sha256[:12],
            "commit": each.git,
            "parameters": parameters,
            "score": each.outcome,
            "rank then": each.standing,
        }
        rows.append({name: safe_text.plain(text) for name, text in row.items()})
    return rows


def _left(folder: Path) -> list[Path]:
    """The files in a run's folder that are not the kit's own, by name."""
    every = sorted(folder.rglob("*"))
    return [p for p in every if kit_folder.NAME not in p.relative_to(folder).parts and p.is_file()]


def _files(left: list[Path], folder: Path, place: Path) -> list[tuple[str, str, str]]:
    """(name, size, address) of each file that the run left."""
    page = run_folder.report_place(folder)
    rows = []
    for path in left:
        if path != page:
            name = safe_text.plain(path.relative_to(folder).as_posix())
            rows.append((name, size_of(path.stat().st_size), trail.address(path, place)))
    return rows


def _curves(columns: history.Columns, shown: Shown) -> list[dict[str, Any]]:
    """A chart for each measure of validation in the history, with that of training if any."""
    names = [n.removeprefix(history.VALIDATED) for n in columns if n.startswith(history.VALIDATED)]
    phases = [{"at": at, "label": name} for at, name in history.phases(columns)]
    charts = []
    for name in sorted(names, key=lambda name: name != shown.score):
        label = shown.measures.get(name, name.replace("_", " "))
        training = history.numbers(columns.get(name, []))
        validation = history.numbers(columns[history.VALIDATED + name])
        series = [{"label": "validation", "values": validation}]
        series += [{"label": "training", "values": training}] if training else []
        finite = list(filter(math.isfinite, validation))
        if finite and len(validation) > 1:  # of one epoch a chart says nothing
            low = shown.minimize if name == shown.score else "loss" in name
            word, best = ("lowest", min(finite)) if low else ("highest", max(finite))
            epoch = validation.index(best) + 1
            title = f"{label}: {word} {best:.4f}, epoch {epoch}"
            charts.append({"label": title, "series": series, "phases": phases})
    return charts
