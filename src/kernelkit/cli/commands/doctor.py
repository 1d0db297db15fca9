"""`kernelkit doctor`."""

from typing import Any

import click

from kernelkit.cli.definition import command


@command("", "--run --tpu", local="Ask a local stand-in instead of Kaggle.")
@click.option(
    "--run", is_flag=True, help="Also push a private notebook that inspects a CPU session."
)
@click.option("--tpu", is_flag=True, help="Also push it to a TPU (ten minutes of quota at most).")
@click.option(
    "--submit",
    metavar="MESSAGE",
    help="Do what --run does, and submit the sample submission to the code competition.",
)
def doctor(**values: Any) -> None:
    """Check your account, and what the kit assumes about Kaggle.

    The result is a table: as assumed, different, or not tried. Without options, the command makes
    only a few requests; it says beforehand what it costs and which private kernel it leaves behind.
    """
    from kernelkit.doctor.examination import examine

    examine(**values)
