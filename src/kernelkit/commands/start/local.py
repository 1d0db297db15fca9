"""Serve a Kaggle for rehearsals on this machine: `local-kaggle`, with this project's inputs.

Prints how to point the official client at it. Takes the options of `local-kaggle` too: --port,
--catalogue, --faults, --fill and --json, which `local-kaggle --help` explains.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import click

from kernelkit import project
from kernelkit.errors import NoLocalKaggleError
from kernelkit.terminal.cli import exits_with_code


@click.command("local", help=__doc__, context_settings={"ignore_unknown_options": True})
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/local_kaggle"),
    show_default=True,
    help="Folder for kernels, sessions, datasets and submissions.",
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@exits_with_code
def command(root: Path, options: tuple[str, ...]) -> None:
    if importlib.util.find_spec("local_kaggle") is None:
        raise NoLocalKaggleError
    root = root.absolute()
    own = project.find_project(Path.cwd())
    chosen = any(option.startswith(("--catalogue", "--fill")) for option in options)
    if not chosen and _is_for(own.catalogue, root / "catalogue"):
        os.chdir(own.root)
        options = ("--fill", own.catalogue, *options)
    words = [sys.executable, "-m", "local_kaggle", "--root", str(root), *options]
    os.execv(sys.executable, words)  # noqa: S606 - our own arguments, and no shell


def _is_for(filling: str, catalogue: Path) -> bool:
    """Whether the project's command fills an empty catalogue and needs nothing of a push."""
    empty = not (catalogue.is_dir() and any(catalogue.iterdir()))
    return empty and re.findall(r"\{(\w+)\}", filling) == ["catalogue"]
