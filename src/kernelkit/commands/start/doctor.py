"""Test on Kaggle what the kit assumes about it."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("doctor", ("", "--run --tpu"), local=True)
@click.option("--run", is_flag=True, help="Also save two private kernels and run one on a CPU.")
@click.option("--tpu", is_flag=True, help="Also run one on a TPU (ten minutes of quota at most).")
@options.submit
def doctor(**values: Any) -> None:
    """Check your account, and compare Kaggle with what the kit assumes about it.

    The result is a table: as assumed, different, or not tested. Without options, the command makes
    only a few requests; it says beforehand what it costs and which private kernels it leaves
    behind.
    """
    from kernelkit.doctor.examination import examine

    examine(**values)
