"""`kernelkit run`."""

import sys
from pathlib import Path
from typing import Any

import click

from kernelkit.cli import completion, options
from kernelkit.cli.definition import command
from kernelkit.cli.options import FILE


@command("notebooks/train.ipynb -p epochs=2", "notebooks/train.ipynb --fresh")
@click.argument("notebook", type=FILE)
@click.option(
    "-p",
    "parameters",
    metavar="[NAME=VALUE]",
    is_flag=False,
    flag_value="",
    multiple=True,
    shell_complete=completion.parameters,
    help="Set a parameter; may be repeated. Without a value, after NOTEBOOK: list all parameters.",
)
@click.option("--name", default="", help="The run's name; its folder is runs/NAME in the project.")
@options.output
@click.option("--report/--no-report", default=True, help="Write a report.html (default).")
@click.option("--fresh", is_flag=True, help="Start a new run even if the same one did not finish.")
def run(
    notebook: Path,
    parameters: tuple[str, ...],
    report: bool,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Run a notebook on this machine with parameters, and report on it.

    Without --name or --output the folder is new and named after the notebook and the time. But
    if a run of the same notebook with the same parameters did not finish, the command continues it
    in its folder; --fresh starts a new run instead. A finished run's folder is reused only where
    --name or --output names it.
    """
    from kernelkit.pages import live
    from kernelkit.pages.one_run.report_page import report_run
    from kernelkit.running.run_notebook import run_notebook
    from kernelkit.running.show_parameters import show_parameters
    from kernelkit.terminal.events import Events
    from kernelkit.terminal.live_line import LiveLine

    shown = Events(as_json=as_json, quiet=quiet)
    if "" in parameters:
        show_parameters(notebook, shown)
        return
    line = None if quiet or as_json else LiveLine(sys.stdout)
    # The page over all runs is written meanwhile, if there is one; `line` is for its last writing.
    with live.kept_up_to_date(*live.page_of_all_runs(), line=line):
        write = report_run if report else None
        run = run_notebook(
            notebook, parameters, report=write, as_json=as_json, quiet=quiet, **values
        )
    run.tell(shown)
