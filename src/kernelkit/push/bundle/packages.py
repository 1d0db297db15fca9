"""The files that a bundle carries, found by following imports.

Only text travels, unchanged, so that a reader of the pushed notebook sees the code that ran. Binary
files are refused.
"""

import base64
import contextlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelkit.errors import PreflightError
from kernelkit.notebook import document
from kernelkit.notebook.modules import File, imported, package_files, text_of
from kernelkit.project import Project


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
        carried += reached(sources, package_files(folder, project.leave_out), folder.name)
    if project.beside:  # this notebook carries the one that runs
        cells = document.read_json(project.beside)["cells"]
        sources = [document.cell_source(cell) for cell in cells if cell["cell_type"] == "code"]
    origin = (project.beside or notebook).parent
    texts = [file.text for file in carried if file.path.endswith(".py")]
    near, stays = beside(origin, [*sources, *texts], project.packages)
    paths = [notebook, *folders, *(origin / file.path for file in near)]
    return [*carried, *near], paths, stays


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
                    new = package_files(folder / name)
                elif file.is_file():
                    new = [File(file.name, text_of(file))]
            except PreflightError as refusal:
                stays[name] = str(refusal)  # in part, it would hide a complete one in the session
            modules += new
            waiting += [file.text for file in new if file.path.endswith(".py")]
    return sorted(modules, key=lambda file: file.path), stays


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
