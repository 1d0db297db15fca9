"""Push a notebook to Kaggle, wait for its run and bring the results home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelkit.commands import options


@options.command("push", local=True)
@options.of_a_push
@click.option(
    "--dry-run", is_flag=True, help="Check everything, show what would be sent, send nothing."
)
@click.option("--no-wait", is_flag=True, help="Push and leave; come back with --resume.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="last",
    metavar="[OWNER/SLUG/N]",
    help="Wait for and fetch an earlier push, the last one by default.",
)
@click.option("--force", is_flag=True, help="Push even if nothing changed or a run is active.")
@options.check_tpu
@click.option("--list", "listing", is_flag=True, help="Show the ledger of pushes and end.")
def command(
    notebook: Path | None, listing: bool, no_wait: bool, as_json: bool, **values: Any
) -> None:
    """Check, push, wait, fetch and report, in one command.

    NOTEBOOK defaults to the code_file of kernel-metadata.json.
    """
    from kernelkit.pushes.command import list_pushes, push_kernel

    if listing:
        click.echo(list_pushes(as_json=as_json))
    else:
        push_kernel(notebook, wait=not no_wait, as_json=as_json, **values)
