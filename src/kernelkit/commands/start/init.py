"""Create a repository that can push."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from kernelkit.commands import options


@options.command("init", ("leaves --competition leaf-classification", "leaves --from anna/leaves"))
@click.argument("folder", metavar="NAME", type=options.FILE)
@click.option(
    "--competition", metavar="SLUG", help="Read this competition's files and write a submission."
)
@click.option("--from", "source", metavar="OWNER/SLUG", help="Start from a notebook on Kaggle.")
def init(
    folder: Path, competition: str | None, source: str | None, as_json: bool, quiet: bool
) -> None:
    """Create a repository that can rehearse and push, in a new folder NAME.

    The notebook of --from is not run; settings that would move a TPU run to another image are
    removed.
    """
    from kernelkit.start.new_repository import init

    written = [str(path) for path in init(folder, competition, source)]
    if as_json:
        click.echo(json.dumps({"event": "init", "folder": str(folder), "files": written}))
    elif not quiet:
        following = f"next: cd {shlex.quote(str(folder))} && kernelkit rehearse"
        click.echo("\n".join([*written, following]))
