"""Rehearse the second run of a code competition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelkit.commands import options


@options.command("rerun", ("notebooks/submit.ipynb", "--hidden hidden/leaves --rows 20000"))
@click.argument("notebook", type=options.FILE, required=False)
@options.parameters
@options.ignore
@click.option(
    "--metadata", "metadata_file", type=options.FILE, help="Use this kernel-metadata.json."
)
@click.option(
    "--hidden",
    type=options.FILE,
    metavar="FOLDER",
    help="The competition's folder in the second run; default hidden/SLUG of the catalogue.",
)
@click.option(
    "--rows", type=click.IntRange(1), help="Rows of the real test set: project the time for them."
)
def rerun(notebook: Path | None, **values: Any) -> None:
    """Rehearse a code competition: run the notebook, then again on hidden data.

    The second run has no internet and Kaggle's limits. You get the message that Kaggle would show,
    and what it would hide: the failing cell, memory, disk and time.
    """
    from kernelkit.pushes import rerun as reruns

    reruns.rerun(notebook, **values)
