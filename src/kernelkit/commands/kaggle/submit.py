"""Enter the submission file of a run into its competition."""

from __future__ import annotations

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("submit", epilog=options.EXIT_CODES)
@click.argument("result", metavar="[OWNER/SLUG/N | FOLDER]", default="last")
@click.option(
    "-m",
    "--message",
    default="submitted by kernelkit",
    show_default=True,
    help="What the competition's page says of it.",
)
@click.option(
    "--competition", metavar="SLUG", help="For a FOLDER; kernel-metadata.json's by default."
)
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(result: str, message: str, **given: object) -> None:
    """Enter a run's submission.csv and wait for its score.

    The run is a push, the last one by default, or the FOLDER of any run.
    """
    from kernelkit.pushes.existing import submit_result

    submit_result(result, message, **given)  # type: ignore[arg-type]
