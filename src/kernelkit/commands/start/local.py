"""Serve a Kaggle for rehearsal on this machine.

Prints how to point the official client at it.
"""

from __future__ import annotations

from pathlib import Path

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("local", help=__doc__, epilog=options.EXIT_CODES)
@click.option("--port", default=0, show_default="a free one", help="Port on 127.0.0.1.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/local_kaggle"),
    show_default=True,
    help="Folder for kernels, sessions, datasets and submissions.",
)
@click.option(
    "--catalogue",
    type=click.Path(path_type=Path, file_okay=False),
    show_default="ROOT/catalogue",
    help="Folder with competitions/, datasets/ and solutions/ that kernels can use.",
)
@click.option("--faults", type=int, metavar="SEED", help="Misbehave by this seed's schedule.")
@click.option("--fill", metavar="COMMAND", help="Fills {catalogue} before serving.")
@options.as_json
@options.quiet
@exits_with_code
def command(root: Path, **given: object) -> None:
    from local_kaggle.standalone import local_kaggle

    local_kaggle(root, **given)  # type: ignore[arg-type]
