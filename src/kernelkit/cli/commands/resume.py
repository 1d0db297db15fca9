"""`kernelkit resume`."""

from typing import Any

import click

from kernelkit.cli import options
from kernelkit.cli.definition import command
from kernelkit.cli.options import FILE


@command(
    "",
    "anna/train/3 --only '*.csv' --no-wait",
    local="Return to a push to the local stand-in for Kaggle.",
)
@options.push
@click.option(
    "--output",
    type=FILE,
    metavar="DIR",
    help="Put the results here (default: the folder that they were put into before, or a new one "
    "in runs/).",
)
@click.option(
    "--only", metavar="GLOB", multiple=True, help="Download matching files only; may be repeated."
)
@options.submit
@click.option("--no-wait", is_flag=True, help="Do not wait: exit with 13 while the run is active.")
@click.option("--summary", type=FILE, help="Append the metrics to this Markdown file.")
@options.unverified
def resume(push: str, no_wait: bool, **values: Any) -> None:
    """Reconnect to a push: wait, download the results and report.

    The default is the last push. Files that are here already are not downloaded again.
    """
    from kernelkit.push.resume import resume_push

    resume_push(push, wait=not no_wait, **values)
