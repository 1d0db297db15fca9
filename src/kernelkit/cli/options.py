"""Arguments and options that mean the same in several commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kernelkit.cli import completion

FILE = click.Path(path_type=Path)

notebook = click.argument("notebook", type=FILE, required=False)
parameters = click.option(
    "-p",
    "parameters",
    metavar="NAME=VALUE",
    shell_complete=completion.parameters,
    multiple=True,
    help="Set a parameter; may be repeated.",
)
metadata = click.option("--metadata", type=FILE, help="Use this kernel-metadata.json.")
accelerator = click.option(
    "--accelerator",
    metavar="KIND",
    shell_complete=completion.machines,
    help="The machine: tpu, gpu, cpu or a machine shape.",
)
timeout = click.option(
    "--timeout", type=float, metavar="MINUTES", help="Stop the session after this many minutes."
)
model = click.option(
    "--model",
    metavar="SOURCE",
    multiple=True,
    help="Also attach this model, written as in model_sources; may be repeated.",
)
output = click.option(
    "--output",
    type=FILE,
    metavar="DIR",
    help="Put the results here (default: a new folder in runs/).",
)
continues = click.option(
    "--continue", "continues", is_flag=True, help="Continue training from the last run's files."
)
submit = click.option(
    "--submit", metavar="MESSAGE", help="Submit the result, and wait for its score."
)
unverified = click.option(
    "--unverified", is_flag=True, help="Accept files without proof that this push made them."
)
push = click.argument(
    "push", metavar="[OWNER/SLUG/N]", default="last", shell_complete=completion.pushes
)


def of_a_push(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the notebook and the options of a push, for a command that pushes."""
    common = (parameters, metadata, accelerator, timeout, model, output, continues, submit)
    for option in reversed((notebook, *common)):
        command = option(command)
    return command
