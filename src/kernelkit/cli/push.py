"""Push a notebook to Kaggle, or rehearse it on this machine, and download the results."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import options


@options.command(
    "push",
    ("notebooks/train.ipynb --accelerator tpu", "-p epochs=12 --no-wait"),
    local=True,
)
@options.of_a_push
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
@options.ignore
@options.once
@click.option("--force", is_flag=True, help="Push even if nothing changed or a run is active.")
@options.check_tpu
def push(notebook: Path | None, no_wait: bool, **values: Any) -> None:
    """Check, push, wait, fetch and report, in one command.

    NOTEBOOK defaults to code_file in kernel-metadata.json; -p FOLDER names the metadata's folder,
    as with Kaggle's own client.
    """
    from kernelkit.push.command import push_kernel

    push_kernel(notebook, wait=not no_wait, **values)


@options.command("check", ("", "kernels/train --tpu"))
@options.notebook
@options.parameters
@options.metadata
@options.accelerator
@options.timeout
@options.ignore
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

    NOTEBOOK may be a folder with a kernel-metadata.json, or one with several kernels below it: then
    each is checked. `push --dry-run` also asks Kaggle. With --tpu the TPU's own compiler says
    whether the run fits, what uses the memory, and how fast it can be at best; that needs no
    kernel-metadata.json. Its environment is made on first use.
    """
    from kernelkit.push.check_push import check_push

    check_push(notebook, **values)


NOT_IN_REHEARSALS = ("local", "no_wait", "once")


@options.command(
    "rehearse",
    ("notebooks/train.ipynb", "-p epochs=1 --check-tpu"),
    events=False,  # the options of a push include those of its events
    params=[option for option in push.params if option.name not in NOT_IN_REHEARSALS],
)
@click.option(
    "--packages",
    type=click.Choice(["kaggle"]),
    help="Install packages that Kaggle's image has and this machine lacks (once), for rehearsals.",
)
def rehearse(notebook: Path | None, **values: Any) -> None:
    """Rehearse a push against a local stand-in for Kaggle.

    Nothing leaves the machine.
    """
    from kernelkit.push.command import push_kernel

    push_kernel(notebook, local=True, **values)


@options.command("rerun", ("notebooks/submit.ipynb", "--hidden hidden/leaves --rows 20000"))
@options.notebook
@options.parameters
@options.ignore
@options.metadata
@click.option(
    "--hidden",
    type=options.FILE,
    metavar="FOLDER",
    help="The competition's folder in the second run; default hidden/SLUG of the catalogue.",
)
@click.option(
    "--rows", type=click.IntRange(1), help="Project the time for a real test set of this many rows."
)
def rerun(notebook: Path | None, metadata: Path | None, **values: Any) -> None:
    """Rehearse a code competition: run the notebook, then again on hidden data.

    The second run has no internet and Kaggle's limits. You get the message that Kaggle would show,
    and what it would hide: the failing cell, memory, disk and time.
    """
    from kernelkit.push import hidden_run as reruns

    reruns.rerun(notebook, metadata_file=metadata, **values)
