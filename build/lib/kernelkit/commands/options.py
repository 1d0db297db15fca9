"""The options that several commands have, each under one name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

EXIT_CODES = (
    "Exit codes: 0 complete, 2 usage or parameters, 3 preflight, 4 credentials, 5 refused "
    "or no capacity, 6 the run failed, 7 deadline passed with the run alive, 8 network gave up, "
    "9 outputs incomplete, 10 not the accelerator asked for, 11 data or weights missing, "
    "12 cannot write, 13 still running (commands that do not wait), 14 does not fit the TPU, "
    "15 no TPU compiler here, 130 interrupted."
)

FILE = click.Path(path_type=Path)

accelerator = click.option(
    "--accelerator", metavar="KIND", help="tpu, gpu, cpu, or a machine shape."
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object an event.")
quiet = click.option("--quiet", is_flag=True, help="Only warnings, errors and what came of it.")
check_tpu = click.option(
    "--check-tpu", is_flag=True, help="Compile for the TPU first; stop if it does not fit."
)
local = click.option("--local", is_flag=True, help="Rehearse on a Kaggle inside this command.")
continues = click.option(
    "--continue", "continues", is_flag=True, help="Go on from what the last run left."
)
metadata = click.option("--metadata", type=FILE, help="Another kernel-metadata.json.")
output = click.option("--output", type=FILE, metavar="DIR", help="Where files go.")
parameters = click.option(
    "-p", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter's value."
)
report = click.option("--report/--no-report", default=True, help="A report.html (the default).")
submit = click.option("--submit", metavar="MESSAGE", help="Submit the result, wait for its score.")
timeout = click.option(
    "--timeout", type=float, metavar="MINUTES", help="The longest the session may take."
)


def of_a_push(command: Callable[..., Any]) -> Callable[..., Any]:
    """The notebook and the options that say what is pushed, for a command that pushes or queues."""
    notebook = click.argument("notebook", type=FILE, required=False)
    named = (notebook, parameters, metadata, accelerator, timeout, output, continues, submit)
    for option in reversed(named):
        command = option(command)
    return command
