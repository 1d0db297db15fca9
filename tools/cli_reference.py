"""Write docs/reference/cli.md: every command and every option, from the commands themselves."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
import runpy
from pathlib import Path

import click

from kernelkit.commands import reference
from kernelkit.commands.console import main as kernelkit
from kernelkit.terminal.cli import exits_with_code

TOOLS = Path(__file__).resolve().parent


def commands() -> dict[str, click.Command]:
    """`kernelkit` and each tool that is no command of it, by the words that start it."""
    shared = same()
    own = {words: main for words, main in _tools().items() if words not in shared}
    return {"kernelkit": kernelkit, **own, "python tools/cli_reference.py": main}


def same() -> dict[str, str]:
    """The tools that are commands of `kernelkit`, with the words that start these."""
    push = "python tools/push_kernel.py"  # two commands in one
    named = {words: _of_kernelkit(main) for words, main in _tools().items()}
    named |= {push: "kernelkit push", f"{push} --resume": "kernelkit resume"}
    return {words: name for words, name in sorted(named.items()) if name}


def _tools() -> dict[str, click.Command]:
    return {
        f"python tools/{path.name}": runpy.run_path(str(path))["main"]
        for path in sorted(TOOLS.glob("[!_]*.py"))
        if path.name != Path(__file__).name
    }


def _of_kernelkit(command: click.Command) -> str:
    """`kernelkit NAME` of a command that stands in a room of `kernelkit.commands`, or nothing."""
    module = getattr(command.callback, "__module__", "")
    package, _, name = module.rpartition(".")
    return f"kernelkit {name}" if package.startswith("kernelkit.commands.") else ""


@click.command(help=__doc__)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=TOOLS.parent / "docs" / "reference" / "cli.md",
    help="The page (docs/reference/cli.md).",
)
@exits_with_code
def main(output: Path) -> None:
    from kernelkit.files import write_text

    write_text(output, reference.markdown(commands(), same()))


if __name__ == "__main__":
    main()
