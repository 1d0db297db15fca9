"""What the commands share: options under one name each, and how a command is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kernelkit.terminal.cli import exits_with_code

EXIT_CODES = (
    "Exit codes: 0 complete, 2 usage or parameters, 3 preflight, 4 credentials, 5 refused "
    "or no capacity, 6 the run failed, 7 deadline passed with the run alive, 8 network gave up, "
    "9 outputs incomplete, 10 not the accelerator asked for, 11 data or weights missing, "
    "12 cannot write, 13 still running (commands that do not wait), 14 does not fit the TPU, "
    "15 no TPU compiler here, 130 interrupted."
)

FILE = click.Path(path_type=Path)

accelerator = click.option(
    "--accelerator", metavar="KIND", help="The machine: tpu, gpu, cpu, or a machine shape."
)
AS_JSON = click.Option(
    ["--json", "as_json"], is_flag=True, help="Write one JSON object for each event."
)
QUIET = click.Option(["--quiet"], is_flag=True, help="Write only warnings, errors and results.")
LOCAL = click.Option(
    ["--local"], is_flag=True, help="Use a Kaggle for rehearsals, which this command serves."
)
check_tpu = click.option(
    "--check-tpu", is_flag=True, help="Compile for the TPU first; stop if it does not fit."
)
continues = click.option(
    "--continue", "continues", is_flag=True, help="Continue from what the last run left."
)
metadata = click.option("--metadata", type=FILE, help="The kernel-metadata.json to use.")
output = click.option("--output", type=FILE, metavar="DIR", help="The folder for the run's files.")
parameters = click.option(
    "-p",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a parameter; may be repeated.",
)
report = click.option(
    "--report/--no-report", default=True, help="Write a report.html (the default)."
)
submit = click.option(
    "--submit", metavar="MESSAGE", help="Submit the result and wait for its score."
)
timeout = click.option(
    "--timeout", type=float, metavar="MINUTES", help="Longest time for the session."
)
unverified = click.option(
    "--unverified", is_flag=True, help="Take files that do not prove to be this push's."
)


def command(
    name: str, *, local: bool = False, group: click.Group | None = None, **settings: Any
) -> Callable[[Callable[..., object]], click.Command]:
    """Make a function a command, which ends with the exit code of its error.

    The options that every command has come last, with `local` also `--local`. `group`: the
    commands that it is one of; `settings`: those of `click.command`.
    """

    def made(function: Callable[..., object]) -> click.Command:
        settings.setdefault("epilog", EXIT_CODES)
        new = click.command(name, cls=click.Command, **settings)(exits_with_code(function))
        new.params += [*([LOCAL] if local else []), AS_JSON, QUIET]
        if group:
            group.add_command(new)
        return new

    return made


def of_a_push(command: Callable[..., Any]) -> Callable[..., Any]:
    """The notebook and the options that say what is pushed, for a command that pushes or queues."""
    notebook = click.argument("notebook", type=FILE, required=False)
    named = (notebook, parameters, metadata, accelerator, timeout, output, continues, submit)
    for option in reversed(named):
        command = option(command)
    return command
