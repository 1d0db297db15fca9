"""Bring home the files of a push, or some of them."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("fetch", local=True)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@click.option(
    "--only", metavar="GLOB", multiple=True, help="Fetch matching files only; may be repeated."
)
@options.output
@options.unverified
@click.option("--summary", type=options.FILE, help="Append the measures to this Markdown file.")
def command(push: str, **values: Any) -> None:
    """Bring home the files of a push, or some of them.

    The default is the last push. The command does not wait: its exit code is 13 while the run is
    alive.
    """
    from kernelkit.pushes.resuming import fetch_push

    fetch_push(push, **values)
