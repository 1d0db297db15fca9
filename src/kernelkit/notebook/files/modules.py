"""The files of a package as text."""

import fnmatch
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kernelkit.errors import PreflightError
from kernelkit.files import files_below

_SKIPPED = {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache", ".DS_Store"}
_SKIPPED |= {".pyc", ".pyo", ".part", ".swp"}


class File(NamedTuple):
    """One file of a package: its path from the package's parent, with `/`, and its text."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of its bytes, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def module(self) -> str:
        """The dotted name under which it is imported, if it is Python."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def home(self) -> str:
        """The dotted name of its folder, from which its relative imports start."""
        return self.path.rpartition("/")[0].replace("/", ".")


def package_files(folder: Path, leave_out: Sequence[str] = ()) -> list[File]:
    """Every file of the package at `folder`, sorted by path, without caches.

    Paths (relative to the package's parent) that match one of the `leave_out` patterns are left
    out, too. Links are followed. Raises `PreflightError` for a file that is not UTF-8 text, and
    for broken or circular links.
    """

    def skip(path: Path) -> bool:
        name = path.relative_to(folder.parent).as_posix()
        return not _SKIPPED.isdisjoint((path.name, path.suffix)) or left_out(name, leave_out)

    return [
        File(path.relative_to(folder.parent).as_posix(), text_of(path))
        for path in files_below(folder, skip)
    ]


def left_out(name: str, leave_out: Sequence[str]) -> bool:
    """Whether a bundled path matches one of the `leave_out` patterns, as a file or a folder."""
    names = (name, f"{name}/")  # of a folder, or in a pattern for all its contents
    return any(fnmatch.fnmatchcase(each, pattern) for each in names for pattern in leave_out)


def text_of(path: Path) -> str:
    """The text of a file that is to travel; raises `PreflightError` unless it is UTF-8."""
    try:
        # A byte order mark is no Python to a reader of the text.
        text = path.read_bytes().decode("utf-8-sig" if path.suffix == ".py" else "utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PreflightError(
            f"{path} is not UTF-8 text, and a bundle contains nothing else: name it in leave_out "
            "of [tool.kernelkit] if a run does not need it; otherwise move it out of the package, "
            "to a Kaggle dataset (kernelkit upload FOLDER)"
        )
    return text
