"""Runs on the workers of a Dask cluster; each run's files are returned as one archive.

Workers need this package and what the notebook imports, but no local files: the notebook is sent as
text. If a worker dies, Dask gives its run to another.
"""

import io
import logging
import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import nbformat

from kernelkit import files
from kernelkit.errors import NetworkError, ParameterError
from kernelkit.notebook import document
from kernelkit.sweep.planning.specification import PlannedRun, Specification
from kernelkit.sweep.progress import SweepProgress
from kernelkit.sweep.sweep_folder import FAILED, STATE, Record, SweepFolder
from kernelkit.sweep.workers.engine import Engine

CONNECT_SECONDS = 15


def run_on_dask(progress: SweepProgress, address: str) -> None:
    """Send the remaining runs to the scheduler at `address`, and record each when it returns.

    As many run at a time as the workers have threads. Raises `NetworkError` when the scheduler
    cannot be reached or is lost (its unfinished runs stay pending), and `ParameterError` if dask is
    not installed.
    """
    if not progress.remaining:
        return
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ParameterError(
            "--dask needs dask and distributed: pip install dask distributed"
        ) from None
    # Dask logs fifty lines about a lost scheduler; the one line below replaces them.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise NetworkError(f"no Dask scheduler at {address}: {error}") from None
    sweep = progress.specification
    report = progress.options.report
    lost = 0
    text = nbformat.writes(document.strip(document.read(sweep.notebook)))
    single = replace(sweep, workers=1, runs=())
    with client:
        if not client.nthreads():
            progress.show(f"no workers at {address} yet: waiting for them")
        futures = {
            client.submit(run_on_worker, single, text, run, report, pure=False): run
            for run in progress.remaining
        }
        for future in as_completed(futures):
            if future.status in ("cancelled", "lost"):  # lost with the scheduler: it did not run
                lost += 1
                continue
            run = futures[future]
            if future.status == "finished":
                record, data = future.result()
                progress.folder.clear(run.id)
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    archive.extractall(progress.folder.run_folder(run.id))
            else:
                message = f"lost by the cluster: {future.exception()}"
                record = Record(FAILED, run.overrides, error=message)
            progress.tell(run, progress.folder.write(run.id, record))
            future.release()
    if lost:
        raise NetworkError(
            f"the Dask scheduler at {address} is gone, with {lost} runs left: the same command "
            "continues with them"
        )


def run_on_worker(
    sweep: Specification, text: str, run: PlannedRun, report: bool
) -> tuple[Record, bytes]:
    """Run a notebook's `text` once in a separate process on this machine; returns its record and
    its files (a zip)."""
    with tempfile.TemporaryDirectory(prefix="sweep-") as scratch:
        folder = SweepFolder(Path(scratch))
        notebook = files.write_text(Path(scratch) / "notebook.ipynb", text)
        here = replace(sweep, notebook=notebook, warm=())
        Engine(here, folder, lambda *_: None, report).work([run])
        record, place = folder.record(run.id), folder.run_folder(run.id)
        (place / STATE).unlink()  # with it, a run counts as done: it comes last
        archive = shutil.make_archive(str(Path(scratch) / "files"), "zip", place)
        return record, Path(archive).read_bytes()
