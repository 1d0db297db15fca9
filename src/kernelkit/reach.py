"""Which files of a package a notebook can reach through its imports.

A push should carry what its notebook runs, not all that lives beside it. Imports are read,
not run: what stands in a function counts as well as what stands at the top.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernelkit.imports import imported
from kernelkit.packages import File


def reached(sources: Iterable[str], files: Sequence[File], package: str) -> list[File]:
    """The files of `package` that code with these `sources` imports, directly or further on.

    Files that are not Python always count, and so does everything where no source imports the
    package by name: what reaches it then cannot be read. Keeps the order of `files`.
    """
    by_module = {_module(file.path): file for file in files if file.path.endswith(".py")}
    waiting = [name for source in sources for name in imported(source)]
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
                waiting += imported(file.text, _home(file.path))
    return [f for f in files if not f.path.endswith(".py") or _module(f.path) in found]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _home(path: str) -> str:
    return ".".join(path.split("/")[:-1])
