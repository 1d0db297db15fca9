"""Draw the pictures of README and the docs, from real runs.

They are the report that COMMAND leaves, the page of a sweep, and the animation of a notebook that
is checked, corrected, rehearsed and read.
"""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.exits.exit_codes import HELP, exits_with_code
from picturing import animation
from picturing.readme import draw


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True} | HELP)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--sweep",
    type=click.Path(exists=True, path_type=Path),
    default=Path("docs/examples/example/index.html"),
    help="The page of a sweep.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default=Path("docs"),
    help="The folder for the pictures.",
)
@exits_with_code
def main(command: tuple[str, ...], sweep: Path, into: Path) -> None:
    made = draw(command, sweep, into)
    made.append(animation.draw(into / "demo.gif"))
    for path in made:
        click.echo(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
