"""`kernelkit push`."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import completion
from kernelkit.cli.definition import command
from kernelkit.cli.options import of_a_push


@command(
    "notebooks/train.ipynb --accelerator tpu",
    "-p epochs=12 --no-wait",
)
@of_a_push
@click.option(
    "--dry-run", is_flag=True, help="Check everything and show what would be sent; send nothing."
)
@click.option(
    "--chain",
    is_flag=True,
    help="First push the kernels of this repository that it reads, unless they are up to date.",
)
@click.option(
    "--no-wait",
    is_flag=True,
    help="Return after the push; `resume` reconnects later and takes --output and --submit.",
)
@click.option("--no-run", is_flag=True, help="Save a version on Kaggle without running it.")
@click.option(
    "--when-free",
    is_flag=True,
    help="Wait until a session and enough of the week's hours are free; with --no-wait, do what is "
    "possible now and exit with 13 if more is left.",
)
@click.option(
    "--ignore",
    metavar="CHECK",
    shell_complete=completion.checks,
    multiple=True,
    help="Push even if this check fails; may be repeated.",
)
@click.option(
    "--once", is_flag=True, help="Succeed if the results of an identical push are here already."
)
@click.option("--force", is_flag=True, help="Push even if nothing changed or a run is active.")
def push(notebook: Path | None, no_wait: bool, when_free: bool, **values: Any) -> None:
    """Run a notebook on Kaggle: check, push, wait, download and report.

    NOTEBOOK defaults to code_file in kernel-metadata.json, and may be the folder of that file. You
    may kill the command at any time: the same command, or `resume`, returns to the run.
    """
    if when_free:
        from kernelkit.watching.when_free import push_when_free

        push_when_free(notebook, wait=not no_wait, **values)
        return
    from kernelkit.push.push_kernel import push_kernel

    push_kernel(notebook, wait=not no_wait, **values)
