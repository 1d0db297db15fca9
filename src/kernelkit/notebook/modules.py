"""The modules that a notebook's code imports, and the files of a package as text.

Code is never run here: imports are read from its syntax tree, also in cells with magics and shell
lines.
"""

import ast
import contextlib
import fnmatch
import hashlib
import importlib.util
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kernelkit.errors import PreflightError
from kernelkit.files import files_below
from kernelkit.notebook import document

_SKIPPED = {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache", ".DS_Store"}
_SKIPPED |= {".pyc", ".pyo", ".part", ".swp"}
_MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)


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
        names = (name, f"{name}/")  # of a folder, or in a pattern for all its contents
        return not _SKIPPED.isdisjoint((path.name, path.suffix)) or any(
            fnmatch.fnmatchcase(each, pattern) for each in names for pattern in leave_out
        )

    return [
        File(path.relative_to(folder.parent).as_posix(), text_of(path))
        for path in files_below(folder, skip)
    ]


def text_of(path: Path) -> str:
    """The text of a file that is to travel; raises `PreflightError` unless it is UTF-8."""
    try:
        # A byte order mark is no Python to a reader of the text.
        text = path.read_bytes().decode("utf-8-sig" if path.suffix == ".py" else "utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PreflightError(
            f"{path} is not UTF-8 text, and a bundle contains nothing else: save it as UTF-8, or "
            "move it out of the package, to a Kaggle dataset (kernelkit upload FOLDER)"
        )
    return text


def imported(source: str, home: str = "") -> Iterator[str]:
    """The dotted names that a source imports; relative imports start from the package `home`."""
    for node in ast.walk(_parsed(source)):
        yield from _names(node, home)


def needed(sources: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The modules that these (name, source) pairs need, and where each is first imported.

    Top-level names, such as "numpy": "train.ipynb[cell 2], line 1". Optional modules
    (`try: … except ImportError`) are left out.
    """
    modules: dict[str, str] = {}
    for name, source in sources:
        for node in _unguarded(_parsed(source)):
            for module in _names(node, ""):
                modules.setdefault(module.partition(".")[0], f"{name}, line {node.lineno}")
    return modules


def _parsed(source: str) -> ast.Module:
    """The source's syntax tree; for a cell that is not Python, the tree of its import lines."""
    if tree := _tree(source) or _tree(_MAGIC.sub(r"\1pass", source)):
        return tree
    lines = [line.strip() for line in source.splitlines()]
    imports = [line if re.match(r"(?:import|from)\s", line) else "" for line in lines]
    # Each line alone, because prose may begin with "from", too.
    return ast.parse("\n".join(line if _tree(line) else "" for line in imports))


def _tree(source: str) -> ast.Module | None:
    with contextlib.suppress(*document.UNREADABLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
    return None


def _names(node: ast.AST, home: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (home or not node.level):
        with contextlib.suppress(ImportError):  # more dots than folders
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), home)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _unguarded(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports below a node that its code cannot continue without."""
    guards: list[str] = []
    match node:
        case ast.Import() | ast.ImportFrom():
            yield node
        case ast.Try(handlers=handlers):
            guards = [ast.unparse(each.type) if each.type else "Exception" for each in handlers]
        case ast.With(items=items):
            guards = [text for text in map(ast.unparse, items) if "suppress" in text]
    words = set(re.findall(r"\w+", " ".join(guards)))
    typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    optional = node.body if typing or words & _MISSING else []  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        if child not in optional:
            yield from _unguarded(child)
