"""Build a notebook that needs only Kaggle's image, with the packages it imports inside.

Before the notebook's own cells come a cell with the bundle's facts, a folded cell for each folder
of files, and one cell that checks and imports the files; after them comes one that lists the
session's outputs. The same input gives the same bytes; traces of the machine where the notebook
was written are removed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelkit.bundle import cells as bundle_cells
from kernelkit.bundle import imports, packages, secret_scan
from kernelkit.bundle.cells import Cell
from kernelkit.bundle.packages import Commit, File
from kernelkit.errors import NotebookError, PreflightError
from kernelkit.notebooks.document import (
    INJECTED_TAG,
    KERNELSPEC,
    SCRIPT_BEGINS,
    cell_source,
    has_tag,
    read_json,
    read_script,
    tags,
    takes_parameters,
)
from kernelkit.project import Project

MAX_BYTES = 1_000_000  # Kaggle: "must be less than 1 megabytes" of notebook JSON
WARN_SHARE = 0.8

TRACES = frozenset(("kaggle", "papermill", "widgets"))  # metadata that is not sent
SENT = re.compile(r'^PUSH = "([0-9a-f]{16})?"', re.MULTILINE)  # in the first cell
FUTURE = re.compile(r"^from __future__ import [\w, ]+$", re.MULTILINE)


@dataclass(frozen=True)
class Bundle:
    """What is pushed: the notebook's JSON `text`, and facts about it for the ledger.

    `content` is a hash of what runs (cells, package files, parameters), without the commit, so that
    two bundles with the same `content` do the same.
    """

    text: str
    content: str
    commit: Commit
    packages: tuple[str, ...]
    parameters: Mapping[str, Any]
    texts: tuple[tuple[str, str], ...]  # all text, by file or cell, for the secret scan
    traces: tuple[str, ...]  # what was removed from the notebook's metadata
    imports: Mapping[str, str]  # the modules that it needs, and where each is first imported
    code: tuple[tuple[str, str], ...] = ()  # the notebook's own code cells, by place
    brought: frozenset[str] = frozenset()  # the `imports` that its session may install
    broken: tuple[str, ...] = ()  # cells and files that are not Python, with the line
    stays: Mapping[str, str] = field(default_factory=dict)  # modules not sent, and why
    unnamed: tuple[str, ...] = ()  # data files of the packages that no module names

    @property
    def size(self) -> int:
        """Bytes of notebook JSON; Kaggle accepts fewer than `MAX_BYTES`."""
        return len(self.text.encode())


def build(
    notebook: Path,
    parameters: Mapping[str, Any],
    project: Project,
    session_minutes: float | None = None,
    *,
    script: bool = False,
) -> Bundle:
    """Bundle the notebook with the project's packages and these (checked) parameters.

    `session_minutes`: how long its session may last; the first cell stores it in the environment
    variable `cells.MINUTES`. `script`: the cells become one file. Raises `NotebookError` for a
    notebook that cannot be read or takes no parameters, and `PreflightError` for an unreadable
    package.
    """
    source, name = (read_script if script else read_json)(notebook), project.name(notebook)
    cells = _cells(source, name, parameters)
    code = [(place, cell["source"]) for place, cell in cells.items() if cell["cell_type"] == "code"]
    files, unnamed, paths, stays = _files(notebook, project, [text for _, text in code])
    modules = [(file.path, file.text) for file in files if file.path.endswith(".py")]
    cell_check = imports.broken if script else imports.broken_cell
    broken = [cell_check(*each) for each in code] + [imports.broken(*each) for each in modules]
    names = tuple(dict.fromkeys(re.split(r"/|\.py$", file.path)[0] for file in files))
    wheels = _wheels(project)
    own = map(json.dumps, [*wheels, *cells.values()])
    content = _hash([*(f"{file.path}\0{file.text}" for file in files), *own])
    commit = packages.commit_of(project.root, [notebook, *paths])
    facts = {
        "notebook": name,
        "packages": list(names),
        "version": project.version,
        **_sent(commit, content, parameters),
        "session_minutes": session_minutes,
    }
    carried = _carried(facts, wheels, files, names)
    return Bundle(
        text=_script(carried, cells.values()) if script else _dump(carried, cells.values()),
        content=content,
        commit=commit,
        packages=names,
        parameters=dict(parameters),
        texts=(*((file.path, file.text) for file in files), *secret_scan.texts_of(cells)),
        imports=(needed := imports.needed([*code, *modules])),
        code=tuple(code),
        brought=frozenset(imports.brought([*code, *modules], needed)),
        broken=tuple(filter(None, broken)),
        traces=tuple(sorted(TRACES.intersection(source.get("metadata") or ()))),
        stays=stays,
        unnamed=tuple(unnamed),
    )


def _sent(commit: Commit, content: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that distinguish this push of the notebook from others."""
    return {
        "git": {"commit": commit.sha, "dirty": commit.dirty},
        "content": f"sha256:{content}",
        "parameters": {key: _plain(value) for key, value in parameters.items()},
    }


def _wheels(project: Project) -> list[Cell]:
    """The cell that installs the project's wheels from an attached dataset."""
    attached = f"*/{project.wheels_name}-*"
    return [bundle_cells.wheels(project.wheels, attached)] if project.wheels else []


