"""The files of a package as text, and those of them that imports reach."""

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


class Package:
    """A package of the project: its files, and the modules of it that imports reach."""

    def __init__(self, folder: Path, leave_out: Sequence[str]) -> None:
        self.parent = folder.parent
        self.files = package_files(folder, leave_out)
        self.by_module = {file.module: file for file in self.files if file.path.endswith(".py")}
        self.reached: set[str] = set()

    def reach(self, name: str) -> list[File]:
        """The new modules that importing a dotted name runs: of a.b.c, also a and a.b."""
        names = []
        if name.endswith(".*"):  # a star may stand for any module of the package
            below = name.removesuffix("*")
            names += [module for module in self.by_module if module.startswith(below)]
        parts = name.split(".")
        names += [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        new = []
        for module in names:
            if module in self.by_module and module not in self.reached:
                self.reached.add(module)
                new.append(self.by_module[module])
        return new

    def needed(self) -> list[File]:
        """The reached modules, and the data beside them."""
        return [file for file in self.files if self._holder(file) in self.reached]

    def _holder(self, file: File) -> str:
        """The module that a file is, or the nearest package above it."""
        name = file.module if file.path.endswith(".py") else file.home
        while name and name not in self.by_module:
            name = name.rpartition(".")[0]
        return name


def package_files(folder: Path, leave_out: Sequence[str], root: Path | None = None) -> list[File]:
    """Every file of the package at `folder`, sorted by path, without caches.

    Paths are relative to `root`, which is the package's parent unless it is given. Those that match
    one of the `leave_out` patterns are left out, too. Links are followed. Raises `PreflightError`
    for a file that is not UTF-8 text, and for broken or circular links.
    """
    root = root or folder.parent

    def skip(path: Path) -> bool:
        name = path.relative_to(root).as_posix()
        return not _SKIPPED.isdisjoint((path.name, path.suffix)) or left_out(name, leave_out)

    return [
        File(path.relative_to(root).as_posix(), text_of(path)) for path in files_below(folder, skip)
    ]


def left_out(name: str, leave_out: Sequence[str]) -> bool:
    """Whether a bundled path matches one of the `leave_out` patterns, as a file or a folder."""
    for pattern in leave_out:
        # With the slash, the name of a folder fits a pattern for its contents, such as `data/*`.
        if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(f"{name}/", pattern):
            return True
    return False


def text_of(path: Path) -> str:
    """The text of a file that is to travel; raises `PreflightError` unless it is UTF-8."""
    # Python skips a byte order mark, and a reader of the text would not.
    encoding = "utf-8-sig" if path.suffix == ".py" else "utf-8"
    try:
        text = path.read_bytes().decode(encoding)
    except UnicodeDecodeError:
        raise _no_text(path) from None
    if "\0" in text:
        raise _no_text(path)
    return text


def _no_text(path: Path) -> PreflightError:
    return PreflightError(
        f"{path} is not UTF-8 text, and a bundle contains nothing else: name it in leave_out "
        "of [tool.kernelkit] if a run does not need it; otherwise move it out of the package, "
        "to a Kaggle dataset (kernelkit upload FOLDER)"
    )
