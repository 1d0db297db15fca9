"""Build a notebook that needs only Kaggle's image, with the packages it imports inside.

Before the notebook's own cells come a cell with the bundle's facts, a folded cell for each folder
of files, and one cell that checks and imports the files; after them comes one that lists the
session's outputs. The same input gives the same bytes; traces of the machine where the notebook
was written are removed.
"""

import base64
import contextlib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.files import git
from kernelkit.notebooks.document import (
    INJECTED_TAG,
    cell_source,
    has_tag,
    read_json,
    read_script,
    tags,
    takes_parameters,
)
from kernelkit.plans import packages
from kernelkit.plans.cells import Cell, as_json, before, code
from kernelkit.plans.cells import notebook as as_notebook
from kernelkit.plans.cells import script as as_script
from kernelkit.plans.packages import File
from kernelkit.project import Project

MAX_BYTES = 1_000_000  # Kaggle: "must be less than 1 megabytes" of notebook JSON
NUMBER = re.compile(r'^PUSH = "([0-9a-f]{16})?"', re.MULTILINE)  # in the first cell

Texts = tuple[tuple[str, str], ...]  # texts by file or cell, such as "train.ipynb[cell 2]"


@dataclass(frozen=True)
class Commit:
    """The commit of a checkout; `sha` is empty outside git, where everything counts as dirty."""

    sha: str
    dirty: bool

    def __str__(self) -> str:
        if not self.sha:
            return "no commit"
        return self.sha[:12] + ("+changes" if self.dirty else "")


@dataclass(frozen=True)
class Bundle:
    """What is pushed: the notebook's JSON `text`, and facts about it for checks and the ledger.

    `content` is a hash of what runs (cells, package files, parameters), without the commit, so that
    two bundles with the same `content` do the same. `texts` is all text, for the search for
    credentials; `code` the notebook's own code cells; `stays` the modules not sent, and why.
    """

    text: str
    content: str
    commit: Commit
    packages: tuple[str, ...]
    parameters: Mapping[str, Any]
    texts: Texts
    code: Texts = ()
    stays: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of notebook JSON; Kaggle accepts fewer than `MAX_BYTES`."""
        return len(self.text.encode())

    @property
    def modules(self) -> Texts:
        """The bundled Python files."""
        return tuple((place, text) for place, text in self.texts if place.endswith(".py"))

    @property
    def imports(self) -> dict[str, str]:
        """The modules that it needs, and where each is first imported."""
        return packages.needed((*self.code, *self.modules))


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
    variable `KERNELKIT_SESSION_MINUTES`. `script`: the cells become one file. Raises
    `NotebookError` for a notebook that cannot be read or takes no parameters, and `PreflightError`
    for an unreadable package.
    """
    name = project.name(notebook)
    cells = _cells((read_script if script else read_json)(notebook), name, parameters)
    sources = tuple((place, c["source"]) for place, c in cells.items() if c["cell_type"] == "code")
    files, paths, stays = _files(notebook, project, [text for _, text in sources])
    names = tuple(dict.fromkeys(re.split(r"/|\.py$", file.path)[0] for file in files))
    own = map(json.dumps, [project.wheels, *cells.values()])
    content = _hash([*(f"{file.path}\0{file.text}" for file in files), *own])
    sha = git(project.root, "rev-parse", "HEAD") or ""
    changed = sha and git(
        project.root, "status", "--porcelain", "--", *map(str, [notebook, *paths])
    )
    commit = Commit(sha.strip(), dirty=not sha or changed is None or bool(changed.strip()))
    facts = {
        "notebook": name,
        "packages": list(names),
        "version": project.version,
        "git": {"commit": commit.sha, "dirty": commit.dirty},
        "content": f"sha256:{content}",
        "parameters": {n: v if _is_plain(v) else str(v) for n, v in parameters.items()},
        "session_minutes": session_minutes,
    }
    return Bundle(
        text=(as_script if script else as_notebook)(before(facts, files, project), cells.values()),
        content=content,
        commit=commit,
        packages=names,
        parameters=dict(parameters),
        texts=(*((file.path, file.text) for file in files), *_texts(cells)),
        code=sources,
        stays=stays,
    )


