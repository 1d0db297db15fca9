"""Make or update a private Kaggle dataset from a folder."""

from __future__ import annotations

from pathlib import Path

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("dataset", epilog=options.EXIT_CODES)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", metavar="SLUG", help="The dataset's name; the folder's by default.")
@click.option("--notes", default="updated by kernelkit", help="What this version brings.")
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(folder: Path, name: str | None, **given: object) -> None:
    """Upload FOLDER as a private dataset.

    Waits until it is ready, and prints its source line.
    """
    from kernelkit.datasets.dataset import push_dataset

    push_dataset(folder, name, **given)  # type: ignore[arg-type]
