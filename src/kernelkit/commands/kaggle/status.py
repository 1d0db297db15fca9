"""Ask Kaggle how a push stands."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("status", epilog=options.EXIT_CODES)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@click.option("--all", "listing", is_flag=True, help="Show the ledger of all pushes instead.")
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(push: str, listing: bool, **given: Any) -> None:
    """Show in one line the state of a push, the last one by default.

    With --all every push is listed with its machine, minutes and score; Kaggle is not asked.
    """
    from kernelkit.pushes.status import list_pushes, tell_status

    if listing:
        click.echo(list_pushes(as_json=given["as_json"]))
    else:
        tell_status(push, **given)
