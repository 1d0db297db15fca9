"""Take up an earlier push: wait for its run and bring the results home."""

from __future__ import annotations

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.command("resume", epilog=options.EXIT_CODES)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@options.accelerator
@options.output
@options.submit
@options.local
@options.as_json
@options.quiet
@exits_with_code
def command(push: str, **given: object) -> None:
    """Wait for an earlier push, fetch and report.

    The default is the last push.
    """
    from kernelkit.pushes.resuming import resume_push

    resume_push(push, **given)  # type: ignore[arg-type]
