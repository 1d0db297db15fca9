"""Build a notebook that needs only Kaggle's image, with the packages it imports inside.

The notebook's own cells follow those of `added_cells`. The same input gives the same bytes;
traces of the machine where the notebook was written are removed. `read_back` reads everything back
except the kit itself, which a sweep's bundle has compressed: it is almost half of what Kaggle
accepts.
"""

import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import kernelkit
from kernelkit.files import size_of
from kernelkit.git import commit_of
from kernelkit.notebook import document, scripts
from kernelkit.notebook.code.reading import Program
from kernelkit.notebook.code.records import Reading
from kernelkit.notebook.files.own_files import OwnFiles, own_files
from kernelkit.notebook.interface.values import assignments, source_of
from kernelkit.project import Project
from kernelkit.push.added.added_cells import LAST, Values, added_cells

MAX_BYTES = 1_000_000  # Kaggle: "must be less than 1 megabytes" of notebook JSON
FOLDED_TAG = "bundle"  # of what a push adds, but for the first cell; no own cell keeps it
FOLDED = {"_kg_hide-input": True, "jupyter": {"source_hidden": True}, "tags": [FOLDED_TAG]}

BundleCell = dict[str, Any]  # as its JSON has it
Texts = tuple[tuple[str, str], ...]  # texts by file or cell, such as "train.ipynb[cell 2]"


class Commit(NamedTuple):
    """The commit of a checkout; `sha` is empty outside git, where everything counts as dirty."""

    sha: str
    dirty: bool

    def __str__(self) -> str:
        if not self.sha:
            return "no commit"
        short = self.sha[:12]
        return f"{short}+changes" if self.dirty else short


@dataclass(frozen=True)
class Bundle:
    """What is pushed, and facts about it for checks and the ledger.

    text        the notebook's JSON, or the script
    content     a hash of what runs (the cells with the parameters, the files, the project's
                wheels, the versions of what the push uploads), without the commit and the machine:
                two bundles with the same hash do the same
    commit      the commit of what is bundled
    packages    the top-level names of the bundled modules
    parameters  those that are set in it
    texts       all text, for the search for credentials
    program     what the notebook's own code cells do, or the script
    files       what it needs of its repository
    """

    text: str
    content: str
    commit: Commit
    packages: tuple[str, ...]
    parameters: Values
    texts: Texts
    program: Program
    files: OwnFiles

    @cached_property
    def own(self) -> tuple[Program, ...]:
        """What the notebook's own code does, and the files that its cells write."""
        return (self.program, *self.program.written)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """What all its Python does: its own, and each bundled module."""
        return (*self.own, *self._module_programs)

    @cached_property
    def _module_programs(self) -> tuple[Program, ...]:
        modules = [file for file in self.files.files if file.path.endswith(".py")]
        return tuple(Program.of([(path, text)], cells=False) for path, text in modules)

    @cached_property
    def readings(self) -> tuple[tuple[str, Reading], ...]:
        """What each of its sources does, with its place."""
        return tuple(source for program in self.programs for source in program.sources)

    @property
    def words(self) -> str:
        """What is in it, its commit and its size, in words that follow the notebook's name."""
        names = [*self.packages, *self.files.beside]
        contents = f" with {', '.join(names)}" if names else ""
        git = f"git {self.commit}" if self.commit.sha else "no git commit"
        return f"{contents}, {git}, {size_of(self.size)} of the {size_of(MAX_BYTES)} allowed"

    @cached_property
    def size(self) -> int:
        """Bytes of notebook JSON; Kaggle accepts fewer than `MAX_BYTES`."""
        return len(self.text.encode())

    @cached_property
    def imports(self) -> dict[str, str]:
        """The modules that it needs, and where each is first imported.

        Without what is needed only by bundled modules that the cells import in a `try` and that no
        other code needs, and by files that the cells write: an agent runs elsewhere.
        """
        needed = dict(self.program.needed)
        optional = self.program.imported.difference(needed)
        while True:  # a module that one of them needs may need more
            for module in self._module_programs:
                if _top(module.sources[0][0]) not in optional:
                    for name, place in module.needed.items():
                        needed.setdefault(name, place)
            if optional.isdisjoint(needed):
                return needed
            optional -= needed.keys()


