"""`kernelkit upload`."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli.definition import command
from kernelkit.errors import ParameterError


@command(
    "weights --name my-weights",
    "weights --model",
    local="Upload to the local stand-in for Kaggle, for rehearsals.",
)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", metavar="SLUG", help="The dataset's name (default: the folder's).")
@click.option(
    "--model",
    is_flag=True,
    help="Upload FOLDER as a version of a model, not as a dataset.",
)
@click.option("--notes", default="updated by kernelkit", help="Notes on this version.")
@click.option(
    "--dry-run", is_flag=True, help="Check the folder and list what would be sent; send nothing."
)
def upload(folder: Path, name: str | None, model: bool, **values: Any) -> None:
    """Upload FOLDER as a private dataset, or as a version of a model.

    Hidden entries at its top are skipped. What does not exist on Kaggle is created; a model and its
    variation have the names in model-instance-metadata.json. The command waits until kernels can
    use the new version, and prints its source line.
    """
    from kernelkit.kaggle.uploading import uploads

    if not model:
        uploads.upload_dataset(folder, name, **values)
        return
    if name:
        raise ParameterError("--name is for a dataset: model-instance-metadata.json names a model")
    uploads.upload_model(folder, **values)
