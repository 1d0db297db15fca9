"""Ask Kaggle for the week's hours."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("quota", epilog=options.EXIT_CODES)
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(**given: Any) -> None:
    """Say how many TPU and GPU hours are left this week."""
    from kernelkit.pushes.status import tell_quota

    tell_quota(**given)
