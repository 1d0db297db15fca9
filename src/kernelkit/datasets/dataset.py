"""Make or update a private Kaggle dataset from a folder: own TFRecords, weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Unpack

from kernelkit.datasets import folders
from kernelkit.datasets.targets import Dataset
from kernelkit.errors import ParameterError
from kernelkit.workspace.context import CommandOptions

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{4,48}[a-z0-9]")


def push_dataset(
    folder: Path,
    name: str | None = None,
    *,
    notes: str = "updated by kernelkit",
    dry_run: bool = False,
    **options: Unpack[CommandOptions],
) -> str:
    """Upload a folder as the private dataset `name` and wait until kernels can use it.

    `name` defaults to the folder's, as a slug. Returns "owner/slug", which goes into
    `dataset_sources`. Raises `ParameterError` for a name Kaggle does not take, and what
    `folders.upload` raises.
    """
    if not folder.is_dir():
        raise ParameterError(f"no folder {folder}")
    slug = name or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    if not SLUG.fullmatch(slug):
        raise ParameterError(
            f"{slug!r} is not a name Kaggle takes for a dataset (6 to 50 small letters, digits "
            "and hyphens): give another with --name"
        )
    return folders.upload(
        folder,
        lambda kaggle: Dataset(f"{kaggle.username}/{slug}"),
        notes,
        options,
        dry_run=dry_run,
    )
