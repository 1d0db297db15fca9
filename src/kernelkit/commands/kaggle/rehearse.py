"""Push to a Kaggle that this command runs on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelkit.commands import options
from kernelkit.commands.kaggle import push
from kernelkit.terminal.cli import exits_with_code

NOT_HERE = ("local", "no_wait")  # options that mean nothing in a rehearsal


@exits_with_code
def rehearse(notebook: Path | None, **values: Any) -> None:
    """Push with `local`."""
    from kernelkit.pushes.command import push_kernel

    push_kernel(notebook, local=True, **values)


command = click.Command(
    "rehearse",
    callback=rehearse,
    params=[parameter for parameter in push.command.params if parameter.name not in NOT_HERE],
    help="Push to a Kaggle that this command runs on this machine.\n\nNothing leaves the machine.",
    epilog=options.EXIT_CODES,
)
