"""Make HTML of executed notebooks and run folders.

With --index that is a page over all runs. PATH is an executed notebook or a run folder, and with
--index also a folder of run folders.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import reports_errors


@click.command("report", help=__doc__, epilog=options.EXIT_CODES)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=options.FILE)
@click.option("--index", is_flag=True, help="A page over all runs in PATH..., with their reports.")
@click.option("--output", type=options.FILE, help="The page, if there is one only.")
@options.as_json
@options.quiet
@reports_errors
def command(
    paths: tuple[Path, ...], index: bool, output: Path | None, as_json: bool, quiet: bool
) -> None:
    from kernelkit.runs.report import report

    for page in report(paths, index=index, output=output):
        if as_json:
            click.echo(json.dumps({"event": "report", "path": str(page)}))
        elif not quiet:
            click.echo(page)
