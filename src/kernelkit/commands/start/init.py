"""Make a repository that pushes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("init", epilog=options.EXIT_CODES)
@click.argument("folder", metavar="NAME", type=options.FILE)
@click.option("--competition", metavar="SLUG", help="Read its files and write a submission.")
@click.option("--from", "source", metavar="OWNER/SLUG", help="Begin with a notebook on Kaggle.")
@options.as_json
@options.quiet
@exits_with_code
def command(
    folder: Path, competition: str | None, source: str | None, as_json: bool, quiet: bool
) -> None:
    """Make the folder NAME, or an empty one, into a repository that rehearses and pushes.

    What --from pulls is not run, and what would send a TPU run to another image is left out.
    """
    from kernelkit.start.new_repository import init

    written = [str(path) for path in init(folder, competition, source)]
    if as_json:
        click.echo(json.dumps({"event": "init", "folder": str(folder), "files": written}))
    elif not quiet:
        following = f"next: cd {shlex.quote(str(folder))} && kernelkit rehearse"
        click.echo("\n".join([*written, following]))
