"""Commands that are found by name, and imported only when they are called."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called, or for its help.

    package  has each command in a module of the command's name
    groups   {title in the help: names of commands}
    """

    def __init__(
        self, name: str, package: str, groups: Mapping[str, Sequence[str]], **settings: Any
    ) -> None:
        self.package = package
        self.groups = groups
        self.names = [name for names in groups.values() for name in names]
        # Empty commands, none of which runs: click suggests the nearest of their names.
        super().__init__(name, dict.fromkeys(self.names, click.Command(None)), **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, in the order of the help."""
        return self.names

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or None."""
        if cmd_name not in self.names:
            return None
        command: click.Command = getattr(import_module(f"{self.package}.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, with their full first sentences."""
        for title, names in self.groups.items():
            commands = filter(None, (self.get_command(ctx, name) for name in names))
            rows = [(str(each.name), each.get_short_help_str(200)) for each in commands]
            with formatter.section(title):
                formatter.write_dl(rows)
