"""`kernelkit stop`."""

import sys
from typing import Any

import click

from kernelkit.cli import options
from kernelkit.cli.definition import command


@command("anna/train/3", "--yes")
@options.push
@click.option("--yes", is_flag=True, help="Delete the kernel without asking.")
def stop(push: str, *, yes: bool, **values: Any) -> None:
    """Stop a queued or running push, the last one by default.

    Kaggle's API cannot stop a session: it can only delete the kernel, with all its versions and
    outputs. The command shows what would be lost and asks first.
    """
    from kernelkit.errors import ParameterError
    from kernelkit.watching.stop import stop_push

    def confirm(loss: str) -> bool:
        if not (yes or sys.stdin.isatty()):
            raise ParameterError(f"{loss}. To delete it without confirmation, add --yes")
        return yes or click.confirm(f"{loss}.\nDelete the kernel?", err=True)

    stop_push(push, confirm=confirm, **values)
