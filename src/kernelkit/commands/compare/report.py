"""Make HTML of executed notebooks and run folders.

PATH is an executed notebook, a run folder or the folder of a sweep, which stands for its runs. A
folder without a run is left out with a line, so that runs/*/ names them all; the exit code is 2
where no PATH has a run, and where a notebook cannot be read, when all other reports are written.
With --index one page over all runs is made, and PATH may be a folder of run folders.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("report", help=__doc__, epilog=options.EXIT_CODES)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=options.FILE)
@click.option("--index", is_flag=True, help="A page over all runs in PATH..., with their reports.")
@click.option("--output", type=options.FILE, help="The page, if there is one only.")
@options.as_json
@options.quiet
@exits_with_code
def command(
    paths: tuple[Path, ...], index: bool, output: Path | None, as_json: bool, quiet: bool
) -> None:
    from kernelkit.reports.report import report

    def left_out(path: Path, reason: str) -> None:
        if as_json:
            click.echo(json.dumps({"event": "left out", "path": str(path), "text": reason}))
        elif not quiet:
            click.echo(f"{path} {reason}", err=True)

    for page in report(paths, index=index, output=output, left_out=left_out):
        if as_json:
            click.echo(json.dumps({"event": "report", "path": str(page)}))
        elif not quiet:
            click.echo(page)
