"""A folder on its way to Kaggle: what of it is sent, and what keeps it at the desk.

A folder inside it travels as one archive, which Kaggle unpacks to a folder of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kernelkit.bundle import secret_scan
from kernelkit.bundle.packages import files_below
from kernelkit.datasets import versions
from kernelkit.datasets.targets import Target
from kernelkit.errors import ParameterError, PreflightError
from kernelkit.kaggle_api import answers
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.plans import plan
from kernelkit.project import find_project
from kernelkit.terminal.events import size_of
from kernelkit.workspace.context import CommandOptions, in_project

SKIPPED = (
    "dataset-metadata.json",
    "model-metadata.json",
    "model-instance-metadata.json",
    ".DS_Store",
)
LARGEST_TEXT = 1_000_000  # bytes: credentials are looked for in files up to this size


def upload(
    folder: Path,
    prepare: Callable[[Kaggle], Target],
    notes: str,
    options: CommandOptions,
    *,
    dry_run: bool,
) -> str:
    """Upload a folder as a version of what `prepare` sees to at Kaggle, and wait for it.

    With `dry_run` only show what would be sent, without an account. Returns the source that goes
    into a kernel's metadata; "" for a dry run. Raises `ParameterError` for an empty folder,
    `PreflightError` for credentials in it, `RefusedError`, `CredentialsError` or `NetworkError`
    as Kaggle answers.
    """
    # A folder outside any project is no place for runs or for a rehearsal's Kaggle: what they
    # write would be uploaded too.
    own = find_project(folder)
    project = own if (own.root / "pyproject.toml").is_file() else plan.here(None)
    context = in_project(project, options)
    entries = _entries(folder)
    _refuse_leaks(folder)
    if dry_run:
        sizes = versions.sizes_of(entries)
        lines = "\n".join(f"  {name}, {size_of(size)}" for name, size in sizes.items())
        total = size_of(sum(sizes.values()))
        context.events("dry run", f"nothing was sent; this would be {total}:\n{lines}", files=sizes)
        return ""
    with context.asking() as kaggle, answers.as_errors():
        _refuse_leaks(folder, kaggle.connection.secrets)
        target = prepare(kaggle)
        uploaded = versions.upload(context, kaggle, target, entries, notes)
        versions.await_ready(context, kaggle, target, uploaded)
    source = target.source(uploaded.version)
    kind = target.service.removesuffix("s")
    text = f'{target.reference} is ready: "{kind}_sources": ["{source}"]'
    context.events(kind, text, ref=source)
    return source


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
