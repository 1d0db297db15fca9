"""`kernelkit sweep`."""

import io
from pathlib import Path
from typing import Any

import click

from kernelkit import files
from kernelkit.cli import completion
from kernelkit.cli.definition import command
from kernelkit.cli.options import FILE
from kernelkit.files import file_address
from kernelkit.terminal.events import DRY_RUN, Event, Events

SWEEP = Event("sweep", quiet=True)


@command("sweeps/rates.yaml", "sweeps/rates.yaml --workers 2 -p epochs=3")
@click.argument("file", metavar="SWEEP.yaml", type=FILE)
@click.option(
    "-p", "parameters", metavar="NAME=VALUE", multiple=True, help="Set a parameter in every run."
)
@click.option(
    "--workers",
    type=int,
    metavar="N",
    help="The number of runs at a time (default: the file's, or else one for every two cores).",
)
@click.option(
    "--output",
    type=FILE,
    metavar="DIR",
    help="The sweep's folder (default: runs/NAME in the project).",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="List the runs, their states and the expected time; run nothing.",
)
@click.option("--retry-failed", is_flag=True, help="Repeat runs that failed or took too long.")
@click.option("--force", is_flag=True, help="Repeat all runs.")
@click.option("--yes", is_flag=True, help="Accept more than 1,000 runs.")
@click.option(
    "--report/--no-report", default=True, help="Write a report.html for each run (default)."
)
@click.option(
    "--open", is_flag=True, help="Open the page in a browser; it updates while the sweep runs."
)
@click.option(
    "--time-limit",
    type=float,
    metavar="MINUTES",
    help="Stop a run after this many minutes (default: the file's).",
)
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@click.option(
    "--kaggle",
    is_flag=True,
    help="Run in a Kaggle session for each kind of machine, and download everything.",
)
@click.option("--local", is_flag=True, help="With --kaggle: rehearse it on this machine.")
@click.option("--metadata", type=FILE, help="Use this kernel-metadata.json, with --kaggle.")
@click.option(
    "--accelerator",
    metavar="KIND",
    shell_complete=completion.machines,
    help="With --kaggle: the machine, as for a push.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="MINUTES",
    help="With --kaggle: stop the session after this many minutes.",
)
def sweep(
    file: Path, parameters: tuple[str, ...], as_json: bool, quiet: bool, **values: Any
) -> None:
    """Run a sweep: many runs of one notebook, compared in one table.

    If a sweep is interrupted, the same command continues it. The results are in runs/NAME:
    index.html, results.csv, results.json, and a folder for each run.
    """
    from kernelkit.sweep.run_sweep import sweep
    from kernelkit.sweep.sweep_options import SweepOptions

    events = Events(as_json=as_json, quiet=quiet)
    # A sweep prints lines for people, here to stdout. With --quiet or --json they are kept in
    # `lines`, and one event says at the end what came of it.
    lines = io.StringIO() if quiet or as_json else None

    def tell_table(folder: Path) -> None:
        if lines:
            table = files.read_object(folder / "results.json")  # empty if the disk was full
            events(SWEEP, file_address(folder / "index.html"), folder=str(folder), **table)

    folder = sweep(file, parameters, SweepOptions(**values, stream=lines), tell_table)
    if lines and values["dry_run"]:
        events(DRY_RUN, lines.getvalue(), folder=str(folder))
