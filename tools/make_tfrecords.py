"""Make TFRecords in the competition's format from photos, or inspect TFRecords."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import sys
from pathlib import Path
from typing import Any

import click

from kernelkit.exits.exit_codes import HELP, exits_with_code
from kernelkit.terminal.live_line import working

DATA_PROBLEMS = 11


@click.group(help=__doc__, context_settings=HELP)
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
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    help="A CSV in UTF-8 with the columns file (relative to PHOTOS) and label, or two others.",
)
@click.option("--file-column", default="", help="The column of the table that names the photos.")
@click.option("--label-column", default="", help="The column of the table that names the classes.")
@click.option(
    "--test-photos",
    type=click.Path(path_type=Path),
    help="A folder of photos without labels: the test split.",
)
@click.option(
    "--val",
    default=0.2,
    show_default=True,
    help="Share of photos for validation; unused with a folder for it.",
)
@click.option(
    "--test",
    default=0.2,
    show_default=True,
    help="Share of photos for the test split; unused with test photos or folders of splits.",
)
@exits_with_code
def write(photos: Path, output: Path, **options: Any) -> None:
    """Write OUTPUT/tfrecords-jpeg-SxS/{train,val,test} from PHOTOS/CLASS/*.

    With --labels, the photos and their classes are those of the CSV. With test photos,
    OUTPUT/test_photos.csv gives the id of each file in a submission. OUTPUT/left_out.csv names the
    photos that are not used.

    If the folders name splits (PHOTOS/train/CLASS/*), they become the splits. Otherwise the content
    of a photo decides its split, so the split stays the same when photos are added.

    OUTPUT must be outside the test photos, and without --labels outside PHOTOS. It changes only
    when everything is written; after an interruption, the same command continues where it stopped.
    """
    from petals.prepare.request import IngestSettings, check_folders
    from petals.progress import Progress
    from petals.quiet import without_notes

    # Before TensorFlow is imported, which takes seconds.
    check_folders(photos, output, options["labels"], options["test_photos"])
    IngestSettings(sizes=options["sizes"], val=options["val"], test=options["test"])
    with working("loading TensorFlow"), without_notes():
        from petals.prepare.ingest import make_tfrecords

    click.echo(str(make_tfrecords(photos, output, **options, progress=Progress())))


@main.command()
@click.argument("root", type=click.Path(path_type=Path))
@exits_with_code
def inspect(root: Path) -> None:
    """Read every record under ROOT and report counts, classes, sizes and problems.

    Ends with exit code 11 if there is a problem.
    """
    from petals.errors import DataError
    from petals.progress import Progress
    from petals.quiet import without_notes

    if not root.is_dir():  # before TensorFlow is imported, which takes seconds
        raise DataError(f"no such folder: {root}")
    with working("loading TensorFlow"), without_notes():
        from petals.data import inspection

    report = inspection.inspect(root, Progress())
    for health in report:
        click.echo(str(health))
    sys.exit(DATA_PROBLEMS if any(health.problems for health in report) else 0)


if __name__ == "__main__":
    main()
