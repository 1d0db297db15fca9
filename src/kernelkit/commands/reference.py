"""A page of documentation over commands: what their help says, as Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

HEAD = """\
# All commands and options

`make docs` writes this page from the commands' own help. All commands share the same
[exit codes](exit-codes.md).
"""


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
    return "\n".join([HEAD, *([table] if same else []), *sections])


def _sections(words: str, command: click.Command) -> Iterator[str]:
    """The command's own section, then those of the commands below it."""
    context = click.Context(command, info_name=words)
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
    return "\n".join(
        [
            f"## {words}",
            "",
            f"`{usage}`",
            "",
            *([text, ""] if text else []),
            "| option | meaning |",
            "|---|---|",
            table,
            "",
        ]
    )


def _cell(text: str) -> str:
    """Text for a table's cell, in which a bar is escaped."""
    return text.replace("|", "\\|")
