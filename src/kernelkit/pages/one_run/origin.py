"""Where a run comes from: kernel, commit and logs, its parameters, the command that repeats it."""

import contextlib
import re
import shlex
from pathlib import Path
from typing import Any

import nbformat

from kernelkit import machines, project
from kernelkit.errors import NotebookError
from kernelkit.notebook import document
from kernelkit.notebook.interface import parameters
from kernelkit.pages.shared import naming, trail
from kernelkit.runs import claims, kit_folder, run_state
from kernelkit.scores.metrics import Metrics

_BUNDLED = re.compile(r"BUNDLE = \{'notebook': '([^'\\]+)'")  # in the first cell of what was pushed
_TITLE = re.compile(r"^#\s+(.+?)\s*$", re.MULTILINE)
_TAG = re.compile(r"<[^<>]*>")


def title(notebook: nbformat.NotebookNode) -> str:
    """The notebook's first heading of the first level, or nothing."""
    for cell in notebook.cells:
        heading = _TITLE.search(cell.source) if cell.cell_type == "markdown" else None
        if heading:
            return _TAG.sub("", heading[1]).strip()  # many a notebook styles its headings
    return ""


def links(folder: Path, place: Path, metrics: Metrics) -> list[tuple[str, str]]:
    """(text, address or "") of the kernel on Kaggle, of the commit and of the logs."""
    origin = []
    push = claims.owner_of(folder)
    if push and push.rehearsal:
        origin.append((f"{push.kernel} version {push.version} (rehearsal)", ""))
    elif push:
        kernel = f"{push.kernel} version {push.version} on Kaggle"
        origin.append((kernel, f"https://www.kaggle.com/code/{push.kernel}"))
    if metrics.git.sha:
        changes = " with changes" if metrics.git.dirty else ""
        origin.append((f"commit {metrics.git.sha[:12]}{changes}", ""))
    session = kit_folder.path(folder, kit_folder.LOG_TEXT)
    own_log = folder / "log.txt"
    for text, log in (("the session's log", session), ("the run's own log", own_log)):
        if log.is_file():
            origin.append((text, trail.address(log, place)))
    return origin


def settings(
    notebook: nbformat.NotebookNode, used: naming.Values
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Three tables of a run's parameters: those that differ from the notebook's defaults, those
    that do not, and those of which the notebook has no default.

    `used`: what the run says that it used. Someone in Jupyter sets values in cells of their own.
    """
    defaults = _declared(notebook, document.PARAMETERS_TAG)
    given = _declared(notebook, document.INJECTED_TAG) or dict(used)
    values = {n: v for n, v in (defaults | given).items() if n != naming.OUTPUT}
    own = {name: value for name, value in values.items() if name not in defaults}
    changed = {n: v for n, v in values.items() if n in defaults and v != defaults[n]}
    same = {n: v for n, v in values.items() if n not in own and n not in changed}
    return changed, same, own


def _declared(notebook: nbformat.NotebookNode, tag: str) -> dict[str, Any]:
    """The parameters and values of the cells with this tag."""
    values: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and document.has_tag(cell, tag):
            # A foreign notebook may compute in its parameters cell.
            with contextlib.suppress(NotebookError):
                own = parameters.declared(cell.source)
                values |= {name: parameter.default for name, parameter in own.items()}
    return values


def command(folder: Path, metrics: Metrics, changed: naming.Values) -> list[str]:
    """The parts of the command that repeats a run, each for a shell; [] if it is not known."""
    push = claims.owner_of(folder)
    own = run_state.notebook(folder)
    given = dict((push and push.parameters) or changed)
    if own:
        parts = [f"kernelkit run {shlex.quote(project.find_project(own).name(own))}"]
    elif push:
        words = ["kernelkit", "rehearse" if push.rehearsal else "push"]
        words += map(shlex.quote, _pushed_notebook(folder))
        parts = [" ".join(words)]
        # The kit sets this parameter to the machine's kind, which the option chooses.
        kind = given.pop("accelerator", metrics.device.kind)
        if isinstance(kind, str) and kind.lower() in machines.TODAY:
            parts.append(f"--accelerator {kind.lower()}")
        if push.rehearsal:
            parts.append("--force")  # else it is refused as identical; it costs nothing
    else:
        return []
    return parts + [f"-p {shlex.quote(f'{name}={value}')}" for name, value in given.items()]


def _pushed_notebook(folder: Path) -> list[str]:
    """The notebook in its project that a push was made of, by its first cell; [] if unknown."""
    for name in (kit_folder.PUSHED, kit_folder.PUSHED_SCRIPT):
        path = kit_folder.path(folder, name)
        if path.is_file():
            return _BUNDLED.findall(path.read_text("utf-8", "replace"))[:1]
    return []
