"""What the commands share: their common options, and how a command is defined."""

import copy
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kernelkit.cli import completion
from kernelkit.exits.exit_codes import HELP, exits_with_code

FILE = click.Path(path_type=Path)

accelerator = click.option(
    "--accelerator",
    metavar="KIND",
    shell_complete=completion.offered,
    help="The machine: tpu, gpu, cpu or a machine shape.",
)
AS_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object per event.")
QUIET = click.Option(["--quiet"], is_flag=True, help="Only warnings, errors and the result.")
continues = click.option(
    "--continue", "continues", is_flag=True, help="Continue training from the last run's files."
)
ignore = click.option(
    "--ignore",
    metavar="CHECK",
    shell_complete=completion.offered,
    multiple=True,
    help="Push even if this check fails; may be repeated.",
)
metadata = click.option("--metadata", type=FILE, help="Use this kernel-metadata.json.")
model = click.option(
    "--model",
    metavar="SOURCE",
    multiple=True,
    help="Also attach this model, written as in model_sources; may be repeated.",
)
notebook = click.argument("notebook", type=FILE, required=False)
once = click.option(
    "--once", is_flag=True, help="Succeed if the results of an identical push are here already."
)
output = click.option(
    "--output",
    type=FILE,
    metavar="DIR",
    help="Put the results here (default: a new folder in runs/).",
)
parameters = click.option(
    "-p",
    "parameters",
    metavar="NAME=VALUE",
    shell_complete=completion.offered,
    multiple=True,
    help="Set a parameter; may be repeated.",
)
report = click.option("--report/--no-report", default=True, help="Write a report.html (default).")
submit = click.option(
    "--submit",
    metavar="MESSAGE",
    help="Submit the result, and wait for its score.",
)
timeout = click.option(
    "--timeout", type=float, metavar="MINUTES", help="Stop the session after this many minutes."
)
unverified = click.option(
    "--unverified", is_flag=True, help="Accept files without proof that this push made them."
)


class _Command(click.Command):
    """A command that knows a machine's name as the word of `--accelerator`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments that are left; raises `click.UsageError` with the nearest option."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            kind = error.option_name.removeprefix("--")
            machines = [option for option in self.params if option.name == "accelerator"]
            if machines and kind in ("tpu", "gpu", "cpu"):
                text = f"No such option '--{kind}'. Did you mean '--accelerator {kind}'?"
                raise click.UsageError(text, ctx) from None
            raise


def command(
    name: str,
    examples: tuple[str, str],
    *,
    local: str = "",
    **settings: Any,
) -> Callable[[Callable[..., object]], click.Command]:
    """Turn a function into a command, which ends with the exit code of its error.

    The common options come last. `local`: what `--local` does in this command, if it has that
    option; `examples`: arguments after its name; `settings`: those of `click.command`.
    """

    def made(function: Callable[..., object]) -> click.Command:
        epilog = in_help(name, examples)
        new = click.command(name, cls=_Command, epilog=epilog, context_settings=HELP, **settings)(
            exits_with_code(function)
        )
        if local:
            new.params.append(click.Option(["--local"], is_flag=True, help=local))
        new.params += [AS_JSON, QUIET]
        return new

    return made


def reworded(option: click.Parameter, words: Mapping[str, str]) -> click.Parameter:
    """The option with other help if `words` has its name: what it does in another command."""
    if option.name not in words:
        return option
    new = copy.copy(option)
    new.help = words[option.name]
    return new


def in_help(command: str, examples: tuple[str, str]) -> str:
    """The end of a command's help: examples."""
    lines = (f"  kernelkit {command} {words}".rstrip() for words in examples)
    return "\n".join(["\b", "Examples:", *lines])


def gigabytes(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """The number of a size such as 10, 10GB or 0.5; a usage error for anything else."""
    if value is None:
        return None
    number = value.upper().removesuffix("GB").strip()
    if not re.fullmatch(r"\d+(\.\d+)?", number, re.ASCII):
        raise click.BadParameter(f"{value!r} is not a number of GB. Write NOTEBOOK before it")
    return float(number)


def of_a_push(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the notebook and the options of a push, for a command that pushes."""
    common = (parameters, metadata, accelerator, timeout, model, output, continues, submit)
    for option in reversed((notebook, *common)):
        command = option(command)
    return command
