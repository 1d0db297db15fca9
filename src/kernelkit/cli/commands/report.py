"""`kernelkit report`."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli.definition import command
from kernelkit.cli.options import FILE
from kernelkit.files import file_address
from kernelkit.terminal.events import PROGRESS, REPORT, Event, Events

LEFT_OUT = Event("left out")


@command("runs/train", "runs/*/ --index")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FILE)
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
