"""Pushes that wait for sessions and for the week's hours, and are made in order."""

from __future__ import annotations

from pathlib import Path

import click

from kernelkit.commands import options
from kernelkit.terminal.cli import exits_with_code


@click.group("queue", help=__doc__, epilog=options.EXIT_CODES)
def command() -> None:
    pass


@command.command("add", epilog=options.EXIT_CODES)
@options.of_a_push
@click.option("--force", is_flag=True, help="Queue it though the same waits or was pushed.")
@options.as_json
@options.quiet
@exits_with_code
def add(notebook: Path | None, **given: object) -> None:
    """Check a push and put it at the queue's end.

    It is frozen as it is now: later changes of the sources do not reach it. Nothing is sent. With
    --continue it goes on from what the run before it left, and with --submit its result is entered
    once the run is complete.
    """
    from kernelkit.queue.edit import add

    add(notebook, **given)  # type: ignore[arg-type]


@command.command("run", epilog=options.EXIT_CODES)
@click.option("--no-wait", is_flag=True, help="Do what can be done now; 13 where more is to come.")
@options.local
@options.as_json
@options.quiet
@exits_with_code
def run(no_wait: bool, **given: object) -> None:
    """Push what is queued, in order, and bring the results home.

    Waits for a session to be free and for hours that last to the end of the run. May be killed at
    any moment: the same command goes on, and pushes nothing twice.
    """
    from kernelkit.queue.work import work_off

    work_off(wait=not no_wait, **given)  # type: ignore[arg-type]


@command.command("list", epilog=options.EXIT_CODES)
@options.local
@options.as_json
@options.quiet
@exits_with_code
def list_(**given: object) -> None:
    """Say how each queued push stands."""
    from kernelkit.queue.edit import listing

    listing(**given)  # type: ignore[arg-type]


@command.command("remove", epilog=options.EXIT_CODES)
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True, type=int)
@options.as_json
@options.quiet
@exits_with_code
def remove(numbers: tuple[int, ...], **given: object) -> None:
    """Take out queued pushes that wait or are over."""
    from kernelkit.queue.edit import remove

    remove(numbers, **given)  # type: ignore[arg-type]
