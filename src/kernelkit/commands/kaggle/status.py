"""Show the state of a push."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("status", local=True)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@click.option("--all", "listing", is_flag=True, help="Show the ledger of all pushes instead.")
def command(push: str, listing: bool, **values: Any) -> None:
    """Show the state of a push in one line, the last push by default.

    With --all every push is listed with its machine, minutes and score; Kaggle is not asked.
    """
    from kernelkit.pushes.status import list_pushes, tell_status

    if listing:
        click.echo(list_pushes(as_json=values["as_json"]))
    else:
        tell_status(push, **values)