def _carried(
    facts: Mapping[str, Any], wheels: list[Cell], files: list[File], names: tuple[str, ...]
) -> list[Cell]:
    """The cells that come before the notebook's own."""
    check = [bundle_cells.check(names)] if files else []
    begin = bundle_cells.manifest_begins()
    return [bundle_cells.head(facts), begin, *wheels, *bundle_cells.carry(files), *check]


def _cells(source: Mapping[str, Any], name: str, parameters: Mapping[str, Any]) -> dict[str, Cell]:
    """The notebook's cells by place, such as "train.ipynb[cell 2]", with the parameters injected.

    They are numbered as in the local notebook, without cells that papermill injected earlier.
    """
    own = [cell for cell in source["cells"] if not has_tag(cell, INJECTED_TAG)]
    cells: dict[str, Cell] = {}
    for number, cell in enumerate(own):
        cells[f"{name}[cell {number + 1}]"] = _clean(cell, number)
        if parameters and takes_parameters(cell):
            injected = bundle_cells.code(parameters_cell(parameters), {"tags": [INJECTED_TAG]})
            cells[f"{name}[parameters]"] = injected | {"id": INJECTED_TAG}
    if parameters and f"{name}[parameters]" not in cells:
        raise NotebookError(f"{name} has no cell tagged 'parameters', so it takes none")
    return cells


def _files(
    notebook: Path, project: Project, sources: Sequence[str]
) -> tuple[list[File], list[str], list[Path], dict[str, str]]:
    """The files to bundle, the data files that no module names, and the paths of all of them.

    The last item is the modules beside the notebook that cannot be bundled, with the reasons.
    """
    carried: list[File] = []
    unnamed: list[str] = []
    folders = [project.package_folder(package) for package in project.packages]
    for folder in folders:
        files = packages.files(folder, project.leave_out)
        riding = packages.reached(sources, files, folder.name)
        carried += riding
        data = {file.path for file in files if not file.path.endswith((".py", "/py.typed"))}
        unnamed += sorted(data - {file.path for file in riding})
    texts = [file.text for file in carried if file.path.endswith(".py")]
    if project.beside:  # this notebook carries the one that runs
        cells = read_json(project.beside)["cells"]
        sources = [cell_source(cell) for cell in cells if cell["cell_type"] == "code"]
    origin = (project.beside or notebook).parent
    near, stays = packages.beside(origin, [*sources, *texts], project.packages)
    paths = [*folders, *(origin / file.path for file in near)]
    return [*carried, *near], unnamed, paths, stays


def parameters_cell(parameters: Mapping[str, Any]) -> str:
    """The source of the cell that papermill would inject for these values."""
    lines = [f"{name} = {_literal(value)}" for name, value in parameters.items()]
    return "\n".join(["# Parameters", *lines])


def check_size(bundle: Bundle) -> str:
    """A sentence on the bundle's size, with a warning from 80 % of Kaggle's limit.

    Raises `PreflightError` at the limit.
    """
    share = bundle.size / MAX_BYTES
    message = f"{bundle.size / 1000:.0f} kB of the {MAX_BYTES // 1000} kB that Kaggle accepts"
    if share >= 1:
        raise PreflightError(f"the bundle has {message}: move data out of the packages or cells")
    return message + (" (over 80 %)" if share >= WARN_SHARE else "")


def _clean(cell: Mapping[str, Any], number: int) -> Cell:
    """The cell with only its source and tags, and a reproducible id."""
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


def _dump(carried: Iterable[Cell], own: Iterable[Cell]) -> str:
    notebook = {
        "cells": [
            *(cell | {"id": f"bundle-{number:03d}"} for number, cell in enumerate(carried)),
            *own,
            bundle_cells.code(bundle_cells.LAST, bundle_cells.FOLDED) | {"id": "bundle-end"},
        ],
        "metadata": {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return _json(notebook)


def _json(notebook: Mapping[str, Any]) -> str:
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _script(carried: Iterable[Cell], own: Iterable[Cell]) -> str:
    """All cells as one file, with `from __future__` imports first, as Python requires.

    The process writes the manifest when it exits, so that no last cell is needed.
    """
    ridden = "\n\n".join(cell["source"] for cell in carried)
    text = "\n".join(cell["source"].rstrip("\n") for cell in own)
    futures = dict.fromkeys(FUTURE.findall(text))  # not those inside the bundled files
    return "\n".join([*futures, ridden, SCRIPT_BEGINS, FUTURE.sub("", text)]) + "\n"


def stamped(text: str, number: str) -> str:
    """The bundle's notebook JSON with the push's number in its first cell."""
    if not text.startswith("{"):  # a script
        return SENT.sub(f'PUSH = "{number}"', text, count=1)
    notebook = json.loads(text)
    first = notebook["cells"][0]
    first["source"] = SENT.sub(f'PUSH = "{number}"', first["source"], count=1)
    return _json(notebook)


def number_of(text: str) -> str:
    """The number in a notebook's first cell; empty if there is none."""
    try:
        first = "".join(json.loads(text)["cells"][0]["source"]) if text.startswith("{") else text
    except (ValueError, KeyError, TypeError, IndexError):
        return ""
    stated = SENT.search(first)
    return (stated and stated[1]) or ""


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
