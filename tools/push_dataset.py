#!/usr/bin/env python
"""Make or update a private Kaggle dataset from a folder."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.cli import reports_errors


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", metavar="SLUG", help="The dataset's name; the folder's by default.")
@click.option("--notes", default="updated by kernelkit", help="What this version brings.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event.")
@reports_errors
def main(folder: Path, name: str | None, notes: str, as_json: bool) -> None:
    """Upload FOLDER as a private dataset, wait until it is ready, and print its source line."""
    from kernelkit.push.dataset import push_dataset

    push_dataset(folder, name, notes=notes, as_json=as_json)


if __name__ == "__main__":
    main()
