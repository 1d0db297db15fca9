"""Make or update a private Kaggle dataset from a folder: own TFRecords, weights.

A folder inside it travels as one archive, which Kaggle unpacks to a folder of that name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from kernelkit.bundle import secret_scan
from kernelkit.bundle.packages import files_below
from kernelkit.datasets import versions
from kernelkit.errors import ParameterError, PreflightError
from kernelkit.kaggle_api import answers
from kernelkit.plans import plan
from kernelkit.project import Project, find_project
from kernelkit.workspace.context import CommandOptions, in_project

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{4,48}[a-z0-9]")
SKIPPED = ("dataset-metadata.json", ".DS_Store")
LARGEST_TEXT = 1_000_000  # bytes: credentials are looked for in files up to this size


def push_dataset(
    folder: Path,
    name: str | None = None,
    *,
    notes: str = "updated by kernelkit",
    **options: Unpack[CommandOptions],
) -> str:
    """Upload a folder as the private dataset `name` and wait until kernels can use it.

    `name` defaults to the folder's, as a slug. Returns "owner/slug", which goes into
    `dataset_sources`. Raises `ParameterError` for an empty folder or a name Kaggle does not
    take, `PreflightError` for credentials in it, `RefusedError`, `CredentialsError` or
    `NetworkError` as Kaggle answers.
    """
    context = in_project(_project(folder), options)
    slug = _slug(folder, name)
    entries = _entries(folder)
    _refuse_leaks(folder)
    with context.asking() as kaggle, answers.as_errors():
        _refuse_leaks(folder, kaggle.connection.secrets)
        uploaded = versions.upload(context, kaggle, slug, entries, notes)
        reference = uploaded.reference
        versions.await_ready(context, kaggle, reference, uploaded)
    context.events(
        "dataset", f'{reference} is ready: "dataset_sources": ["{reference}"]', ref=reference
    )
    return reference


def _project(folder: Path) -> Project:
    """The project that the folder lies in, or of the present folder where it lies in none.

    A folder outside any project is no place for runs or for a rehearsal's Kaggle: what they
    write would be uploaded too.
    """
    own = find_project(folder)
    return own if (own.root / "pyproject.toml").is_file() else plan.here(None)


def _slug(folder: Path, name: str | None) -> str:
    if not folder.is_dir():
        raise ParameterError(f"no folder {folder}")
    slug = name or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    if not SLUG.fullmatch(slug):
        raise ParameterError(
            f"{slug!r} is not a name Kaggle takes for a dataset (6 to 50 small letters, digits "
            "and hyphens): give another with --name"
        )
    return slug


def _entries(folder: Path) -> list[Path]:
    paths = [p for p in sorted(folder.iterdir()) if p.name not in SKIPPED]
    for path in (p for p in paths if p.is_symlink() and not p.exists()):
        raise PreflightError(f"{path} is a link to nothing: mend it or take it out")
    kept = [p for p in paths if p.is_file() or (p.is_dir() and files_below(p))]
    if not kept:
        raise ParameterError(f"{folder} holds no file to upload")
    return kept


def _refuse_leaks(folder: Path, secrets: Sequence[str] = ()) -> None:
    texts = []
    for path in files_below(folder):
        small = path.stat().st_size <= LARGEST_TEXT
        text = path.read_bytes().decode("utf-8", "replace") if small else ""
        texts.append((path.relative_to(folder).as_posix(), text))
    if leaks := [str(leak) for leak in secret_scan.find_secrets(texts, secrets)]:
        listed = "\n".join(f"  - {leak}" for leak in leaks)
        raise PreflightError(f"refusing to upload credentials:\n{listed}")
