"""Draw the flowers of `drawn_flowers/`, the photos for runs without a download, anew.

After a change of a drawing, raise `VERSION` in `draw_flowers/dataset.py`, then:

rm -r drawn_flowers && PYTHONPATH=tools .venv/bin/python -m draw_flowers drawn_flowers
"""

from pathlib import Path

import click

from draw_flowers.dataset import COUNTS, QUALITY, SIZE, write_dataset
from kernelkit.exits.exit_codes import HELP, exits_with_code
from petals.progress import Progress


@click.command(help=__doc__, context_settings=HELP)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--size",
    type=click.IntRange(8, 1024),
    default=SIZE,
    show_default=True,
    help="Side of the square pictures in pixels.",
)
@click.option(
    "--quality",
    type=click.IntRange(1, 95),
    default=QUALITY,
    show_default=True,
    help="Quality of the JPEGs.",
)
@exits_with_code
def main(folder: Path, size: int, quality: int) -> None:
    write_dataset(folder, size, quality, COUNTS, progress=Progress())
    click.echo(folder)


if __name__ == "__main__":
    main()
