"""Queue pushes until a session and enough of the week's hours are free."""

from pathlib import Path
from typing import Any

import click

from kernelkit.cli import options

queue = click.Group(
    "queue",
    help=__doc__,
    epilog=options.in_help("queue", ("add notebooks/train.ipynb", "run")),
)


@options.command("add", ("notebooks/train.ipynb", "-p epochs=12 --continue"), group=queue)
@options.of_a_push
@options.ignore
@options.once
@click.option("--force", is_flag=True, help="Queue it even if the same push is queued or complete.")
def add(notebook: Path | None, **values: Any) -> None:
    """Check a push and put it at the end of the queue.

    The push is frozen: later changes to the sources do not affect it. Nothing is sent. With
    --continue it continues from the previous run's outputs; with --submit its result is submitted
    once the run is complete.
    """
    from kernelkit.push.queue_items import add

    add(notebook, **values)


@options.command("run", ("", "--no-wait"), group=queue, local=True)
@click.option(
    "--no-wait", is_flag=True, help="Do what is possible now; exit with 13 if more is left."
)
def run(no_wait: bool, **values: Any) -> None:
    """Push the queued items in order, and download the results.

    Waits until a session is free and the remaining hours are enough for the run. You may kill the
    command at any time: the same command continues, and pushes nothing twice.
    """
    from kernelkit.push.queue_work import work_off

    work_off(wait=not no_wait, **values)


@options.command("list", ("", "--json"), group=queue, local=True)
def list_(**values: Any) -> None:
    """Show the state of each queued push."""
    from kernelkit.push.queue_items import listing

    listing(**values)


@options.command("remove", ("2", "2 3"), group=queue)
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True, type=int)
def remove(numbers: tuple[int, ...], **values: Any) -> None:
    """Remove pushes from the queue; a session that has begun continues."""
    from kernelkit.push.queue_items import remove

    remove(numbers, **values)
