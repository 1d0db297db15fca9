"""Commands for many runs: `sweep` starts them, `report` shows them."""

import io
from pathlib import Path
from typing import Any

import click

from kernelkit import files
from kernelkit.cli import completion, options
from kernelkit.terminal.events import DRY_RUN, PROGRESS, REPORT, Event, Events, file_address

SWEEP = Event("sweep", quiet=True)
LEFT_OUT = Event("left out")


@options.command("sweep", ("sweeps/rates.yaml", "sweeps/rates.yaml --workers 2 -p epochs=3"))
@click.argument("file", metavar="SWEEP.yaml", type=options.FILE)
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
    type=options.FILE,
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
@click.option("--metadata", type=options.FILE, help="Use this kernel-metadata.json, with --kaggle.")
@click.option(
    "--accelerator",
    metavar="KIND",
    shell_complete=completion.offered,
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

    stream = io.StringIO() if quiet or as_json else None
    events = Events(as_json=as_json, quiet=quiet)

    def tell_table(folder: Path) -> None:
        if stream:
            table = files.read_object(folder / "results.json")  # empty if a full disk took none
            events(SWEEP, file_address(folder / "index.html"), folder=str(folder), **table)

    folder = sweep(file, parameters, SweepOptions(**values, stream=stream), tell_table)
    if stream and values["dry_run"]:
        events(DRY_RUN, stream.getvalue(), folder=str(folder))


@options.command("report", ("runs/train", "runs/*/ --index"))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=options.FILE)
@click.option(
    "--index", is_flag=True, help="Write a page over all runs in PATH..., and their reports."
)
@click.option("--open", "shows", is_flag=True, help="Open the page in a browser.")
def report(paths: tuple[Path, ...], index: bool, shows: bool, **output: Any) -> None:
    """Write HTML reports of executed notebooks and run folders.

    PATH is an executed notebook, a run folder, or the folder of a sweep, which stands for its runs.
    A folder without a run is skipped with a message, so you can pass runs/*/. The exit code is 2 if
    no PATH has a run, or if a notebook cannot be read; all other reports are still written.
    With --index the command writes one page over all runs. PATH may be a folder of run folders, and
    files are skipped. The page is index.html in the first PATH, or beside it if that is a run or a
    sweep. A file that another program wrote is never replaced.
    """
    from kernelkit.pages import live
    from kernelkit.pages.report import report

    events = Events(**output)

    def tell(line: str) -> None:
        if not output["as_json"]:  # for programs, the pages are enough
            events(PROGRESS, line)

    pages = report(paths, index, lambda line: events(LEFT_OUT, line), tell)
    for page in pages:
        events(REPORT, file_address(page), path=str(page))
    if shows:
        live.show(pages[-1])
    events.end()
