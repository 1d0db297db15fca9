"""Write docs/reference/cli.md: every command and every option, from the commands themselves."""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from kernelkit.cli.console import main as kernelkit
from kernelkit.terminal.exits import HELP, exits_with_code

TOOLS = Path(__file__).resolve().parents[1] / "tools"
HEAD = """\
# All commands and options

`make docs` writes this page from the commands' own help. All commands share the same
[exit codes](exit-codes.md).
"""


def commands() -> dict[str, click.Command]:
    """`kernelkit` and each tool that is no command of it, by the words that start it."""
    shared = same()
    own = {words: main for words, main in _tools().items() if words not in shared}
    return {"kernelkit": kernelkit, **own}


def same() -> dict[str, str]:
    """The tools that are commands of `kernelkit`, with the words that start these."""
    push = "python3 tools/push_kernel.py"  # two commands in one
    named = {words: _of_kernelkit(main) for words, main in _tools().items()}
    named |= {push: "kernelkit push", f"{push} --resume": "kernelkit resume"}
    return {words: name for words, name in sorted(named.items()) if name}


def _tools() -> dict[str, click.Command]:
    sys.path.insert(0, str(TOOLS))  # for the module that each tool imports first
    return {
        f"python3 tools/{path.name}": runpy.run_path(str(path))["main"]
        for path in sorted(TOOLS.glob("[!_]*.py"))
    }


def _of_kernelkit(command: click.Command) -> str:
    """`kernelkit NAME` of a command that stands in `kernelkit.cli`, or nothing."""
    module = getattr(command.callback, "__module__", "")
    return f"kernelkit {command.name}" if module.startswith("kernelkit.cli.") else ""


def markdown(commands: Mapping[str, click.Command], same: Mapping[str, str]) -> str:
    """One section for each command, and for each below a group.

    Args:
        commands: each command by the words that start it, such as `kernelkit report`.
        same: other words that start one of the commands, with the words of that command.
    """
    rows = "\n".join(f"| `{words}` | `{command}` |" for words, command in same.items())
    table = f"| the tool | is the command |\n|---|---|\n{rows}\n"
    sections = [
        section for words, command in commands.items() for section in _sections(words, command)
    ]
    if same:
        sections.insert(0, table)
    return "\n".join([HEAD, *sections])


def _sections(words: str, command: click.Command) -> Iterator[str]:
    """The command's own section, then those of the commands below it."""
    context = click.Context(command, info_name=words, **HELP)
    yield _section(words, command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from _sections(f"{words} {name}", below)


def _section(words: str, command: click.Command, context: click.Context) -> str:
    usage = " ".join([words, *command.collect_usage_pieces(context)])
    text = inspect.cleandoc(command.help or "")
    rows = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    table = "\n".join(f"| `{_cell(option)}` | {_cell(what)} |" for option, what in rows)
    lines = [f"## {words}", "", f"`{usage}`", ""]
    if text:
        lines += [text, ""]
    lines += ["| option | meaning |", "|---|---|", table, ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text for a table's cell, in which a bar is escaped."""
    return text.replace("|", "\\|")


@click.command(help=__doc__, context_settings=HELP)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=TOOLS.parent / "docs" / "reference" / "cli.md",
    help="The page (docs/reference/cli.md).",
)
@exits_with_code
def main(output: Path) -> None:
    from kernelkit.files import write_text

    write_text(output, markdown(commands(), same()))


if __name__ == "__main__":
    main()
