"""`kernelkit pull`."""

from typing import Any

import click

from kernelkit.cli import options
from kernelkit.cli.definition import command


@command("", "7 --base 5 --dry-run", local="Pull from the local stand-in for Kaggle.")
@click.argument("version", type=click.IntRange(1), required=False)
@click.option(
    "--base",
    type=click.IntRange(1),
    help="The version that these files hold: the last pushed or pulled.",
)
@options.metadata
@click.option("--dry-run", is_flag=True, help="Show the differences; write nothing.")
def pull(version: int | None, **values: Any) -> None:
    """Merge what was edited on Kaggle into the notebook and its modules.

    The default is the newest version. Files are copied to runs/pulled before they change.
    """
    from kernelkit.edits.pull import pull_edits

    pull_edits(version, **values)