def _top(path: str) -> str:
    """The top-level module that a bundled file belongs to."""
    return path.partition("/")[0].removesuffix(".py")


def build(
    notebook: Path,
    source: Values,
    parameters: Values,
    project: Project,
    session_minutes: float | None = None,
    *,
    script: bool = False,
    attached: Collection[str] = (),
    accelerator: str = "cpu",
    brought: Mapping[str, str] = MappingProxyType({}),
) -> Bundle:
    """Bundle the notebook with the project's packages and these (checked) parameters.

    source           the notebook as nbformat's JSON, as `document` reads it from its file
    session_minutes  how long its session may last; the first cell stores it in the environment
                     variable `KERNELKIT_SESSION_MINUTES`
    script           the cells become one file
    attached         the kinds of the kernel's sources
    accelerator      the kind of its machine; a cell watches whether a process uses a TPU or GPU
    brought          for each dataset that the push uploads, by its slug, the name of the file by
                     which a session recognises its version

    Raises `PreflightError` for a package that cannot be read.
    """
    name = project.name(notebook)
    cells = _own_cells(source["cells"], name, parameters)
    if script:
        code = texts = _texts_of_script(name, cells)
    else:
        code = tuple((place, c["source"]) for place, c in cells.items() if c["cell_type"] == "code")
        texts = tuple(_texts(cells))
    program = Program.of(code, cells=not script)
    found = own_files(notebook, project, program, attached=attached)
    files = found.files
    imported = (_top(file.path) for file in files if file.path not in found.beside)
    packages = tuple(dict.fromkeys([*imported, *sorted(found.modules)]))
    executed = json.dumps([files, project.wheels, list(cells.values()), *sorted(brought.items())])
    content = hashlib.sha256(executed.encode()).hexdigest()
    commit = _commit(project.beside or notebook, project, found)
    shown = {}  # an infinite or NaN value is written as text
    for parameter, value in parameters.items():
        shown[parameter] = value if source_of(value) == repr(value) else str(value)
    facts = {
        "notebook": name,
        "packages": list(packages),
        "version": project.version,
        "git": {"commit": commit.sha, "dirty": commit.dirty},
        "content": f"sha256:{content}",
        "parameters": shown,
        "session_minutes": session_minutes,
    }
    added = added_cells(facts, files, project, found.beside, accelerator, brought)
    write = _script if script else _notebook
    return Bundle(
        text=write(added, cells.values()),
        content=content,
        commit=commit,
        packages=packages,
        parameters=dict(parameters),
        texts=(*files, *texts),
        program=program,
        files=found,
    )


def _commit(notebook: Path, project: Project, found: OwnFiles) -> Commit:
    """The commit of what is bundled with a notebook, and whether that differs from it.

    The kit itself counts only where it is part of the checkout.
    """
    bundled = (notebook.name, *(file.path for file in found.files))
    folders = [project.package_folder(package) for package in project.packages]
    paths = [notebook, *folders, *found.places.values()]
    kit = Path(kernelkit.__file__).resolve().parent
    if not kit.is_relative_to(project.repository):
        paths = [path for path in paths if not path.resolve().is_relative_to(kit)]
    return Commit(*commit_of(project.root, paths, bundled))


