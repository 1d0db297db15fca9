"""`kernelkit`: one command for each thing that you do with a notebook and Kaggle."""

from __future__ import annotations

from importlib import import_module

import click

# Each command's module, in the order in which the help shows the commands.
COMMANDS = {
    "push": "kaggle.push",
    "rehearse": "kaggle.push",
    "rerun": "kaggle.rerun",
    "resume": "kaggle.pushed",
    "fetch": "kaggle.pushed",
    "submit": "kaggle.pushed",
    "status": "kaggle.pushed",
    "quota": "kaggle.pushed",
    "stop": "kaggle.pushed",
    "queue": "kaggle.queue",
    "run": "run.run",
    "sweep": "compare.sweep",
    "tpu": "run.tpu",
    "report": "compare.report",
    "dataset": "kaggle.dataset",
    "init": "start.init",
    "local": "start.local",
}


class Commands(click.Group):
    """The commands; the module of each is imported when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order in which the help shows them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"kernelkit.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.command(
    cls=Commands,
    epilog="Exit codes: see `kernelkit push --help`. NO_COLOR=1 turns colours off.\n\n"
    'Completion in bash: eval "$(_KERNELKIT_COMPLETE=bash_source kernelkit)"; in zsh and fish '
    "with zsh_source and fish_source.",
)
@click.version_option(package_name="kernelkit", message="kernelkit %(version)s")
def main() -> None:
    """Notebooks from the desk to Kaggle and back: run, rehearse, push, sweep, report."""
