"""Turn executed notebooks and run folders into HTML; with --index, a page over all runs.

PATH is an executed notebook or a run folder, and with --index also a folder of run folders.
"""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.cli import reports_errors


@click.command(help=__doc__)
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--index", is_flag=True, help="A page over all runs in PATH..., with their reports.")
@click.option("--output", type=click.Path(path_type=Path), help="The page, if there is one only.")
@reports_errors
def main(paths: tuple[Path, ...], index: bool, output: Path | None) -> None:
    from kernelkit.runs.report import report

    for page in report(paths, index=index, output=output):
        click.echo(page)


if __name__ == "__main__":
    main()
