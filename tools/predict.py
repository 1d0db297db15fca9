"""Classify photos with the model of a run."""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.exits.exit_codes import HELP, exits_with_code
from kernelkit.terminal.live_line import working


@click.command(help=__doc__, context_settings=HELP)
@click.argument("model")
@click.argument("photos", nargs=-1)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="A folder for predictions.csv and predictions.jpg.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Most likely classes to show.",
)
@exits_with_code
def main(model: str, photos: tuple[str, ...], output: Path | None, top: int) -> None:
    """Classify PHOTOS: files, folders or globs.

    MODEL is a run's classifier.h5 or its folder, or auto for the best in runs/.
    """
    from petals.data.photo_files import find_photos
    from petals.quiet import without_notes

    find_photos(photos)  # before TensorFlow is imported, which takes seconds
    with working("loading TensorFlow"), without_notes():
        from petals.classify import classify

    with working("classifying the photos"):
        answers = classify(model, photos, top=top, output=output)
    click.echo(answers)


if __name__ == "__main__":
    main()
