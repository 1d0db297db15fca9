"""Write docs/reference/cli.md: every command and every option, from the commands themselves."""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from kernelkit.cli.console import main as kernelkit
from kernelkit.exits.exit_codes import HELP, exits_with_code

Row = tuple[str, str]  # an option as it is typed, and its help
TOOLS = Path(__file__).resolve().parents[1] / "tools"
FOR_CONTRIBUTORS = ("benchmark", "pictures", "trace_push")  # only their own help tells of these
HEAD = """\
# All commands and options

`make docs` writes this page from the commands' own help. All commands share the same
[exit codes](exit-codes.md), and `-h` or `--help` shows the help of each.
"""


def commands() -> dict[str, click.Command]:
    """`kernelkit` and each tool for users that is no command of it, by the words that start it."""
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
        if path.stem not in FOR_CONTRIBUTORS
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


def _sections(words: str, command: click.Command, told: tuple[Row, ...] = ()) -> Iterator[str]:
    """The command's own section, then those of the commands below it.

    Rows that `told` has stand in the section of the group, since all of its commands share them.
    """
    context = click.Context(command, info_name=words, **HELP)
    rows = [row for row in _rows(command, context) if row not in told]
    below = _below(command, context)
    shared = _shared(below, context)
    yield _section(words, command, context, rows, shared)
    for name, each in below.items():
        yield from _sections(f"{words} {name}", each, shared)


def _below(command: click.Command, context: click.Context) -> dict[str, click.Command]:
    """The commands of a group by their names; none of a command that is no group."""
    if not isinstance(command, click.Group):
        return {}
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: each for name, each in found.items() if each}


def _rows(command: click.Command, context: click.Context) -> list[Row]:
    """Each option that is not hidden, with what its help says; `--help` is told of at the top."""
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    own = [each for each in options if "--help" not in each.opts]
    records = [option.get_help_record(context) for option in own]
    return [record for record in records if record]


def _shared(below: Mapping[str, click.Command], context: click.Context) -> tuple[Row, ...]:
    """The options that all commands of a group have, in words that are the same."""
    all_rows = [_rows(each, context) for each in below.values()]
    first = all_rows[0] if all_rows else []
    return tuple(row for row in first if all(row in rows for rows in all_rows))


def _section(
    words: str,
    command: click.Command,
    context: click.Context,
    rows: Sequence[Row],
    shared: Sequence[Row],
) -> str:
    usage = " ".join([words, *command.collect_usage_pieces(context)])
    text = inspect.cleandoc(command.help or "")
    lines = [f"## {words}", "", f"`{usage}`", ""]
    if text:
        lines += [text, ""]
    lines += _table(rows)
    if shared:
        lines += ["Each of its commands also has these options:", "", *_table(shared)]
    return "\n".join(lines)


def _table(rows: Sequence[Row]) -> list[str]:
    """The lines of a table of options, with an empty one at its end; none without options."""
    cells = [f"| `{_cell(option)}` | {_cell(what)} |" for option, what in rows]
    return ["| option | meaning |", "|---|---|", *cells, ""] if cells else []


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
