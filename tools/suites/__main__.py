"""Run the tests of kaggle-cli and kagglehub against the local Kaggle; a table for the docs."""

import tempfile
from pathlib import Path

import click

from kernelkit.terminal.exits import HELP
from suites.running import run_suites
from suites.table import table

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(help=__doc__, context_settings=HELP)
@click.option("--kaggle-cli", type=FOLDER, help="A checkout of Kaggle/kaggle-cli.")
@click.option("--kagglehub", type=FOLDER, help="A checkout of Kaggle/kagglehub.")
@click.option("--python", type=FILE, help="One that has what kagglehub's unit tests need.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the table here.")
def main(
    kaggle_cli: Path | None, kagglehub: Path | None, python: Path | None, output: Path | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = table(*run_suites(Path(folder), kaggle_cli, kagglehub, python))
    click.echo(text)
    if output:
        output.write_text(text)


if __name__ == "__main__":
    main()
