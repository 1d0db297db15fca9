"""The kernel that a sweep becomes: its notebook, its metadata, and what rides along."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from slugify import slugify

import kernelkit
from kernelkit import files, project
from kernelkit.bundle import imports, packages
from kernelkit.checks import preflight
from kernelkit.checks.findings import error
from kernelkit.notebooks import document
from kernelkit.plans import metadata as kernel_metadata
from kernelkit.project import Project
from kernelkit.sweep.config.specification import PlannedRun
from kernelkit.sweep.report.sweep_report import SweepReport

TITLE_LENGTH = 50  # Kaggle's longest

_PARAMETERS = """\
accelerator = "auto"  # auto | tpu | gpu | cpu: what the runs must have
time_limit = 0.0  # >= 0: minutes after which no run is begun and none goes on; 0 = none"""

RUN = """\
import json

from kernelkit.sweep.backends.in_session import run_in_session

run_in_session(json.loads(SWEEP), time_limit, accelerator)"""


@dataclass(frozen=True)
class SessionKernel:
    """The notebook that runs a sweep in a session, with its metadata.

    `suffix`: the end of its title, by which it differs from the sweep's kernels on other machines.
    """

    sweep_report: SweepReport
    left: Sequence[PlannedRun]
    base: kernel_metadata.Metadata
    suffix: str = ""
    retry_failed: bool = False

    @property
    def carried(self) -> dict[str, Any]:
        """The part of the sweep that the session receives."""
        asked = self.sweep_report.asked
        source = document.strip(document.read(asked.notebook))
        _check(asked.notebook, source)
        return {
            "notebook": nbformat.writes(source),
            "runs": []
            if asked.search
            else [{"id": run.id, "given": dict(run.given)} for run in self.left],
            "search": self._search if asked.search else {},
            "keep_best": dict(asked.keep_best),
            "score": asked.score,
            "minimize": asked.minimize,
            "takes_accelerator": "accelerator" in asked.known,
            "workers": 1,  # one process at a time can use a session's accelerator
            "seconds": 60 * asked.time_limit,
            "bytes": int(asked.memory * 1e9),
            "report": self.sweep_report.report,
            "shown": project.shown(asked.notebook).as_json(),
        }

    @property
    def _search(self) -> dict[str, Any]:
        asked = self.sweep_report.asked
        return {
            "name": asked.name,
            "base": dict(asked.base),
            "code": asked.code.digest,
            "score": asked.score,
            "minimize": asked.minimize,
            "search": dict(asked.search),
            "wheels": asked.wheels,
            "retry_failed": self.retry_failed,
        }

    def write(self, place: Path) -> Path:
        """Write both files into a folder; returns the metadata's path."""
        asked = self.sweep_report.asked
        text = packages.literal(json.dumps(self.carried, indent=1, sort_keys=True))
        what = f"a search of {asked.search['trials']}" if asked.search else str(len(self.left))
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": dict(document.KERNELSPEC)})
        notebook.cells = [
            nbformat.v4.new_markdown_cell(
                f"# Sweep {asked.name}\n\n{what} runs of {asked.notebook.name}", id="title"
            ),
            nbformat.v4.new_code_cell(
                _PARAMETERS, id="parameters", metadata={"tags": [document.PARAMETERS_TAG]}
            ),
            nbformat.v4.new_code_cell(f"SWEEP = {text}", id="sweep"),
            nbformat.v4.new_code_cell(RUN, id="run"),
        ]
        title = f"Sweep {asked.name.replace('_', ' ')}"[: TITLE_LENGTH - len(self.suffix)].strip()
        title += self.suffix
        slug = slugify(title)
        base = self.base.attaching(asked.wheels) if asked.wheels else self.base
        owner = base.owner or kernel_metadata.PLACEHOLDERS[0]
        values = {
            **base.values,
            "id": f"{owner}/{slug}",
            "title": title,
            "code_file": f"{slug}.ipynb",
        }
        files.write_text(place / f"{slug}.ipynb", nbformat.writes(notebook) + "\n")
        text = json.dumps(values, indent=2) + "\n"
        return files.write_text(place / kernel_metadata.FILE_NAME, text)


def _check(notebook: Path, source: nbformat.NotebookNode) -> None:
    """Raise `PreflightError` for cells that are not Python, by their lines."""
    cells = [(f"{notebook.name}[cell {n}]", cell) for n, cell in enumerate(source.cells, 1)]
    broken = (
        imports.broken_cell(name, cell.source) for name, cell in cells if cell.cell_type == "code"
    )
    preflight.stop_on_errors([error(message) for message in broken if message])


@dataclass(frozen=True)
class _Carrying(Project):
    """A project whose notebooks take part of this package along."""

    def package_folder(self, package: str) -> Path:
        """Where a package lies; this one wherever it is installed."""
        if package == kernelkit.__name__:
            return Path(kernelkit.__file__).parent
        return super().package_folder(package)


def carrying(notebook: Path) -> Project:
    """The notebook's project, which also bundles this package; imports decide which files."""
    own = project.find_project(notebook)
    here = {"packages": (*own.packages, kernelkit.__name__), "beside": Path(notebook)}
    return _Carrying(**vars(own) | here)
