"""Runs on the workers of a Dask cluster; what each leaves travels home as one archive.

Workers need this package and what the notebook imports, and no file of the desk's: the
notebook goes out as text. Dask gives the run of a worker that died to another.
"""

from __future__ import annotations

import io
import logging
import tempfile
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kernelkit import files
from kernelkit.errors import NetworkError, ParameterError
from kernelkit.sweep.config.specification import PlannedRun
from kernelkit.sweep.report.sweep_report import SweepReport
from kernelkit.sweep.store.records import FAILED, Record, SweepFolder
from kernelkit.sweep.workers.engine import Engine, Listed, WorkerLimits
from kernelkit.sweep.workers.processes import launcher

CONNECT_SECONDS = 15


def run_on_dask(
    sweep_report: SweepReport, left: Sequence[PlannedRun], limits: WorkerLimits, address: str
) -> None:
    """Send the runs to the scheduler at `address`, and record each as it comes home.

    As many run at a time as the workers have threads. Raises `NetworkError` when the scheduler
    cannot be reached or is lost (its unfinished runs are left to run), and
    `ParameterError` where dask is not installed.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ParameterError(
            "--dask needs dask and distributed: pip install dask distributed"
        ) from None
    import nbformat

    from kernelkit.notebooks import document

    # Dask logs a lost scheduler in fifty lines; one line below replaces them.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    text = nbformat.writes(document.strip(document.read(sweep_report.asked.notebook)))
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise NetworkError(f"no Dask scheduler at {address}: {error}") from None
    with client:
        if not client.nthreads():
            click.echo(f"no workers at {address} yet: waiting for them", file=sweep_report.stream)
        call = {
            "notebook": text,
            "seconds": limits.seconds,
            "bytes": limits.bytes,
            "report": sweep_report.report,
        }
        futures = {
            client.submit(
                run_on_worker, call, run.id, dict(run.given), key=f"{run.id}-{uuid.uuid4().hex}"
            ): run
            for run in left
        }
        lost = 0
        for future in as_completed(futures):
            run = futures[future]
            if future.status in ("cancelled", "lost"):  # with the scheduler: it ran nowhere
                lost += 1
                continue
            if future.status == "finished":
                record = _unpack(sweep_report.folder, run, *future.result())
            else:
                message = f"lost by the cluster: {future.exception()}"
                record = Record(FAILED, dict(run.given), error=message)
            sweep_report.folder.write(run, record)
            sweep_report.tell(run, record)
            future.release()
    if lost:
        raise NetworkError(
            f"the Dask scheduler at {address} is gone, and {lost} runs are left: the same command "
            "goes on with them"
        )


def run_on_worker(
    call: Mapping[str, Any], id: str, given: Mapping[str, Any]
) -> tuple[Record, bytes]:
    """One run in a process of its own on this machine; returns its record and files (a zip)."""
    run = PlannedRun(id, given, given)
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        folder = SweepFolder(Path(scratch) / "runs")
        notebook = files.write_text(Path(scratch) / "notebook.ipynb", call["notebook"])
        request = {
            "notebook": str(notebook),
            "values": dict(given),
            "report": call["report"],
            "folder": str(folder.run_folder(run)),
        }
        starter = launcher((), Path(scratch) / "imports.log")
        limits = WorkerLimits(1, call["seconds"], call["bytes"])
        try:
            engine = Engine(folder, starter, limits, lambda _: request, lambda *_: None)
            engine.work(Listed([run]))
        finally:
            starter.close()
        return folder.record(run), _packed(folder.run_folder(run))


def _packed(folder: Path) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "state.json":
                archive.write(path, path.relative_to(folder).as_posix())
    return data.getvalue()


def _unpack(folder: SweepFolder, run: PlannedRun, record: Record, data: bytes) -> Record:
    folder.clear(run)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            files.write_bytes(folder.run_folder(run) / name, archive.read(name))
    return record
