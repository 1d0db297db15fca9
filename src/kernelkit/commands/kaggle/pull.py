"""The command `pull`."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("pull", ("", "7 --base 5 --dry-run"), local=True)
@click.argument("version", type=click.IntRange(1), required=False)
@click.option("--base", type=click.IntRange(1), help="The version that these files were pushed as.")
@options.metadata
@click.option("--dry-run", is_flag=True, help="Show the differences; write nothing.")
def pull(version: int | None, **values: Any) -> None:
    """Merge what was edited on Kaggle into the notebook and its modules.

    The default is the newest version. Files are copied to runs/pulled before they change.
    """
    from kernelkit.pulls.pull import pull_edits

    pull_edits(version, **values)
