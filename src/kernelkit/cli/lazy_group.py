"""Commands that are found by name, and imported only when they are called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is called, or for its help.

    groups  {title in the help: {name of a command: the module of `package` that has it}}
    """

    def __init__(
        self,
        name: str,
        package: str,
        groups: Mapping[str, Mapping[str, str]],
        **settings: Any,
    ) -> None:
        self.package = package
        self.groups = groups
        self.modules = {name: at for group in groups.values() for name, at in group.items()}
        # click suggests the nearest of these names.
        super().__init__(name, dict.fromkeys(self.modules, click.Command(None)), **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, in the order of the help."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or None."""
        if cmd_name not in self.modules:
            return None
        module = import_module(f"{self.package}.{self.modules[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, with their full first sentences."""
        for title, names in self.groups.items():
            commands = filter(None, (self.get_command(ctx, name) for name in names))
            rows = [(str(each.name), each.get_short_help_str(200)) for each in commands]
            with formatter.section(title):
                formatter.write_dl(rows)
