"""Serve a local stand-in for Kaggle with this project's inputs.

Prints how to point the official client at it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from kernelkit import project
from kernelkit.commands import options
from kernelkit.errors import NoLocalKaggleError


@options.command("local", ("", "--port 8800 --faults 7"), help=__doc__)
@click.option("--port", default=0, show_default="a free one", help="Port on 127.0.0.1.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    show_default="runs/local_kaggle at the repository's root",
    help="Folder for kernels, sessions, datasets and submissions.",
)
@click.option(
    "--catalogue",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    show_default="ROOT/catalogue",
    help="Folder with competitions/, datasets/ and solutions/ that kernels can use.",
)
@click.option(
    "--faults", type=int, metavar="SEED", help="Inject faults on a schedule drawn from this seed."
)
@click.option(
    "--fill", metavar="COMMAND", help="The command that fills {catalogue} before serving."
)
@click.option("--account", multiple=True, metavar="NAME", help="An account; may be repeated.")
@click.option(
    "--token", multiple=True, metavar="TOKEN[=NAME]", help="An access token; may be repeated."
)
def local(as_json: bool, quiet: bool, **values: Any) -> None:
    if importlib.util.find_spec("local_kaggle") is None:
        raise NoLocalKaggleError
    own = project.find_project(Path.cwd())
    values["root"] = values["root"] or own.local_kaggle
    given = values["fill"] or values["catalogue"]
    if not given and _is_for(own.catalogue, values["root"] / "catalogue"):
        os.chdir(own.root)
        values["fill"] = own.catalogue
    several = {name: values.pop(name) for name in ("account", "token")}
    words = [f"--{name}={value}" for name, value in values.items() if value is not None]
    words += [f"--{name}={each}" for name, chosen in several.items() for each in chosen]
    words += ["--json"] * as_json + ["--quiet"] * quiet
    own_command = [sys.executable, "-m", "local_kaggle", *words]
    os.execv(sys.executable, own_command)  # noqa: S606 - our own arguments, and no shell


def _is_for(filling: str, catalogue: Path) -> bool:
    """Whether the project's command fills an empty catalogue, independently of a push."""
    empty = not (catalogue.is_dir() and any(catalogue.iterdir()))
    return empty and re.findall(r"\{(\w+)\}", filling) == ["catalogue"]
