"""Resume an earlier push: wait for its run and bring the results home."""

from __future__ import annotations

from typing import Any

import click

from kernelkit.commands import options


@options.command("resume", local=True)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@options.accelerator
@options.output
@options.submit
@options.unverified
def command(push: str, **values: Any) -> None:
    """Resume an earlier push: wait for its run, fetch its files and report.

    The default is the last push.
    """
    from kernelkit.pushes.resuming import resume_push

    resume_push(push, **values)
