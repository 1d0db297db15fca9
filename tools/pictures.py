"""Draw the pictures in the README: a terminal after a command, its report, a sweep's page, and
the animation of a notebook that is checked, corrected, rehearsed and read.

COMMAND runs in a terminal of 100 columns. Without it, the last recording is drawn again.
"""

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.terminal.exits import HELP, exits_with_code
from picturing import animation
from picturing.readme import draw


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True} | HELP)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--title", default="make run", help="The title above the terminal.")
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
def main(command: tuple[str, ...], title: str, sweep: Path, into: Path) -> None:
    made = draw(command, title, sweep, into)
    made.append(animation.draw(into / "demo.gif"))
    for path in made:
        click.echo(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
