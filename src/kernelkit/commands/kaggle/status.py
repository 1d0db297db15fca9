"""Ask Kaggle how a push stands."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("status", epilog=options.EXIT_CODES)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(push: str, **given: Any) -> None:
    """Say in one line how a push stands, the last one by default."""
    from kernelkit.pushes.status import tell_status

    tell_status(push, **given)
