"""Run the tests of kaggle-cli and kagglehub against the local Kaggle; a table for the docs."""

import subprocess
import tempfile
from pathlib import Path

import click

from kernelkit.exits.exit_codes import HELP
from suites import released
from suites.running import NotCollectedError, run_suites
from suites.table import table

NOT_FETCHED = (
    "pip could not fetch the sources of the newest clients: try again, or give checkouts of both "
    "with --kaggle-cli and --kagglehub, and leave --released out"
)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(help=__doc__, context_settings=HELP)
@click.option("--kaggle-cli", type=FOLDER, help="A checkout of Kaggle/kaggle-cli.")
@click.option("--kagglehub", type=FOLDER, help="A checkout of Kaggle/kagglehub.")
@click.option(
    "--released", "is_released", is_flag=True, help="Take what is no checkout from the index."
)
@click.option("--python", type=FILE, help="One that has what kagglehub's unit tests need.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the table here.")
def main(
    kaggle_cli: Path | None,
    kagglehub: Path | None,
    is_released: bool,
    python: Path | None,
    output: Path | None,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sdk = None
        if is_released:
            try:
                clients = released.fetch(Path(folder, "released"))
            except (subprocess.SubprocessError, ValueError) as error:
                raise click.ClickException(f"{NOT_FETCHED} ({error})") from None
            kaggle_cli = kaggle_cli or clients.kaggle_cli
            kagglehub = kagglehub or clients.kagglehub
            sdk = clients.sdk
        sources = [source for source in (kaggle_cli, kagglehub) if source]
        versions = [released.version_of(source) for source in sources]
        try:
            suites, calls = run_suites(Path(folder), kaggle_cli, kagglehub, python, sdk=sdk)
        except NotCollectedError as error:
            raise click.ClickException(str(error)) from None
        text = table(suites, calls, versions)
    click.echo(text)
    if output:
        output.write_text(text)


if __name__ == "__main__":
    main()
