"""A notebook that needs nothing but Kaggle's image: the packages it imports ride inside.

A cell with the bundle's facts, one folded cell a file, and one cell that checks and imports the
files stand before the notebook's own cells. The same input gives the same bytes; traces of the
machine where the notebook was written are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit.bundle import cells as bundle_cells
from kernelkit.bundle import imports, packages, secret_scan
from kernelkit.bundle.cells import Cell
from kernelkit.bundle.packages import Commit, File
from kernelkit.errors import NotebookError, PreflightError
from kernelkit.notebooks.document import (
    KERNELSPEC,
    cell_source,
    has_tag,
    read_json,
    tags,
    takes_parameters,
)
from kernelkit.project import Project

MAX_BYTES = 1_000_000  # Kaggle: "must be less than 1 megabytes" of notebook JSON
WARN_SHARE = 0.8

TRACES = frozenset(("kaggle", "papermill", "widgets"))  # metadata that stays at the desk
INJECTED_TAG = "injected-parameters"  # papermill's own, which its tools recognise


@dataclass(frozen=True)
class Bundle:
    """What is pushed: the notebook's JSON `text`, and what the ledger keeps of it.

    `content` hashes what runs (cells, package files, parameters) and not the commit it was
    bundled from, so that two bundles with one `content` would do the same.
    """

    text: str
    content: str
    commit: Commit
    packages: tuple[str, ...]
    parameters: Mapping[str, Any]
    texts: tuple[
        tuple[str, str], ...
    ]  # every text in the bundle, by file or cell, to look for secrets
    traces: tuple[str, ...]  # what was taken out of the notebook's metadata
    imports: Mapping[str, str]  # the modules that it needs, and where each is imported first
    broken: tuple[str, ...] = ()  # cells and files that are not Python, with the line
    unnamed: tuple[str, ...] = ()  # data files of the packages that no module names

    @property
    def size(self) -> int:
        """Bytes of notebook JSON, of which Kaggle takes fewer than `MAX_BYTES`."""
        return len(self.text.encode())


def build(
    notebook: Path,
    parameters: Mapping[str, Any],
    project: Project,
    session_minutes: float | None = None,
) -> Bundle:
    """Bundle the notebook with the project's packages and these (checked) parameters.

    `session_minutes`: how long its session may last; the first cell sets the environment variable
    `cells.MINUTES` to that. Raises `NotebookError` for an unreadable notebook or one without
    a `parameters` cell when parameters are given, `PreflightError` for a package that cannot be
    bundled.
    """
    source, name = read_json(notebook), project.name(notebook)
    cells = [_clean(cell, n) for n, cell in enumerate(source["cells"]) if not _injected(cell)]
    if parameters:
        cells = _inject(cells, parameters, name)
    folders = {package: project.package_folder(package) for package in project.packages}
    sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    files, unnamed = _carried(folders, sources, project.leave_out)
    pins, attached = project.wheels, f"*/{project.wheels_name}-*"
    wheels = [bundle_cells.wheels(pins, attached)] if pins else []
    content = _hash(
        [f"{f.path}\0{f.text}" for f in files] + [json.dumps(c) for c in [*wheels, *cells]]
    )
    commit = packages.commit_of(project.root, [notebook, *folders.values()])
    facts = {
        "notebook": name,
        "packages": list(folders),
        "version": project.version,
        "git": {"commit": commit.sha, "dirty": commit.dirty},
        "content": f"sha256:{content}",
        "parameters": {key: _plain(value) for key, value in parameters.items()},
        "session_minutes": session_minutes,
    }
    carried = [bundle_cells.head(facts), *wheels, *(bundle_cells.carry(file) for file in files)]
    if files:
        carried.append(bundle_cells.check(project.packages))
    for number, cell in enumerate(carried):
        cell["id"] = f"bundle-{number:03d}"
    return Bundle(
        text=_dump({"cells": [*carried, *cells], **_frame()}),
        content=content,
        commit=commit,
        packages=project.packages,
        parameters=dict(parameters),
        texts=(
            *((f.path, f.text) for f in files),
            *_texts(name, cells),
            *secret_scan.beside(name, cells),
        ),
        imports=imports.needed([*_texts(name, cells, "code"), *_python(files)]),
        broken=tuple(filter(None, _broken(name, cells, files))),
        traces=tuple(sorted(TRACES.intersection(source.get("metadata") or ()))),
        unnamed=tuple(unnamed),
    )


def _carried(
    folders: Mapping[str, Path], sources: Sequence[str], leave_out: Sequence[str]
) -> tuple[list[File], list[str]]:
    """The files to bundle, and the data files left out because no module names them."""
    carried, unnamed = [], []
    for package, folder in folders.items():
        files = packages.files(folder, leave_out)
        riding = imports.reached(sources, files, package)
        carried += riding
        data = {file.path for file in files if not file.path.endswith((".py", "/py.typed"))}
        unnamed += sorted(data - {file.path for file in riding})
    return carried, unnamed


def parameters_cell(parameters: Mapping[str, Any]) -> str:
    """The source of the cell that papermill would inject for these values."""
    lines = [f"{name} = {_literal(value)}" for name, value in parameters.items()]
    return "\n".join(["# Parameters", *lines])


def check_size(bundle: Bundle) -> str:
    """A line on the bundle's size, with a warning in it from 80 % of Kaggle's limit.

    Raises `PreflightError` at the limit.
    """
    share = bundle.size / MAX_BYTES
    message = f"{bundle.size / 1000:.0f} kB of the {MAX_BYTES // 1000} kB that Kaggle takes"
    if share >= 1:
        raise PreflightError(f"the bundle has {message}: move data out of the packages or cells")
    return message + (" (over 80 %)" if share >= WARN_SHARE else "")


def _clean(cell: Mapping[str, Any], number: int) -> Cell:
    """The cell with nothing but its source and tags, and an id that does not vary."""
    clean: Cell = {
        "cell_type": cell["cell_type"],
        "id": f"cell-{number:03d}",
        "metadata": {"tags": tags(cell)} if tags(cell) else {},
        "source": cell_source(cell),
    }
    if cell["cell_type"] == "code":
        clean |= {"execution_count": None, "outputs": []}
    if "attachments" in cell:
        clean["attachments"] = cell["attachments"]
    return clean


def _injected(cell: Mapping[str, Any]) -> bool:
    return has_tag(cell, INJECTED_TAG)


def _inject(cells: list[Cell], parameters: Mapping[str, Any], name: str) -> list[Cell]:
    for place, cell in enumerate(cells):
        if takes_parameters(cell):
            injected = bundle_cells.code(parameters_cell(parameters), {"tags": [INJECTED_TAG]})
            injected["id"] = INJECTED_TAG
            return [*cells[: place + 1], injected, *cells[place + 1 :]]
    raise NotebookError(f"{name} has no cell tagged 'parameters', so it takes none")


def _frame() -> dict[str, Any]:
    metadata = {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}}
    return {"metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _dump(notebook: Mapping[str, Any]) -> str:
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _texts(name: str, cells: list[Cell], kind: str = "") -> list[tuple[str, str]]:
    """Each cell's place and source; cells count as in the notebook at the desk."""
    own = [cell for cell in cells if not _injected(cell)]
    places = {id(cell): f"{name}[cell {n}]" for n, cell in enumerate(own, start=1)}
    return [
        (places.get(id(cell), f"{name}[parameters]"), cell["source"])
        for cell in cells
        if cell["cell_type"].startswith(kind)
    ]


def _broken(name: str, cells: list[Cell], files: list[packages.File]) -> Iterator[str]:
    for place, source in _texts(name, cells, "code"):
        yield imports.broken_cell(place, source)
    for path, source in _python(files):
        yield imports.broken(path, source)


def _python(files: list[packages.File]) -> list[tuple[str, str]]:
    return [(file.path, file.text) for file in files if file.path.endswith(".py")]


def _hash(parts: list[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0\0")
    return digest.hexdigest()


def _literal(value: Any) -> str:
    return repr(value) if _plain(value) == value else f"float({str(value)!r})"


def _plain(value: Any) -> Any:
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if finite else str(value)
