"""Write docs/cli.md: every command and every option, from the commands themselves."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import runpy
from pathlib import Path

import click

from kernelkit.commands import reference
from kernelkit.commands.console import main as kernelkit
from kernelkit.terminal.cli import reports_errors

TOOLS = Path(__file__).resolve().parent


def commands() -> dict[str, click.Command]:
    """`kernelkit` and each tool that is no command of it, by the words that start it."""
    mains = {
        f"python tools/{path.name}": runpy.run_path(str(path))["main"]
        for path in sorted(TOOLS.glob("[!_]*.py"))
        if path.name != Path(__file__).name
    }
    own = {name: main for name, main in mains.items() if not _is_of_kernelkit(main)}
    return {"kernelkit": kernelkit, **own, "python tools/cli_reference.py": main}


def _is_of_kernelkit(command: click.Command) -> bool:
    callback = command.callback
    return callback is not None and callback.__module__.startswith("kernelkit.")


@click.command(help=__doc__)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=TOOLS.parent / "docs" / "cli.md",
    help="The page (docs/cli.md).",
)
@reports_errors
def main(output: Path) -> None:
    from kernelkit.files import write_text

    write_text(output, reference.markdown(commands()))


if __name__ == "__main__":
    main()
