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
    """One input of a version: its kind as its place spells it, its reference, its files."""

    kind: Literal["competitions", "datasets", "notebooks", "models"]
    reference: str
    folder: Path

    @property
    def place(self) -> str:
        """Where it is mounted below the input root: a model's framework in lower case."""
        parts = self.reference.split("/")
        parts[2:3] = [framework.lower() for framework in parts[2:3]]
        return "/".join((self.kind, *parts))

    def lay_out(self, root: Path) -> None:
        """Make its real folders below `root`, each file a link to the source's.

        Folders are real because `os.walk` and `rglob`, which notebooks list their inputs with, do
        not enter linked ones.
        """
        place = root / self.place
        place.mkdir(parents=True, exist_ok=True)
        for name, path in files_below(self.folder):
            link = place / name
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(path.resolve())

    def lead_from_older_place(self, root: Path) -> None:
        """Link `<slug>`, where Kaggle mounted it before and notebooks still look, to its place."""
        levels = 2 if self.kind == "models" else self.reference.count("/") + 1
        parts = self.reference.split("/")[:levels]
        link = root / parts[-1]
        if not (link.exists() or link.is_symlink()):
            link.symlink_to("/".join((self.kind, *parts)))


def mount(sources: Iterable[MountedSource], root: Path) -> None:
    """Lay the sources out below `root`, read-only, which stops everyone but root."""
    root.mkdir(parents=True, exist_ok=True)
    for source in sources:
        source.lay_out(root)
        source.lead_from_older_place(root)
    for folder in (root, *(p for p in root.rglob("*") if p.is_dir() and not p.is_symlink())):
        folder.chmod(0o555)


def bound(sources: Iterable[MountedSource], root: Path) -> dict[str, str]:
    """What walls bind below /kaggle/input: folders of the host by their paths inside.

    A source with links in it, such as data that lies elsewhere on the host, is laid out below
    `root`, and the folders that its links lead to appear at their own paths.
    """
    folders = {"/kaggle/input": str(root)}
    for source in sources:
        if any(path.is_symlink() for path in source.folder.rglob("*")):
            source.lay_out(root)
            targets = {path.resolve().parent for _, path in files_below(source.folder)}
            folders |= {str(target): str(target) for target in targets}
        else:
            (root / source.place).mkdir(parents=True, exist_ok=True)
            folders[f"/kaggle/input/{source.place}"] = str(source.folder.resolve())
        source.lead_from_older_place(root)
    return folders


def unmount(root: Path) -> None:
    """Remove the mounts: folders and links, never what the links lead to."""
    folders = [root, *(p for p in root.rglob("*") if p.is_dir() and not p.is_symlink())]
    for folder in folders if root.is_dir() else []:
        folder.chmod(0o755)
    shutil.rmtree(root, ignore_errors=True)
