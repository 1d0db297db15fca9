"""The kernel for a sweep: its notebook, its metadata, and the bundled packages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from slugify import slugify

from kernelkit import files, project
from kernelkit.checks import contents, preflight
from kernelkit.notebooks import document
from kernelkit.plans import metadata
from kernelkit.plans.metadata import Metadata
from kernelkit.project import Project
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.specification import PlannedRun

# The rest of the specification is read from the notebook in the session, or not needed.
CARRIED = (
    "name",
    "base",
    "code",
    "time_limit",
    "memory",
    "score",
    "minimize",
    "search",
    "keep_best",
)

_PARAMETERS = """\
accelerator = "auto"  # auto | tpu | gpu | cpu: the machine that the runs need
time_limit = 0.0  # >= 0: minutes after which no run starts or continues; 0 = no limit"""

RUN = """\
import json

from kernelkit.sweep.backends.in_session import run_in_session

run_in_session(json.loads(SWEEP), time_limit, accelerator)"""


def carried(progress: SweepProgress, runs: Sequence[PlannedRun]) -> dict[str, Any]:
    """The part of the sweep that a session for these runs receives; for a search, without them."""
    sweep, options = progress.specification, progress.options
    source = document.strip(document.read(sweep.notebook))
    _check(sweep.notebook, source)
    return {
        "notebook": nbformat.writes(source),
        "sweep": {name: getattr(sweep, name) for name in CARRIED},
        "runs": [] if sweep.search else [run.overrides for run in runs],
        "retry_failed": options.retry_failed,
        "report": options.report,
        "shown": project.shown(sweep.notebook).as_json(),
    }


def write(content: Mapping[str, Any], base: Metadata, title: str, place: Path) -> Path:
    """Write the notebook that makes the runs of `carried`, and its metadata, into a folder.

    Returns the metadata's path.
    """
    text = document.literal(json.dumps(content, indent=1, sort_keys=True))
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": dict(document.KERNELSPEC)})
    tags = {"tags": [document.PARAMETERS_TAG]}
    notebook.cells = [
        nbformat.v4.new_code_cell(_PARAMETERS, id="parameters", metadata=tags),
        nbformat.v4.new_code_cell(f"SWEEP = {text}", id="sweep"),
        nbformat.v4.new_code_cell(RUN, id="run"),
    ]
    slug = slugify(title)
    values = {
        **base.values,
        "id": f"{base.owner or metadata.PLACEHOLDERS[0]}/{slug}",
        "title": title,
        "code_file": f"{slug}.ipynb",
    }
    files.write_text(place / f"{slug}.ipynb", nbformat.writes(notebook) + "\n")
    return files.write_text(place / metadata.FILE_NAME, json.dumps(values, indent=2) + "\n")


def _check(notebook: Path, source: nbformat.NotebookNode) -> None:
    """Raise `PreflightError` for cells that are not Python, with their lines."""
    cells = [
        (f"{notebook.name}[cell {number}]", cell.source)
        for number, cell in enumerate(source.cells, 1)
        if cell.cell_type == "code"
    ]
    preflight.stop_on_errors(list(contents.not_python(cells, cells=True)))


def carrying(notebook: Path) -> Project:
    """The notebook's project, which also bundles this package; imports decide which files."""
    own = project.find_project(notebook)
    return replace(own, packages=(*own.packages, "kernelkit"), beside=Path(notebook))