def _own_cells(source: Iterable[Values], name: str, parameters: Values) -> dict[str, BundleCell]:
    """The notebook's cells by place, such as "train.ipynb[cell 2]", with the parameters injected.

    Code cells have their own numbers, and cells of text between them count by themselves. Only
    their sources, tags and attachments are kept, and their ids are reproducible.
    """
    cells: dict[str, BundleCell] = {}
    texts = 0
    injected_place = f"{name}[parameters]"
    for position, cell in enumerate(document.own_cells(source)):
        labels = [tag for tag in cell.tags if tag != FOLDED_TAG]
        clean = _code_cell(cell.source, {"tags": labels} if labels else {})
        clean |= {"cell_type": cell.kind, "id": f"cell-{position:03d}"}
        if cell.kind != "code":
            del clean["execution_count"], clean["outputs"]
        if "attachments" in cell.node:
            clean["attachments"] = cell.node["attachments"]
        if not cell.number:
            texts += 1
        place = f"cell {cell.number}" if cell.number else f"text cell {texts}"
        cells[f"{name}[{place}]"] = clean
        is_first = injected_place not in cells
        if parameters and is_first and cell.takes_parameters:  # as papermill does
            injected = _code_cell(assignments(parameters), {"tags": [document.INJECTED_TAG]})
            cells[injected_place] = injected | {"id": document.INJECTED_TAG}
    return cells


def _sets_parameters(cell: BundleCell) -> bool:
    """Whether this is the cell with the parameters of the push."""
    return bool(cell["id"] == document.INJECTED_TAG)


def _code_cell(source: str, metadata: Values) -> BundleCell:
    """A code cell without outputs."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": dict(metadata),
        "outputs": [],
        "source": source,
    }


def _notebook(added: Iterable[str], own: Iterable[BundleCell]) -> str:
    """All cells as a notebook's JSON, with the one that ends the session's manifest."""
    cells: list[BundleCell] = []
    for number, source in enumerate(added):
        cell = _code_cell(source, FOLDED if cells else {})
        cells.append(cell | {"id": f"{document.ADDED}{number:03d}"})
    cells += [*own, _code_cell(LAST, FOLDED) | {"id": f"{document.ADDED}end"}]
    metadata = {"kernelspec": document.KERNELSPEC, "language_info": {"name": "python"}}
    return as_json({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def _script(added: Iterable[str], own: Iterable[BundleCell]) -> str:
    """All cells as one file: what Python wants first, the added cells, the script.

    The docstring stands in the script, too, so that a pull finds that as it was. The process writes
    the manifest when it exits, so that no last cell is needed.
    """
    before = "\n\n".join(added)
    first, script = scripts.divided("\n".join(_of_script(cell) for cell in own))
    return "\n".join([*first, before, scripts.BEGINS, script]) + "\n"


def _of_script(cell: BundleCell) -> str:
    """A cell's source as a part of a script; parameters have marks, by which lines are counted."""
    source: str = cell["source"].rstrip("\n")
    if _sets_parameters(cell):
        return "\n".join([scripts.STOPS, source, scripts.GOES_ON])
    return source


def _texts_of_script(name: str, cells: Mapping[str, BundleCell]) -> Texts:
    """A script, whose lines are counted as its author sees them, and what a push sets in it."""
    texts = {name: ""}
    for place, cell in cells.items():
        if _sets_parameters(cell):
            texts[place] = cell["source"]
        else:
            texts[name] += cell["source"]
    return tuple(texts.items())


def _texts(cells: Mapping[str, Values]) -> Iterator[tuple[str, str]]:
    """The sources of cells, and their tags and decoded attachments, each with its place."""
    for place, cell in cells.items():
        yield place, cell["source"]
        if not cell["metadata"] and not cell.get("attachments"):
            continue
        besides = json.dumps([cell["metadata"], cell.get("attachments")], indent=0)
        yield f"{place} tags and attachments", besides
        for data in re.findall(r"[A-Za-z0-9+/]{16,}", besides):
            with contextlib.suppress(ValueError):
                decoded = base64.b64decode(f"{data}==").decode("utf-8", "replace")
                yield f"{place} attachment", decoded


def as_json(notebook: Values) -> str:
    """A notebook's JSON, the same for the same content."""
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
