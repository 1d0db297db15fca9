"""What is uploaded, with a file of checksums: its name tells one version of a dataset from another.

The file of checksums is uploaded with the others. So whoever lists a version's files, or finds the
mounted ones, knows which bytes they are, without reading them.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernelkit.errors import PreflightError, StorageError
from kernelkit.files import files_below, sha256_of
from kernelkit.leaks import find_secrets

SUMS = "SHA256SUMS-{}.txt"
OF_SUMS = re.compile(SUMS.format("[0-9a-f]{16}"))
LARGEST_TEXT = 1_000_000  # bytes: credentials are looked for in files up to this size

FileState = tuple[int, int] | None  # a file's size and time of change; None if it is not there
Entry = Path | Mapping[str, Path]  # a file, or the files of a folder by their paths in it


@dataclass(frozen=True)
class Contents:
    """The files that become one version.

    files   all files, by their paths in the version, such as "train/00.tfrec"
    states  how each file was when these contents were made
    """

    files: Mapping[str, Path]
    states: Mapping[Path, FileState]

    @classmethod
    def of_folder(cls, folder: Path) -> "Contents":
        """All of a folder but what is the desk's own: hidden entries at its top, and checksums that
        were downloaded with it.

        Raises what `files_below` raises.
        """

        def is_desks_own(path: Path) -> bool:
            hidden = path.name.startswith(".")
            return path.parent == folder and (hidden or bool(OF_SUMS.fullmatch(path.name)))

        files = files_below(folder, is_desks_own)
        return cls.of({path.relative_to(folder).as_posix(): path for path in files})

    @classmethod
    def of(cls, files: Mapping[str, Path]) -> "Contents":
        """These files, by their paths in the version.

        Raises `PreflightError` for a folder beside a file that is called as its archive.
        """
        for name in files:
            folder, below, _ = name.partition("/")
            if below and f"{folder}.zip" in files:
                raise PreflightError(
                    f"the folder {folder} would travel as {folder}.zip, which is there too: rename "
                    "one of them"
                )
        return cls(dict(files), {path: _state(path) for path in files.values()})

    @property
    def entries(self) -> dict[str, Entry]:
        """Each file and folder at the top, by its name.

        That is `{"head.bin": path, "train": {"00.tfrec": path}}` of two files.
        """
        folders: dict[str, dict[str, Path]] = {}
        entries: dict[str, Entry] = {}
        for name, path in sorted(self.files.items()):
            top, below, inner_name = name.partition("/")
            if below:
                entries[top] = folders.setdefault(top, {})
                folders[top][inner_name] = path
            else:
                entries[name] = path
        return entries

    @cached_property
    def sums(self) -> str:
        """The SHA-256 of each file, as `sha256sum --check` reads them."""
        lines = [f"{sha256_of(path)}  {name}\n" for name, path in sorted(self.files.items())]
        return "".join(lines)

    def check_unchanged(self) -> None:
        """Raise `StorageError` for a file that changed since these contents were made.

        Otherwise the file of checksums could name other bytes than those that are uploaded.
        """
        for path, state in self.states.items():
            if _state(path) != state:
                raise StorageError(
                    f"{path} changed after it was read, so no version was made: repeat the command"
                )

    @cached_property
    def digest(self) -> str:
        """A hash of all names and bytes, 16 hexadecimal digits."""
        return hashlib.sha256(self.sums.encode()).hexdigest()[:16]

    @property
    def sums_name(self) -> str:
        """The name of the file of checksums."""
        return SUMS.format(self.digest)


def _state(path: Path) -> FileState:
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns


def refuse_leaks(folder: Path, files: Iterable[Path], secrets: Sequence[str] = ()) -> None:
    """Raise `PreflightError` if a small file of a folder holds credentials, or these secrets."""
    texts = ((path.relative_to(folder).as_posix(), _text(path)) for path in files)
    leaks = list(find_secrets(texts, secrets))
    if leaks:
        listed = "\n".join(f"  - {leak}" for leak in leaks)
        raise PreflightError(f"refusing to upload credentials:\n{listed}")


def _text(path: Path) -> str:
    """A file's text; empty if the file is too large to be searched for credentials."""
    if path.stat().st_size > LARGEST_TEXT:
        return ""
    return path.read_text("utf-8", "replace")
