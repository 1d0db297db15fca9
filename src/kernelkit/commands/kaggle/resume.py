"""Resume an earlier push: wait for its run and bring the results home."""

from __future__ import annotations

import click

from kernelkit.commands import options


@options.command("resume", local=True)
@click.argument("push", metavar="[OWNER/SLUG/N]", default="last")
@options.accelerator
@options.output
@options.submit
def command(push: str, **given: object) -> None:
    """Resume an earlier push: wait for its run, fetch its files and report.

    The default is the last push.
    """
    from kernelkit.pushes.resuming import resume_push

    resume_push(push, **given)  # type: ignore[arg-type]
