"""`kernelkit submit`."""

from typing import Any

import click

from kernelkit.cli import options
from kernelkit.cli.definition import command


@command(
    "-m 'twelve epochs'",
    "runs/train-v3",
    local="Submit to the local stand-in for Kaggle.",
)
@click.argument("result", metavar="[OWNER/SLUG/N | FOLDER | FILE]", default="last")
@click.option(
    "-m",
    "--message",
    default="submitted by kernelkit",
    show_default=True,
    help="The description on the competition's page.",
)
@click.option(
    "--competition",
    metavar="SLUG",
    help="The competition of a FOLDER or FILE (default: its push's, or the one in its project's "
    "metadata).",
)
@options.unverified
def submit(result: str, message: str, **values: Any) -> None:
    """Submit a run's result and wait for its score.

    The run is a push, the last one by default, or the FOLDER of any run: the command submits its
    submission.csv, .parquet, .zip or .tar.gz. A FILE is submitted as it is. However often the
    command is repeated, it makes one submission. Another message than the result's last one makes
    another submission, and so does the same command if Kaggle could not score the first.
    """
    from kernelkit.push.submit import submit_result

    submit_result(result, message, **values)
