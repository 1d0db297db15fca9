"""Upload a folder as a private dataset, or as a version of a model."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import options

FOLDER = click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
NOTES = click.option("--notes", default="updated by kernelkit", help="Notes on this version.")
DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Check the folder and list what would be sent; send nothing."
)


@options.command("dataset", ("weights", "weights --name my-weights"), local=True)
@FOLDER
@click.option("--name", metavar="SLUG", help="The dataset's name (default: the folder's).")
@NOTES
@DRY_RUN
def dataset(folder: Path, name: str | None, **values: Any) -> None:
    """Upload FOLDER as a private dataset, without entries whose names begin with a dot.

    Waits until the dataset is ready and prints its source line.
    """
    from kernelkit.kaggle.uploads import push_dataset

    push_dataset(folder, name, **values)


@options.command("model", ("weights", "weights --dry-run"), local=True)
@FOLDER
@NOTES
@DRY_RUN
def model(folder: Path, **values: Any) -> None:
    """Upload FOLDER as a version of a model, without entries whose names begin with a dot.

    Its model-instance-metadata.json names the model and the variation; both are created if they do
    not exist. Waits until the version is ready and prints its source line.
    """
    from kernelkit.kaggle.uploads import push_model

    push_model(folder, **values)
