"""What is uploaded, with a file of checksums: its name tells one version of a dataset from another.

The file travels as a part of the dataset. So whoever lists a version's files, or finds the mounted
ones, knows which bytes they are, without reading them.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kernelkit.errors import PreflightError, StorageError
from kernelkit.files import files_below, sha256_of

SUMS = "SHA256SUMS-{}.txt"
OF_SUMS = re.compile(SUMS.format("[0-9a-f]{16}"))


@dataclass(frozen=True)
class Contents:
    """Files, and folders of files, that become one version.

    entries  the files and folders at its top
    files    all files, by their names in it
    """

    entries: tuple[Path, ...]
    files: Mapping[str, Path]
    _states: dict[Path, tuple[int, int] | None] = field(default_factory=dict, repr=False)

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
        """These files; one with a slash in its name lies in a folder.

        Raises `PreflightError` for a folder beside the archive as which it would travel.
        """
        for name in files:
            folder, below, _ = name.partition("/")
            if below and f"{folder}.zip" in files:
                raise PreflightError(
                    f"the folder {folder} would travel as {folder}.zip, which is there too: rename "
                    "one of them"
                )
        entries = dict.fromkeys(_top(name, path) for name, path in sorted(files.items()))
        return cls(tuple(entries), dict(files))

    @cached_property
    def sums(self) -> str:
        """The SHA-256 of each file, as `sha256sum --check` reads them."""
        lines = []
        for name, path in sorted(self.files.items()):
            self._states[path] = _state(path)
            lines.append(f"{sha256_of(path)}  {name}\n")
        return "".join(lines)

    def check_unchanged(self) -> None:
        """Raise `StorageError` for a file that changed since its sum was made: the file of sums
        would name other bytes than those that travel with it."""
        for path, state in self._states.items():
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


def _state(path: Path) -> tuple[int, int] | None:
    """A file's size and time of change; None if it is not there."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns


def _top(name: str, path: Path) -> Path:
    """The file, or the folder at the top in which it lies."""
    depth = name.count("/")
    return path.parents[depth - 1] if depth else path
