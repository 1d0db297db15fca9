"""`kernelkit`: one command for each thing that you do with a notebook and Kaggle."""

from __future__ import annotations

from importlib import import_module

import click

# The module of each command, in the groups and the order of the help.
GROUPS = {
    "Start": dict.fromkeys(("init", "local", "doctor", "mcp"), "start"),
    "Run": {"run": "run", "tpu": "run", "rehearse": "kaggle.push", "rerun": "kaggle.push"},
    "Kaggle": {
        **dict.fromkeys(("check", "push"), "kaggle.push"),
        **dict.fromkeys(("resume", "fetch", "submit", "status", "quota", "stop"), "kaggle.pushed"),
        "queue": "kaggle.queue",
        "pull": "kaggle.pushed",
        **dict.fromkeys(("dataset", "model"), "kaggle.dataset"),
    },
    "Compare": dict.fromkeys(("sweep", "report", "watch"), "compare"),
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}


class Commands(click.Group):
    """The commands; the module of each is imported when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"kernelkit.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, with their full first sentences."""
        for title, names in GROUPS.items():
            commands = [c for name in names if (c := self.get_command(ctx, name))]
            with formatter.section(title):
                formatter.write_dl([(str(c.name), c.get_short_help_str(200)) for c in commands])


@click.command(
    cls=Commands,
    commands=dict.fromkeys(COMMANDS, click.Command(None)),  # click suggests the nearest of these
    epilog="Exit codes: docs/reference/exit-codes.md. NO_COLOR=1 turns colours off.\n\n"
    'Completion in bash: eval "$(_KERNELKIT_COMPLETE=bash_source kernelkit)"; in zsh and fish '
    "with zsh_source and fish_source.",
)
@click.version_option(package_name="kernelkit", message="kernelkit %(version)s")
def main() -> None:
    """Develop Kaggle notebooks locally: run, rehearse, push, sweep, report."""
