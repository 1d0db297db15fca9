"""Which files of a package a notebook can reach through its imports.

A push should carry what its notebook runs, not all that lives beside it. Imports are read,
not run: what stands in a function counts as well as what stands at the top.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from kernelkit.packages import File


def reached(sources: Iterable[str], files: Sequence[File], package: str) -> list[File]:
    """The files of `package` that code with these `sources` imports, directly or further on.

    Files that are not Python always count, and so does everything where no source imports the
    package by name: what reaches it then cannot be read. Keeps the order of `files`.
    """
    by_module = {_module(file.path): file for file in files if file.path.endswith(".py")}
    waiting = [name for source in sources for name in _imports(source, "")]
    if not any(name.split(".")[0] == package for name in waiting):
        return list(files)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        # Importing a.b.c runs a and a.b first; the last part may be a name inside a module.
        for module in (".".join(parts[:depth]) for depth in range(1, len(parts) + 1)):
            file = by_module.get(module)
            if file is not None and module not in found:
                found.add(module)
                waiting += _imports(file.text, _home(file.path))
    return [f for f in files if not f.path.endswith(".py") or _module(f.path) in found]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _home(path: str) -> str:
    return ".".join(path.split("/")[:-1])


def _imports(source: str, home: str) -> Iterator[str]:
    """The dotted names a source imports; `home` is the package that relative ones start from."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with a shell line or a magic: its other lines still count
        lines = (line.strip() for line in source.splitlines())
        kept = [line for line in lines if line.startswith(("import ", "from ")) and "(" not in line]
        tree = _parsed(kept)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _parsed(lines: list[str]) -> ast.Module:
    body: list[ast.stmt] = []
    for line in lines:
        try:
            body += ast.parse(line).body
        except SyntaxError:
            continue
    return ast.Module(body, [])
