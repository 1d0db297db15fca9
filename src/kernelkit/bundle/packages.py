"""A package as text inside a notebook: its files, their commit, and their source literals.

The files of each folder become one folded cell with their unchanged text, so that a reader of the
pushed notebook sees the code that ran. Binary files are refused.
"""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.bundle.imports import imported, parsed
from kernelkit.errors import PreflightError
from kernelkit.files import git

_SKIPPED_FOLDERS = {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache"}
_SKIPPED_SUFFIXES = {".pyc", ".pyo", ".part", ".swp"}
_SKIPPED_NAMES = {".DS_Store"}

# Characters besides "\n" at which Python or Jupyter would break or change a line.
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True)
class File:
    """One file of a package: its path from the package's parent, with `/`, and its text."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of its bytes, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def files(folder: Path, leave_out: Sequence[str] = ()) -> list[File]:
    """Every file of the package at `folder`, sorted by path, without caches.

    Paths (relative to the package's parent) that match one of the `leave_out` patterns are left
    out, too. Links are followed. Raises `PreflightError` for a file that is not UTF-8 text, and
    for broken or circular links.
    """

    def name_of(path: Path) -> str:
        return f"{folder.name}/{path.relative_to(folder).as_posix()}"

    def skip(path: Path) -> bool:
        # A folder matches by its own name, and by a pattern for all its contents.
        names = (name_of(path), f"{name_of(path)}/")
        return (
            path.name in _SKIPPED_FOLDERS | _SKIPPED_NAMES
            or path.suffix in _SKIPPED_SUFFIXES
            or any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in leave_out)
        )

    return [File(name_of(path), _text(path)) for path in files_below(folder, skip)]


def file(path: Path) -> File:
    """A module that is one file; raises `PreflightError` for one that is not UTF-8 text."""
    return File(path.name, _text(path))


def _text(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PreflightError(
            f"{path} is binary, and a bundle contains only text: move it out of the package, to "
            "a Kaggle dataset (kernelkit dataset FOLDER)"
        )
    return text


def literal(text: str) -> str:
    """A readable Python expression over several lines whose value is `text`.

    It is a raw string if that is exact, and otherwise one with only the necessary escapes.
    """
    for quotes in ("'''", '"""'):
        if _NOT_PLAIN.search(text) or quotes in text or text.endswith(("\\", quotes[0])):
            continue
        return f"r{quotes}\n{text}{quotes}[1:]"
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    escaped = _NOT_PLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
    if escaped.endswith("'"):
        escaped = escaped[:-1] + "\\'"
    return f"'''\n{escaped}'''[1:]"


def value(expression: str) -> str:
    """The text of a `literal`, as Python evaluates it."""
    quoted: str = ast.literal_eval(expression.removesuffix("[1:]"))
    return quoted[1:]


def files_below(folder: Path, skip: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """All files below `folder`, sorted; links to files and folders are followed.

    `skip` is called with every path; a folder that it skips is not read. Raises `PreflightError`
    for what a push would silently leave out: a broken link, a link to a parent folder, a name that
    is not Unicode.
    """
    files: list[Path] = []
    _walk(folder, skip, (os.path.realpath(folder),), files)
    return sorted(files)


def _walk(
    folder: Path, skip: Callable[[Path], bool], above: tuple[str, ...], files: list[Path]
) -> None:
    for path in folder.iterdir():
        if skip(path):
            continue
        _check_name(path)
        if path.is_dir():
            real = os.path.realpath(path)
            if real in above:
                raise PreflightError(f"{path} is a link to a folder that contains it: remove it")
            _walk(path, skip, (*above, real), files)
        elif path.is_file():
            files.append(path)
        elif path.is_symlink():
            raise PreflightError(f"{path} is a broken link: repair or remove it")


def _check_name(path: Path) -> None:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise PreflightError(f"the name of {str(path)!a} is not Unicode: rename it") from None


@dataclass(frozen=True)
class Commit:
    """The commit of a checkout; `sha` is empty outside git, where everything counts as dirty."""

    sha: str
    dirty: bool

    def __str__(self) -> str:
        if not self.sha:
            return "no commit"
        return self.sha[:12] + ("+changes" if self.dirty else "")


def commit_of(root: Path, paths: Sequence[Path]) -> Commit:
    """The commit checked out at `root`; dirty if one of `paths` differs or is untracked."""
    sha = git(root, "rev-parse", "HEAD")
    if not sha:
        return Commit("", dirty=True)
    changed = git(root, "status", "--porcelain", "--", *map(str, paths))
    return Commit(sha.strip(), dirty=changed is None or bool(changed.strip()))


def reached(sources: Iterable[str], files: Sequence[File], package: str) -> list[File]:
    """The files of `package` that code with these `sources` imports, directly or indirectly.

    A data file is included if the code names it, its folder, or a pattern (`*.txt`) that it
    matches. If no source imports the package by name, everything is included, because the use
    cannot be determined. Keeps the order of `files`.
    """
    by_module = {_module(file.path): file for file in files if file.path.endswith(".py")}
    sources = list(sources)
    waiting = [name for source in sources for name in imported(source)]
    if not any(name.split(".")[0] == package for name in waiting):
        return list(files)
    modules: set[str] = set()
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        # Importing a.b.c runs a and a.b first; the last part may be a name inside a module.
        for module in (".".join(parts[:depth]) for depth in range(1, len(parts) + 1)):
            file = by_module.get(module)
            if file is not None and module not in modules:
                modules.add(module)
                waiting += imported(file.text, file.path.rpartition("/")[0].replace("/", "."))
    texts = [*sources, *(by_module[module].text for module in modules)]
    named = {
        part
        for text in texts
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for part in node.value.split("/")
    }
    patterns = [name for name in named if re.search(r"\*.*\w|\w.*\*", name)]
    return [
        file
        for file in files
        if _module(file.path) in modules or _is_named(file.path, named, patterns)
    ]


def beside(
    folder: Path, sources: Iterable[str], carried: Collection[str]
) -> tuple[list[File], dict[str, str]]:
    """The modules in `folder` that code with these `sources` imports, directly or indirectly.

    A module is `name.py` or the package `name/`; names that are already `carried` and those of the
    standard library are left out. The second result says why each other module cannot be bundled.
    """
    modules: list[File] = []
    stays: dict[str, str] = {}
    waiting = list(sources)
    seen = {*carried, *sys.stdlib_module_names}
    while waiting:
        for name in {name.partition(".")[0] for name in imported(waiting.pop())} - seen:
            seen.add(name)
            new: list[File] = []
            try:
                if (folder / name / "__init__.py").is_file():
                    new = files(folder / name)
                elif (folder / f"{name}.py").is_file():
                    new = [file(folder / f"{name}.py")]
            except (
                PreflightError
            ) as refusal:  # a partial package would hide a complete one in the session
                stays[name] = str(refusal)
            modules += new
            waiting += [file.text for file in new if file.path.endswith(".py")]
    return sorted(modules, key=lambda file: file.path), stays


def _is_named(path: str, named: set[str], patterns: Sequence[str]) -> bool:
    """Whether a name or pattern matches the data file, or one of its folders inside the package."""
    parts = path.split("/")[1:]
    return not path.endswith(".py") and (
        not named.isdisjoint(parts)
        or any(fnmatch.fnmatchcase(part, pattern) for part in parts for pattern in patterns)
    )


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
