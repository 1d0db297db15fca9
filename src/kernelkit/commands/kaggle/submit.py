"""Submit a run's result to its competition."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("submit", local=True)
@click.argument("result", metavar="[OWNER/SLUG/N | FOLDER]", default="last")
@click.option(
    "-m",
    "--message",
    default="submitted by kernelkit",
    show_default=True,
    help="The description on the competition's page.",
)
@click.option(
    "--competition",
    metavar="SLUG",
    help="The competition of a FOLDER; by default the one in kernel-metadata.json.",
)
@options.unverified
def command(result: str, message: str, **values: Any) -> None:
    """Submit a run's submission.csv and wait for its score.

    The run is a push, the last one by default, or the FOLDER of any run.
    """
    from kernelkit.pushes.resuming import submit_result

    submit_result(result, message, **values)
