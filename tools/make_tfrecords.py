"""Make TFRecords in the competition's format from a folder of class folders, or inspect some."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import sys
from pathlib import Path

import click

from kernelkit.cli import reports_errors

DATA_PROBLEMS = 11


@click.group(help=__doc__)
def main() -> None: ...


@main.command()
@click.argument("photos", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option(
    "--size",
    "sizes",
    type=int,
    multiple=True,
    default=(192,),
    show_default=True,
    help="Side of the square images in pixels; may be repeated.",
)
@click.option("--val", default=0.2, show_default=True, help="Share of photos for validation.")
@click.option("--test", default=0.2, show_default=True, help="Share of photos for the test split.")
@click.option(
    "--fit",
    type=click.Choice(["crop", "squash"]),
    default="crop",
    show_default=True,
    help="Keep the middle square, or squeeze the whole photo into it.",
)
@click.option("--shards", default=0, help="Files a split; 0 = as many as suit the data.")
@reports_errors
def write(
    photos: Path,
    output: Path,
    sizes: tuple[int, ...],
    val: float,
    test: float,
    fit: str,
    shards: int,
) -> None:
    """Write OUTPUT/tfrecords-jpeg-SxS/{train,val,test} from PHOTOS/CLASS/*.

    A photo's split follows from its content, so it never changes sides. Interrupted, the same
    command goes on where it was.
    """
    from petals.prepare.ingest import make_tfrecords
    from petals.progress import Progress

    summary = make_tfrecords(photos, output, sizes=sizes, val=val, test=test, fit=fit,
                             shards=shards, progress=Progress())  # fmt: skip
    click.echo(str(summary))


@main.command()
@click.argument("root", type=click.Path(path_type=Path))
@reports_errors
def inspect(root: Path) -> None:
    """Read every record under ROOT: counts, classes, sizes, and all that is wrong.

    Ends with exit code 11 when something is.
    """
    from petals.data import inspection
    from petals.progress import Progress

    report = inspection.inspect(root, Progress())
    for health in report:
        click.echo(str(health))
    sys.exit(DATA_PROBLEMS if any(health.problems for health in report) else 0)


if __name__ == "__main__":
    main()
