"""`kernelkit status`."""

from typing import Any

import click

from kernelkit.cli import options
from kernelkit.cli.definition import command


@command("anna/train/3", "--all", local="Show pushes to the local stand-in for Kaggle.")
@options.push
@click.option("--all", "listing", is_flag=True, help="List all pushes, instead.")
@click.option("--quota", is_flag=True, help="Show the week's hours only; this needs no push.")
def status(push: str, listing: bool, quota: bool, **values: Any) -> None:
    """Show the state of the last push, and the week's TPU and GPU hours.

    OWNER/SLUG/N names another push. With --all it lists every push with its machine, minutes and
    score, without asking Kaggle. Entries that cannot be read are named after the list, and the exit
    code is 12.
    """
    from kernelkit.watching.status import check_ledger, list_pushes, tell_quota, tell_status

    if listing:  # of the whole ledger, whatever `--local` says
        listed = list_pushes(as_json=values["as_json"])
        if listed:
            click.echo(listed)
        check_ledger()
    elif quota:
        tell_quota(**values)
    else:
        tell_status(push, **values)
