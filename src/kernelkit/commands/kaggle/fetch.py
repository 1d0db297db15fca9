"""Bring home what a push left, or some of its files."""

from __future__ import annotations

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("fetch", epilog=options.EXIT_CODES)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@click.option("--only", metavar="GLOB", multiple=True, help="Files that fit; may be repeated.")
@options.output
@click.option("--summary", type=options.FILE, help="Add the measures to this Markdown file.")
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(push: str, **given: object) -> None:
    """Bring home what a push left, or some of its files.

    The default is the last push. The command does not wait: while the run is alive its exit code is
    13.
    """
    from kernelkit.pushes.existing import fetch_push

    fetch_push(push, **given)  # type: ignore[arg-type]
