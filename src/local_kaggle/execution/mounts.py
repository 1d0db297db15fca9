"""Kaggle's input layout: where a session finds its competitions, datasets and other outputs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from local_kaggle.catalogue import files_below


@dataclass(frozen=True)
class MountedSource:
    """One input of a version: its kind as the layout spells it, its reference, its files."""

    kind: Literal["competitions", "datasets", "notebooks", "models"]
    reference: str
    folder: Path

    def place(self, layout: str) -> str:
        """Where it is mounted below the input root, in the `current` or the `legacy` layout."""
        if layout == "legacy":
            return self.reference.split("/")[-1 if self.kind != "models" else 1]
        return f"{self.kind}/{self.reference}"


def mount(sources: Iterable[MountedSource], root: Path, layout: str) -> None:
    """Lay the sources out below `root`: real folders, each file a link to the source's.

    Folders are real because `os.walk` and `rglob`, which notebooks list their inputs with, do
    not enter linked ones. Kaggle's inputs cannot be written to; here the folders are read-only
    too, which stops everyone but root.
    """
    root.mkdir(parents=True, exist_ok=True)
    folders = {root}
    for source in sources:
        place = root / source.place(layout)
        place.mkdir(parents=True, exist_ok=True)
        for name, path in files_below(source.folder):
            link = place / name
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(path.resolve())
    folders |= {p for p in root.rglob("*") if p.is_dir() and not p.is_symlink()}
    for folder in folders:
        folder.chmod(0o555)


def bound(sources: Iterable[MountedSource], root: Path, layout: str) -> dict[str, str]:
    """What walls bind below /kaggle/input: folders of the desk by their paths inside.

    A source with links in it, such as data that lies elsewhere on the desk, is laid out below
    `root` as `mount` does, and the folders that its links lead to appear at their own paths.
    """
    folders = {"/kaggle/input": str(root)}
    for source in sources:
        linked = [path.resolve() for path in source.folder.rglob("*") if path.is_symlink()]
        place = source.place(layout)
        if not linked:
            (root / place).mkdir(parents=True, exist_ok=True)
            folders[f"/kaggle/input/{place}"] = str(source.folder.resolve())
            continue
        mount([source], root, layout)
        targets = {path.resolve().parent for _, path in files_below(source.folder)}
        folders |= {str(target): str(target) for target in targets}
    return folders


def unmount(root: Path) -> None:
    """Remove the mounts: folders and links, never what the links lead to."""
    folders = [root, *(p for p in root.rglob("*") if p.is_dir() and not p.is_symlink())]
    for folder in folders if root.is_dir() else []:
        folder.chmod(0o755)
    shutil.rmtree(root, ignore_errors=True)