def _cells(source: Mapping[str, Any], name: str, parameters: Mapping[str, Any]) -> dict[str, Cell]:
    """The notebook's cells by place, such as "train.ipynb[cell 2]", with the parameters injected.

    They are numbered as in the local notebook, without cells that papermill injected earlier. Only
    their sources, tags and attachments are kept, and their ids are reproducible.
    """
    cells: dict[str, Cell] = {}
    own = (cell for cell in source["cells"] if not has_tag(cell, INJECTED_TAG))
    for number, cell in enumerate(own):
        metadata = {"tags": tags(cell)} if tags(cell) else {}
        clean = code(cell_source(cell), metadata) | {"id": f"cell-{number:03d}"}
        if cell["cell_type"] != "code":
            del clean["execution_count"], clean["outputs"]
        content = {key: cell[key] for key in ("cell_type", "attachments") if key in cell}
        cells[f"{name}[cell {number + 1}]"] = clean | content
        if parameters and takes_parameters(cell):
            injected = code(parameters_cell(parameters), {"tags": [INJECTED_TAG]})
            cells[f"{name}[parameters]"] = injected | {"id": INJECTED_TAG}
    if parameters and f"{name}[parameters]" not in cells:
        raise NotebookError(f"{name} has no cell tagged 'parameters', so it takes none")
    return cells


def _files(
    notebook: Path, project: Project, sources: Sequence[str]
) -> tuple[list[File], list[Path], dict[str, str]]:
    """The files to bundle, the paths of all of them, and the modules beside the notebook that
    cannot be bundled, with the reasons."""
    carried: list[File] = []
    folders = [project.package_folder(package) for package in project.packages]
    for folder in folders:
        files = packages.files(folder, project.leave_out)
        carried += packages.reached(sources, files, folder.name)
    texts = [file.text for file in carried if file.path.endswith(".py")]
    if project.beside:  # this notebook carries the one that runs
        cells = read_json(project.beside)["cells"]
        sources = [cell_source(cell) for cell in cells if cell["cell_type"] == "code"]
    origin = (project.beside or notebook).parent
    near, stays = packages.beside(origin, [*sources, *texts], project.packages)
    return [*carried, *near], [*folders, *(origin / file.path for file in near)], stays


def _texts(cells: Mapping[str, Cell]) -> Iterator[tuple[str, str]]:
    """The sources of cells, and their tags and decoded attachments, each with its place."""
    for place, cell in cells.items():
        yield place, cell["source"]
        besides = json.dumps([cell["metadata"], cell.get("attachments")], indent=0)
        yield f"{place} tags and attachments", besides
        for data in re.findall(r"[A-Za-z0-9+/]{16,}", besides):
            with contextlib.suppress(ValueError):
                decoded = base64.b64decode(f"{data}==").decode("utf-8", "replace")
                yield f"{place} attachment", decoded


def parameters_cell(parameters: Mapping[str, Any]) -> str:
    """The source of the cell that papermill would inject for these values."""
    lines = [
        f"{name} = {value!r}" if _is_plain(value) else f"{name} = float({str(value)!r})"
        for name, value in parameters.items()
    ]
    return "\n".join(["# Parameters", *lines])


def _is_plain(value: Any) -> bool:
    """Whether `repr` gives Python code: it does not for infinity."""
    return not isinstance(value, float) or math.isfinite(value)


def stamped(text: str, number: str) -> str:
    """The bundle's notebook JSON with the push's number in its first cell."""
    if not text.startswith("{"):  # a script
        return NUMBER.sub(f'PUSH = "{number}"', text, count=1)
    notebook = json.loads(text)
    first = notebook["cells"][0]
    first["source"] = NUMBER.sub(f'PUSH = "{number}"', first["source"], count=1)
    return as_json(notebook)


def number_of(text: str) -> str:
    """The number in a notebook's first cell; empty if there is none."""
    try:
        first = cell_source(json.loads(text)["cells"][0]) if text.startswith("{") else text
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return ""
    stated = NUMBER.search(first)
    return (stated and stated[1]) or ""


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0\0")
    return digest.hexdigest()
