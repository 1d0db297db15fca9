"""Show the state of a push."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("status", local=True)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
def command(push: str, **values: Any) -> None:
    """Show the state of a push in one line, the last push by default."""
    from kernelkit.pushes.status import tell_status

    tell_status(push, **values)
