"""Stop a push, which deletes its kernel."""

from __future__ import annotations

import sys

import click

from kernelkit.commands import options


@options.command("stop")
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@click.option("--yes", is_flag=True, help="Delete the kernel without asking.")
def command(push: str, *, yes: bool, as_json: bool, quiet: bool) -> None:
    """Stop a push that is waiting or running, the last one by default.

    Kaggle's API cannot stop a session: it can only delete the kernel, with all its versions and
    outputs. The command shows what would be lost and asks first. A rehearsal's run ends with the
    command that rehearses.
    """
    from kernelkit.errors import ParameterError
    from kernelkit.pushes.stop import stop

    def confirm(warning: str) -> bool:
        if yes:
            return True
        if as_json or not sys.stdin.isatty():
            raise ParameterError(f"{warning}. To delete it without being asked, add --yes")
        return click.confirm(f"{warning}.\nDelete the kernel?", err=True)

    stop(push, confirm=confirm, as_json=as_json, quiet=quiet)
