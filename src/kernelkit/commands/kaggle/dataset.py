"""Make or update a private Kaggle dataset from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelkit.commands import options


@options.command("dataset", ("weights", "weights --name my-weights"), local=True)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", metavar="SLUG", help="The dataset's name (default: the folder's).")
@click.option("--notes", default="updated by kernelkit", help="Notes on this version.")
def dataset(folder: Path, name: str | None, **values: Any) -> None:
    """Upload FOLDER as a private dataset.

    Waits until the dataset is ready and prints its source line.
    """
    from kernelkit.datasets.dataset import push_dataset

    push_dataset(folder, name, **values)
