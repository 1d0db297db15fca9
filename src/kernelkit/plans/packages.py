"""The files that a bundle carries: found by following imports, and searched for credentials.

Only text travels, unchanged, so that a reader of the pushed notebook sees the code that ran. Binary
files are refused. Code is never run here: imports are read from its syntax tree, also in cells with
magics and shell lines.
"""

import ast
import base64
import contextlib
import fnmatch
import hashlib
import importlib.util
import json
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kernelkit.errors import PreflightError
from kernelkit.notebooks import document
from kernelkit.project import Project
from kernelkit.terminal.events import SHORTEST_SECRET

_SKIPPED = {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache", ".DS_Store"}
_SKIPPED |= {".pyc", ".pyo", ".part", ".swp"}
_MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)
_CREDENTIALS = re.compile(
    r"(?:^|/)(?:\.env(?:\.\w+)?|kaggle\.json|access_token(?:\.txt)?|credentials\.json|\.netrc"
    r"|id_(?:rsa|ed25519))$"
)
_SHAPES = Path(__file__).with_name("secrets.toml").read_text("utf-8")
_PATTERNS = {kind: re.compile(shape) for kind, shape in tomllib.loads(_SHAPES).items()}


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


def carried(
    notebook: Path, project: Project, sources: Sequence[str]
) -> tuple[list[File], list[Path], dict[str, str]]:
    """The files to bundle with a notebook whose cells have these `sources`.

    Also the paths whose commit is that of the bundle, and the modules beside the notebook that
    cannot be bundled, with the reasons. Raises `PreflightError` for an unreadable package.
    """
    carried: list[File] = []
    folders = [project.package_folder(package) for package in project.packages]
    for folder in folders:
        carried += reached(sources, files(folder, project.leave_out), folder.name)
    if project.beside:  # this notebook carries the one that runs
        cells = document.read_json(project.beside)["cells"]
        sources = [document.cell_source(cell) for cell in cells if cell["cell_type"] == "code"]
    origin = (project.beside or notebook).parent
    texts = [file.text for file in carried if file.path.endswith(".py")]
    near, stays = beside(origin, [*sources, *texts], project.packages)
    paths = [notebook, *folders, *(origin / file.path for file in near)]
    return [*carried, *near], paths, stays


def files(folder: Path, leave_out: Sequence[str] = ()) -> list[File]:
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
        File(path.relative_to(folder.parent).as_posix(), _text(path))
        for path in files_below(folder, skip)
    ]


def _text(path: Path) -> str:
    try:
        # A byte order mark is no Python to a reader of the text.
        text = path.read_bytes().decode("utf-8-sig" if path.suffix == ".py" else "utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PreflightError(
            f"{path} is not UTF-8 text, and a bundle contains nothing else: save it as UTF-8, or "
            "move it out of the package, to a Kaggle dataset (kernelkit dataset FOLDER)"
        )
    return text


def files_below(folder: Path, skip: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """All files below `folder`, sorted; links to files and folders are followed.

    `skip` is called with every path; a folder that it skips is not read. Raises `PreflightError`
    for what a push would silently leave out: a broken link, a link to a parent folder, a name that
    is not Unicode.
    """
    files: list[Path] = []
    waiting: list[tuple[Path, tuple[str, ...]]] = [(folder, (os.path.realpath(folder),))]
    while waiting:
        place, above = waiting.pop()
        for path in place.iterdir():
            real = os.path.realpath(path)
            if skip(path):
                continue
            if path.name.encode(errors="replace").decode() != path.name:
                raise PreflightError(f"the name of {str(path)!a} is not Unicode: rename it")
            if path.is_dir() and real not in above:
                waiting.append((path, (*above, real)))
            elif path.is_file():
                files.append(path)
            elif path.is_symlink() or real in above:
                raise PreflightError(
                    f"{path} is a broken link, or one to a folder that contains it: remove it"
                )
    return sorted(files)


def reached(sources: Iterable[str], files: Sequence[File], package: str) -> list[File]:
    """The files of `package` that code with these `sources` imports, directly or indirectly.

    A data file is included with the package or subpackage whose folder holds it. If no source
    imports the package by name, everything is included, because the use cannot be determined.
    Keeps the order of `files`.
    """
    by_module = {file.module: file for file in files if file.path.endswith(".py")}
    waiting = [name for source in sources for name in imported(source)]
    if not any(name.split(".")[0] == package for name in waiting):
        return list(files)
    modules: set[str] = set()
    while waiting:
        parts = waiting.pop().split(".")
        # Importing a.b.c runs a and a.b first; the last part may be a name inside a module.
        for module in (".".join(parts[:depth]) for depth in range(1, len(parts) + 1)):
            file = by_module.get(module)
            if file is not None and module not in modules:
                modules.add(module)
                waiting += imported(file.text, file.home)

    def holder(file: File) -> str:
        """The module that a file is, or the nearest package above it."""
        name = file.module if file.path.endswith(".py") else file.home
        while name and name not in by_module:
            name = name.rpartition(".")[0]
        return name

    return [file for file in files if holder(file) in modules]


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
            file = folder / f"{name}.py"
            try:
                if (folder / name / "__init__.py").is_file():
                    new = files(folder / name)
                elif file.is_file():
                    new = [File(file.name, _text(file))]
            except PreflightError as refusal:
                stays[name] = str(refusal)  # in part, it would hide a complete one in the session
            modules += new
            waiting += [file.text for file in new if file.path.endswith(".py")]
    return sorted(modules, key=lambda file: file.path), stays


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


def texts_of(cells: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The sources of cells, and their tags and decoded attachments, each with its place."""
    for place, cell in cells.items():
        yield place, cell["source"]
        besides = json.dumps([cell["metadata"], cell.get("attachments")], indent=0)
        yield f"{place} tags and attachments", besides
        for data in re.findall(r"[A-Za-z0-9+/]{16,}", besides):
            with contextlib.suppress(ValueError):
                decoded = base64.b64decode(f"{data}==").decode("utf-8", "replace")
                yield f"{place} attachment", decoded


def find_secrets(texts: Iterable[tuple[str, str]], secrets: Sequence[str] = ()) -> Iterator[str]:
    """What is or looks like a credential in (file name, text) pairs, as "FILE:LINE looks like …".

    A file with the name of a credentials file always counts. `secrets` are the client's own, which
    are found whatever they look like. A finding never repeats the secret.
    """
    secrets = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
    for file, text in texts:
        if _CREDENTIALS.search(file):
            yield f"{file}:1 looks like a credentials file"
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            kinds = (kind for kind, pattern in _PATTERNS.items() if pattern.search(line))
            own = any(secret in line for secret in secrets)
            if kind := "your own Kaggle key or token" if own else next(kinds, ""):
                yield f"{file}:{number} looks like {kind}"
