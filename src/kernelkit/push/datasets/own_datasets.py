"""The private datasets that a push makes of files of this machine, and attaches.

`wheels` are one of them, and each folder in `attach` is another. Kaggle gets the bytes that it has
not yet. A rehearsal mounts the folders as they are.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from kernelkit import files
from kernelkit.errors import PreflightError
from kernelkit.kaggle.exchange.targets import DATASET_SLUG
from kernelkit.kaggle.metadata_words import PLACEHOLDERS
from kernelkit.kaggle.uploading.contents import Contents, refuse_leaks
from kernelkit.project import Project

STAGED = "attached"  # in a rehearsal's folder: folders with their checksums


@dataclass(frozen=True)
class OwnDataset:
    """One of them: its slug, what it holds, the notes on a version, and its name in messages."""

    slug: str
    contents: Contents
    notes: str
    words: str

    @property
    def source(self) -> str:
        """Its name among a kernel's sources, as long as the account is not known."""
        return f"{PLACEHOLDERS[0]}/{self.slug}"


def attached_folders(project: Project) -> tuple[OwnDataset, ...]:
    """The folders in a project's `attach`, each as the dataset PROJECT-FOLDER.

    Raises `PreflightError` for one that is not there, is empty, holds credentials or a link that
    leads out of the repository, or whose dataset would have a name that Kaggle does not take, or
    another's.
    """
    found: dict[str, OwnDataset] = {}
    for name in project.attach:
        own = _attached(project, name)
        if own.slug in found:
            raise PreflightError(
                f"attach in [tool.kernelkit]: {found[own.slug].words} and {own.words} would be one "
                f"dataset, {own.slug}: rename one of the folders"
            )
        found[own.slug] = own
    return tuple(found.values())


def _attached(project: Project, name: str) -> OwnDataset:
    folder = project.root / name
    if not folder.is_dir():
        raise PreflightError(
            f"attach in [tool.kernelkit] names {name}, and there is no folder {folder}: correct "
            "it, or make the folder first"
        )
    contents = Contents.of_folder(folder)
    if not contents.files:
        raise PreflightError(f"{folder}, in attach of [tool.kernelkit], holds no file")
    top = Path(os.path.realpath(project.repository))
    for path in contents.files.values():
        if not Path(os.path.realpath(path)).is_relative_to(top):
            raise PreflightError(
                f"{path} leads out of the repository, and attach takes its folders: put the files "
                f"themselves there, or upload them by hand (kernelkit upload FOLDER)"
            )
    refuse_leaks(folder, contents.files.values())
    slug = project.dataset_name(folder.name)
    if not DATASET_SLUG.fullmatch(slug):
        raise PreflightError(
            f"{slug!r}, for {name} in attach of [tool.kernelkit], is not a name that Kaggle "
            "accepts for a dataset (6 to 50 letters, digits and hyphens): rename the folder"
        )
    return OwnDataset(slug, contents, f"{name} by kernelkit", name)


def staged(own: OwnDataset, local: Path) -> Path:
    """A folder with links to a dataset's files, and their checksums, which a rehearsal mounts.

    `local`: the folder of the rehearsal's Kaggle.
    """
    folder = local / STAGED / own.slug / own.contents.digest
    for name, path in own.contents.files.items():
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(path.resolve())
    files.write_text(folder / own.contents.sums_name, own.contents.sums)
    return folder
