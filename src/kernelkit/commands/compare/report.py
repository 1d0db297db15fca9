"""Write HTML reports of executed notebooks and run folders.

PATH is an executed notebook, a run folder, or the folder of a sweep, which stands for its runs. A
folder without a run is skipped with a line, so that runs/*/ names all of them. The exit code is 2
if no PATH has a run, or if a notebook cannot be read; all other reports are still written. With
--index the command writes one page over all runs, and PATH may be a folder of run folders.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from kernelkit.commands import options


@options.command("report", ("runs/train", "runs/*/ --index"), help=__doc__)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=options.FILE)
@click.option(
    "--index", is_flag=True, help="Write a page over all runs in PATH..., and their reports."
)
@click.option("--output", type=options.FILE, help="The page to write, if there is only one.")
def report(
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
