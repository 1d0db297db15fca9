"""`kernelkit check`."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import completion, options
from kernelkit.cli.definition import command


@command("", "kernels/train --tpu")
@options.notebook
@options.parameters
@options.metadata
@options.accelerator
@click.option("--timeout", type=float, metavar="MINUTES", help="Check a push with this time limit.")
@click.option(
    "--ignore",
    metavar="CHECK",
    shell_complete=completion.checks,
    multiple=True,
    help="Report the errors of this check as warnings; may be repeated.",
)
@click.option("--all", "every", is_flag=True, help="Check every kernel of the folder and below.")
@click.option(
    "--tpu", is_flag=True, help="Also compile the run's programs for a TPU, without a TPU."
)
@click.option("--machine", metavar="NAME", help="With --tpu: v5e-8 (default), v6e-8 or v3-8.")
@click.option("--libtpu", metavar="VERSION", help="With --tpu: compile with this libtpu.")
@click.option(
    "--largest-batch", is_flag=True, help="With --tpu: search for the largest batch that fits."
)
def check(notebook: Path | None, **values: Any) -> None:
    """Check a notebook before it is pushed, without an account.

    NOTEBOOK may be a folder with a kernel-metadata.json in it or above. Of one without, each kernel
    below it is checked, as with --all. `push --dry-run` also asks Kaggle. With --tpu the TPU's own
    compiler says whether the run fits, what uses the memory, and how fast it can be at best; that
    needs no kernel-metadata.json. Its environment is made on first use.
    """
    from kernelkit.push.checked.check_push import check_push

    check_push(notebook, **values)
