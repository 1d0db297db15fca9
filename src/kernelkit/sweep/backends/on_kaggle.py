"""A sweep in one Kaggle session: packed into a kernel, pushed, and its runs brought home."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from slugify import slugify

import kernelkit
from kernelkit import files, machines, project
from kernelkit.bundle import packages, syntax
from kernelkit.notebooks import document
from kernelkit.project import Project
from kernelkit.push import metadata as kernel_metadata
from kernelkit.push import plan, preflight
from kernelkit.push.checks import error
from kernelkit.push.command import push_kernel
from kernelkit.push.timing import Timing
from kernelkit.runs import claims
from kernelkit.sweep.backends.in_session import FOLDER
from kernelkit.sweep.config.specification import PlannedRun
from kernelkit.sweep.report.sweep_report import SweepReport
from kernelkit.sweep.store import records

ENDED = (records.DONE, *records.ENDED_BADLY)
TITLE_LENGTH = 50  # Kaggle's longest
SPARE_SHARE, SPARE_MINUTES = 0.15, 10.0  # of a session, kept for what is saved at its end

_PARAMETERS = """\
accelerator = "auto"  # auto | tpu | gpu | cpu: what the runs must have
time_limit = 0.0  # >= 0: minutes after which no run is begun and none goes on; 0 = none"""

_RUN = """\
import json

from kernelkit.sweep.backends.in_session import run_in_session

run_in_session(json.loads(SWEEP), time_limit, accelerator)"""


def run_on_kaggle(
    sweep_report: SweepReport,
    left: Sequence[PlannedRun],
    local: bool,
    metadata: Path | None,
    accelerator: str | None,
    timeout: float | None,
    timing: Timing | None = None,
    *,
    dry_run: bool = False,
) -> None:
    """Push one session for the runs that are left, wait, and take its runs in.

    `timeout`: the session's minutes, by default all that Kaggle gives to its machine. The same
    call goes on with what the time did not allow for. `dry_run` checks what would be pushed and
    sends nothing. Raises what `push_kernel` raises, with what came home taken in before.
    """
    if not left:
        return
    base = kernel_metadata.load(metadata or plan.locate(sweep_report.asked.notebook))
    if accelerator:
        base = base.on(machines.named(accelerator))
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        place = sweep_report.folder.path / ("rehearsal" if local else "kaggle")
        number = len(list(place.glob("session-*"))) + 1
        home = place / f"session-{number}"
        file = _write_kernel(sweep_report, left, Path(scratch) if dry_run else place, base)
        minutes = timeout or 60 * machines.LIMITS[base.machine.kind].hours_per_session
        spare = min(SPARE_MINUTES, SPARE_SHARE * minutes)
        try:
            push_kernel(
                parameters={"time_limit": round(minutes - spare, 4)},
                metadata=file,
                timeout=timeout,
                output=home,
                local=local,
                runs=project.find_project(sweep_report.asked.notebook).root / "runs",
                stream=sweep_report.stream,
                timing=timing,
                project=_carrying(sweep_report.asked.notebook),
                starts=[run.values for run in left],
                continues=any(map(claims.was_pushed, place.glob("session-*"))),
                dry_run=dry_run,
            )
        finally:
            bring_home(sweep_report, left, home / FOLDER)


def bring_home(sweep_report: SweepReport, left: Sequence[PlannedRun], came: Path) -> int:
    """Move runs that ended in a session into the sweep's own folders; returns how many."""
    folder, taken = sweep_report.folder, 0
    session = records.SweepFolder(came)
    for run in left:
        record = session.record(run)
        if record.state not in ENDED:
            continue
        folder.clear(run)
        folder.run_folder(run).mkdir(parents=True, exist_ok=True)
        for path in (came / run.id).iterdir():
            if path.name != records.STATE:
                shutil.move(path, folder.run_folder(run) / path.name)
        folder.write(run, record)  # last: until then the run counts as not done
        sweep_report.tell(run, record)
        taken += 1
    return taken


def _write_kernel(
    sweep_report: SweepReport,
    left: Sequence[PlannedRun],
    place: Path,
    base: kernel_metadata.Metadata,
) -> Path:
    """The notebook to push and its metadata; returns the metadata's path."""
    asked = sweep_report.asked
    source = document.strip(document.read(asked.notebook))
    cells = [(f"{asked.notebook.name}[cell {n}]", cell) for n, cell in enumerate(source.cells, 1)]
    broken = (syntax.broken_cell(name, cell.source) for name, cell in cells
              if cell.cell_type == "code")  # fmt: skip
    preflight.stop_on_errors([error(message) for message in broken if message])
    carried = {
        "notebook": nbformat.writes(source),
        "runs": [{"id": run.id, "given": dict(run.given)} for run in left],
        "takes_accelerator": "accelerator" in asked.known,
        "workers": 1,  # a session's accelerator is one process's at a time
        "seconds": 60 * asked.time_limit,
        "bytes": int(asked.memory * 1e9),
        "report": sweep_report.report,
        "shown": project.shown(asked.notebook).as_json(),
    }
    text = packages.literal(json.dumps(carried, indent=1, sort_keys=True))
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": dict(document.KERNELSPEC)})
    notebook.cells = [
        nbformat.v4.new_markdown_cell(
            f"# Sweep {asked.name}\n\n{len(left)} runs of {asked.notebook.name}", id="title"
        ),
        nbformat.v4.new_code_cell(
            _PARAMETERS, id="parameters", metadata={"tags": [document.PARAMETERS_TAG]}
        ),
        nbformat.v4.new_code_cell(f"SWEEP = {text}", id="sweep"),
        nbformat.v4.new_code_cell(_RUN, id="run"),
    ]
    title = f"Sweep {asked.name.replace('_', ' ')}"[:TITLE_LENGTH].strip()
    slug = slugify(title)
    owner = base.owner or kernel_metadata.PLACEHOLDERS[0]
    values = {
        **base.values, "id": f"{owner}/{slug}", "title": title, "code_file": f"{slug}.ipynb",
    }  # fmt: skip
    files.write_text(place / f"{slug}.ipynb", nbformat.writes(notebook) + "\n")
    return files.write_text(place / kernel_metadata.FILE_NAME, json.dumps(values, indent=2) + "\n")


@dataclass(frozen=True)
class _Carrying(Project):
    """A project whose notebooks take part of this package along."""

    def package_folder(self, package: str) -> Path:
        """Where a package lies; this one wherever it is installed."""
        if package == kernelkit.__name__:
            return Path(kernelkit.__file__).parent
        return super().package_folder(package)


def _carrying(notebook: Path) -> Project:
    """The notebook's project, this package among what rides: imports say how much of it."""
    own = project.find_project(notebook)
    return _Carrying(**vars(own) | {"packages": (*own.packages, kernelkit.__name__)})
