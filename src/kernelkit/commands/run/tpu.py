"""Compile a run's programs for a TPU locally."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelkit.commands import options


@options.command("tpu", ("notebooks/train.ipynb", "notebooks/train.ipynb --largest-batch"))
@click.argument("notebook", type=options.FILE)
@options.parameters
@click.option(
    "--machine", default="v5e-8", show_default=True, help="The TPU: v5e-8, v6e-8 or v3-8."
)
@click.option("--libtpu", metavar="VERSION", default="", help="The version of another compiler.")
@click.option("--largest-batch", is_flag=True, help="Search for the largest batch that fits.")
def tpu(notebook: Path, parameters: tuple[str, ...], **values: Any) -> None:
    """Compile a run's programs for a TPU, without a TPU.

    Shows whether the run fits, what uses the memory, and how fast it can be at best. The compiler
    is the TPU's own, in an environment that is created on first use. A bound is what the chips'
    peaks allow, not a measurement. Checking the same run again takes a second.
    """
    from kernelkit.tpu.check import check_tpu

    check_tpu(notebook, parameters, **values)
