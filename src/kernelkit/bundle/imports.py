"""Read code without running it: its imports, and the lines that are not Python.

Cells with magics and shell lines count as code.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import platform
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from kernelkit.bundle import installs, packages
from kernelkit.bundle.packages import File
from kernelkit.errors import PreflightError

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # a NUL is a ValueError
MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)
# Python 3.12 accepts any expression inside the braces of f-strings, and type parameters.
_F_STRING = re.compile(r"""\b(?:[rR]?[fF]|[fF][rR])["']""")
_SINCE_3_12 = re.compile(r"^\s*type\s+\w+\s*[\[=]|^\s*(?:(?:async )?def|class)\s+\w+\[")
_CUT_STRING = ("unterminated string", "unexpected character after line continuation")
NEWER = "which Kaggle's newer Python may accept"


def imported(source: str, home: str = "") -> Iterator[str]:
    """The dotted names that a source imports; relative imports start from the package `home`."""
    for node in ast.walk(parsed(source)):
        yield from _names(node, home)


def needed(sources: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The modules that these (name, source) pairs need, and where each is first imported.

    Top-level names, such as "numpy": "train.ipynb[cell 2], line 1". Optional modules
    (`try: … except ImportError`) are left out.
    """
    modules: dict[str, str] = {}
    for name, source in sources:
        for node in _unguarded(parsed(source)):
            for module in _names(node, ""):
                modules.setdefault(module.partition(".")[0], f"{name}, line {node.lineno}")
    return modules


def parsed(source: str) -> ast.Module:
    """The source's syntax tree; for a cell that is not Python, the tree of its import lines."""
    for text in (source, _MAGIC.sub(r"\1pass", source)):
        with contextlib.suppress(*UNREADABLE), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    return ast.Module(list(_import_lines(source)), [])


def _import_lines(source: str) -> Iterator[ast.stmt]:
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip().startswith(("import ", "from ")) and "(" not in line:
            try:
                tree = ast.parse(line.strip())
            except UNREADABLE:
                continue
            yield from (ast.increment_lineno(statement, number - 1) for statement in tree.body)


def _names(node: ast.AST, home: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (home or not node.level):
        up = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*up, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _unguarded(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
        return
    skipped = node.body if _optional(node) else []  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from _unguarded(child)


def _optional(node: ast.AST) -> bool:
    """Whether the code continues without the imports in the node's body."""
    if isinstance(node, ast.Try):
        caught = [handler.type for handler in node.handlers]
        return any(kind is None or MISSING & _mentioned(kind) for kind in caught)
    if isinstance(node, ast.With):
        names = [_mentioned(item.context_expr) for item in node.items]
        return any("suppress" in mentioned and MISSING & mentioned for mentioned in names)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _mentioned(expression: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return names | {n.attr for n in ast.walk(expression) if isinstance(n, ast.Attribute)}


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
    files: list[File] = []
    stays: dict[str, str] = {}
    waiting = list(sources)
    seen = {*carried, *sys.stdlib_module_names}
    while waiting:
        for name in {name.partition(".")[0] for name in imported(waiting.pop())} - seen:
            seen.add(name)
            new: list[File] = []
            try:
                if (folder / name / "__init__.py").is_file():
                    new = packages.files(folder / name)
                elif (folder / f"{name}.py").is_file():
                    new = [packages.file(folder / f"{name}.py")]
            except (
                PreflightError
            ) as refusal:  # a partial package would hide a complete one in the session
                stays[name] = str(refusal)
            files += new
            waiting += [file.text for file in new if file.path.endswith(".py")]
    return sorted(files, key=lambda file: file.path), stays


def _is_named(path: str, named: set[str], patterns: Sequence[str]) -> bool:
    """Whether a name or pattern matches the data file, or one of its folders inside the package."""
    parts = path.split("/")[1:]
    return not path.endswith(".py") and (
        not named.isdisjoint(parts)
        or any(fnmatch.fnmatchcase(part, pattern) for part in parts for pattern in patterns)
    )


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def broken_cell(name: str, source: str) -> str:
    """Like `broken`, for a notebook's cell, which may await, call magics and run shell lines."""
    message = broken(name, source, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not message or installs.AUTOMAGIC.fullmatch(source):
        return ""
    # Importing IPython takes a third of a second, and most cells are plain Python.
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        transformed = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    except SyntaxError:
        return message
    # IPython removes leading empty lines and keeps all others: this corrects the line numbers.
    taken = len(source) - len(source.lstrip("\n"))
    return broken(name, "\n" * taken + transformed, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def broken(name: str, source: str, flags: int = 0) -> str:
    """What is wrong with a module's source, with `name` and the line; empty if it is Python.

    `flags` are those of `compile`. The message ends with `NEWER` if this Python is too old to know.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is no error
            compile(source, name, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip().partition("\n")[0]
        message = f"{name}, line {error.lineno}: {error.msg}" + (f": {line[:80]}" if line else "")
        written = source.splitlines()[(error.lineno or 1) - 1 :][:1]
        newer = error.msg.startswith("f-string") or any(map(_SINCE_3_12.search, written))
        newer |= error.msg.startswith(_CUT_STRING) and any(map(_F_STRING.search, written))
        if newer and sys.version_info < (3, 12):
            return f"{message} (read by Python {platform.python_version()}), {NEWER}"
    except (ValueError, RecursionError, MemoryError) as error:
        message = f"{name}: {error}"
    else:
        return ""
    return message
