#!/usr/bin/env python
"""Push a notebook to Kaggle, wait for its run and bring the results home."""

from __future__ import annotations

import _python  # noqa: F401 - before what a wrong Python lacks

# isort: split
from pathlib import Path

import click

from kernelkit.cli import reports_errors


@click.command(
    epilog="Exit codes: 0 complete, 2 usage or parameters, 3 preflight, 4 credentials, 5 refused "
    "or no capacity, 6 the run failed, 7 deadline passed with the run alive, 8 network gave up, "
    "9 outputs incomplete, 10 not the accelerator asked for, 11 data or weights missing, "
    "12 cannot write, 130 interrupted."
)
@click.argument("notebook", type=click.Path(path_type=Path), required=False)
@click.option("-p", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter's value.")
@click.option("--metadata", type=click.Path(path_type=Path), help="Another kernel-metadata.json.")
@click.option("--accelerator", metavar="KIND", help="tpu, gpu, cpu, or a machine shape.")
@click.option("--timeout", type=float, metavar="MINUTES", help="The longest the session may take.")
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="Where files go.")
@click.option("--dry-run", is_flag=True, help="Check everything, show what would go, send nothing.")
@click.option("--no-wait", is_flag=True, help="Push and leave; come back with --resume.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="last",
    metavar="[OWNER/SLUG/N]",
    help="Wait for and fetch an earlier push, the last one by default.",
)
@click.option("--continue", "continues", is_flag=True, help="Go on from what the last run left.")
@click.option("--force", is_flag=True, help="Push though nothing changed or a run is active.")
@click.option("--submit", metavar="MESSAGE", help="Submit the result and wait for its score.")
@click.option("--local", is_flag=True, help="Rehearse on a Kaggle inside this command.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event.")
@click.option("--list", "listing", is_flag=True, help="Show the ledger of pushes and end.")
@reports_errors
def main(notebook: Path | None, listing: bool, no_wait: bool, **options: object) -> None:
    """Check, push, wait, fetch and report, in one command.

    NOTEBOOK defaults to the code_file of kernel-metadata.json.
    """
    from kernelkit.push.command import list_pushes, push_kernel

    if listing:
        click.echo(list_pushes())
    else:
        push_kernel(notebook, wait=not no_wait, **options)


if __name__ == "__main__":
    main()
