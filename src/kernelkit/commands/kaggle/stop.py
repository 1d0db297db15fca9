"""End a push's session, which takes its kernel with it."""

from __future__ import annotations

import sys

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("stop", epilog=options.EXIT_CODES)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@click.option("--yes", is_flag=True, help="Do not ask: deleting the kernel is meant.")
@options.as_json
@options.quiet
@exits_with_code
def command(push: str, *, yes: bool, as_json: bool, quiet: bool) -> None:
    """Stop a push that waits or runs, the last one by default.

    Kaggle's API stops no session: it can only delete the kernel, with all its versions and
    outputs. The command says what would be lost and asks first. The run of a rehearsal ends with
    the command that rehearses.
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
