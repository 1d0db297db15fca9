"""Pull somebody's notebook from Kaggle to start from, without running it.

Everything from the server is checked here. Only the cells' source and tags are kept, so that
neither outputs nor `metadata.kaggle`, which pins an image, reach the new repository.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernelkit import machines
from kernelkit.errors import NotebookError, ParameterError, PreflightError, RefusedError
from kernelkit.kaggle_api.client import SOURCES, Kaggle, Kernel, Stored
from kernelkit.machines import Machine
from kernelkit.notebooks import document, parameters

if TYPE_CHECKING:
    import nbformat

REFERENCE = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9_-]+")
SOURCE = {
    "dataset": re.compile(r"[\w-]+/[\w-]+(?:/\d+)?", re.ASCII),
    "kernel": re.compile(r"[\w-]+/[\w-]+(?:/\d+)?", re.ASCII),
    "competition": re.compile(r"[\w-]+", re.ASCII),
    "model": re.compile(r"[\w.-]+(?:/[\w.-]+){3}/\d+", re.ASCII),
}
SEED = "seed = 0  # >= 0: the seed of all random numbers"
OUTPUT = "output"  # a parameter that a sweep sets itself


@dataclass(frozen=True)
class PulledNotebook:
    """A notebook without outputs, the inputs it reads, and the machine it requests.

    `sources`: {"dataset", "competition", "kernel" or "model": references}.
    """

    notebook: nbformat.NotebookNode
    sources: Mapping[str, list[str]]
    machine: Machine
    internet: bool

    def swept_parameter(self) -> tuple[str, Any] | None:
        """The first parameter with a plain value, for a first sweep; None if there is none."""
        try:
            cell = document.parameters_cell(self.notebook)
            declared = parameters.declared(cell.source)
        except NotebookError:
            return None
        for name, parameter in declared.items():
            value = parameter.default
            plain = isinstance(value, str | int | float) and name.isascii()
            if name != OUTPUT and plain and (isinstance(value, str) or math.isfinite(value)):
                return name, value
        return None

    def seeded(self, package: str) -> PulledNotebook:
        """The same notebook with a parameters cell in front that has a seed, set by `package`."""
        import nbformat

        new = nbformat.v4.new_code_cell
        seed = new(SEED, metadata={"tags": [document.PARAMETERS_TAG]})
        planting = new(f"from {package} import seeding\n\nseeding.seed_all(seed)")
        notebook = nbformat.v4.new_notebook(metadata=dict(self.notebook.metadata))
        for cell in self.notebook.cells:
            cell.metadata.pop("tags", None)  # there is now another parameters cell
        notebook.cells = [seed, planting, *self.notebook.cells]
        return replace(self, notebook=document.strip(notebook))


def pull(kaggle: Kaggle, source: str) -> PulledNotebook:
    """The notebook `owner/slug` as Kaggle stores it; a Python script becomes one cell.

    Raises `ParameterError` for an invalid `source`, `RefusedError` if there is no such notebook or
    it is not visible, `NotebookError` if it is not a Python notebook, `NetworkError` without an
    answer.
    """
    source = source.removeprefix("https://www.kaggle.com/").removeprefix("code/")
    if not REFERENCE.fullmatch(source):
        raise ParameterError(f"--from {source}: write OWNER/SLUG, as in the notebook's URL")
    owner, _, slug = source.partition("/")
    stored = kaggle.stored(Kernel(owner, slug))
    if stored is None:
        raise RefusedError(f"Kaggle has no notebook {source} that this account may see")
    if stored.language not in ("", "python"):
        raise NotebookError(f"{source} is not in Python: init accepts only Python notebooks")
    return PulledNotebook(
        notebook=_notebook(source, stored),
        sources=_sources(stored),
        machine=_machine(stored),
        internet=stored.internet,
    )


def _notebook(source: str, stored: Stored) -> nbformat.NotebookNode:
    """The cells' sources and tags; raises `NotebookError` for text that is not a notebook."""
    import nbformat

    notebook = nbformat.v4.new_notebook()
    if stored.kernel_type == "script":
        notebook.cells.append(nbformat.v4.new_code_cell(stored.text))
        return document.strip(notebook)
    try:
        content = json.loads(stored.text)
    except (ValueError, RecursionError):
        content = None
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        raise NotebookError(f"{source} is not a notebook of Jupyter's fourth format")
    for cell in cells:
        kind = cell.get("cell_type") if isinstance(cell, dict) else None
        if kind in ("code", "markdown", "raw"):
            make = getattr(nbformat.v4, f"new_{kind}_cell")
            tags = {"tags": document.tags(cell)}
            notebook.cells.append(make(_text(cell.get("source")), metadata=tags))
    return document.strip(notebook)


def _text(source: object) -> str:
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.encode(
        "utf-8", "backslashreplace"
    ).decode()  # lone surrogates, which JSON may contain


def _sources(stored: Stored) -> dict[str, list[str]]:
    """The inputs by kind; anything that is not a valid reference is dropped."""
    sources: dict[str, list[str]] = {kind: [] for kind in SOURCES}
    for line in sorted(stored.sources):
        kind, _, reference = line.partition(" ")
        if SOURCE[kind].fullmatch(reference):
            sources[kind].append(reference)
    return sources


def _machine(stored: Stored) -> Machine:
    """The machine of the notebook's last session; the CPU if Kaggle no longer has it."""
    try:
        return machines.named(stored.machine_shape or stored.accelerator or "cpu")
    except PreflightError:
        return machines.named("cpu")
