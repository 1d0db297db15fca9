"""The settings of a notebook that has no `kernel-metadata.json`, from what it says itself.

`check` and `rehearse` take them as they are, and `kernelkit init .` writes them. A push never does:
what runs on Kaggle is what a file says.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slugify import slugify  # as Kaggle's client derives a slug from a title

from kernelkit import project
from kernelkit.errors import PreflightError
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, SOURCES
from kernelkit.machines import Kind
from kernelkit.notebook import document, pairs
from kernelkit.notebook.code.reading import Program
from kernelkit.push.described.metadata import (
    DEPTHS,
    FILE_NAME,
    SHAPES,
    SHORTEST_TITLE,
    Metadata,
    Settings,
    own_file,
)
from kernelkit.rehearsal import inputs

LONGEST_TITLE = 50
KINDS = {folder: kind for kind, folder in inputs.MOUNTED.items()}
"""The kinds of sources by their folders below /kaggle/input."""
TPU = ("torch_xla", "tpu_info", "libtpu")
GPU = ("torch", "tensorflow", "keras", "jax", "fastai", "cupy", "cudf", "cuml")
"""Modules that one uses on such a machine, by their top-level names."""
ATTACHES = {
    "kagglehub.competition_download": "competition",
    "kagglehub.dataset_download": "dataset",
    "kagglehub.dataset_load": "dataset",
    "kagglehub.load_dataset": "dataset",
    "kagglehub.model_download": "model",
    "kagglehub.notebook_output_download": "kernel",
}
"""Calls whose first argument is a source, and its kind."""


@dataclass(frozen=True)
class Assumed:
    """Settings that no file has: `metadata`, whose path is where they would be written.

    `unknown` are the competitions among its sources that may as well be datasets: the code names
    them as `/kaggle/input/SLUG` only.
    """

    metadata: Metadata
    unknown: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was assumed, in a few words."""
        kind = self.metadata.machine.kind.upper()
        machine = f"a {kind}" if kind != "CPU" else "no accelerator"
        words = [f"{machine}, {'internet' if self.metadata.online else 'no internet'}"]
        for each in SOURCES:
            sources = self.metadata.sources[each]
            if sources:
                words.append(f"{each} {', '.join(sources)}")
        return "; ".join(words)


def notebook_in(start: Path) -> Path:
    """The notebook or script `start`, or the only one in that folder.

    The halves of a pair are one. Raises `PreflightError` if there are several or none.
    """
    if start.is_file():
        return start
    if not start.is_dir():
        raise document.not_there(start)
    notebooks = [path for path in sorted(start.glob("*.ipynb")) if path.is_file()]
    pairs = {path.stem for path in notebooks}
    if not notebooks:
        notebooks = [path for path in sorted(start.glob("*.py")) if path.stem not in pairs]
    if len(notebooks) == 1:
        return notebooks[0]
    if notebooks:
        names = ", ".join(path.name for path in notebooks)
        raise PreflightError(f"{start} has several notebooks: name one of {names}")
    raise PreflightError(f"no {FILE_NAME} at or above {start}, and no notebook in it: name one")


def assume(notebook: Path) -> Assumed:
    """The settings for a notebook, or for a script in a `.py` that is no half of a pair.

    Raises `NotebookError` for a file that is neither.
    """
    notebook = notebook.resolve()
    is_script = notebook.suffix == ".py" and not pairs.format_of(notebook)
    source = document.read_script(notebook) if is_script else document.read_json(notebook)
    code = [
        (f"cell {number}", document.cell_source(cell))
        for number, cell in document.code_cells(source["cells"]).items()
    ]
    program = Program.of(code, cells=not is_script)
    title = _title(source, notebook)
    sources, unknown = _sources(program, notebook)
    on_kaggle = source.get("metadata", {}).get("kaggle") or {}  # as Kaggle wrote it
    kind = _machine(on_kaggle.get("accelerator"), program)
    settings = Settings(
        id=f"{PLACEHOLDERS[0]}/{slugify(title)}",
        title=title,
        code_file=notebook.name,
        language="python",
        kernel_type="script" if is_script else "notebook",
        enable_gpu=kind == "gpu",
        enable_tpu=kind == "tpu",
        enable_internet=on_kaggle.get("isInternetEnabled") is True,
        dataset_sources=sources["dataset"],
        competition_sources=sources["competition"],
        kernel_sources=sources["kernel"],
        model_sources=sources["model"],
    )
    place = notebook.with_name(FILE_NAME)
    if any((folder / FILE_NAME).is_file() for folder in notebook.parents):
        place = own_file(notebook)
    return Assumed(Metadata(place, settings), unknown)


def _title(source: Any, notebook: Path) -> str:
    """The notebook's first heading, or else the name of its file, as Kaggle takes a title."""
    headings = []
    for cell in source["cells"]:
        if cell["cell_type"] == "markdown":
            headings += re.findall(r"^\s*#+\s+(.+)$", document.cell_source(cell), re.MULTILINE)
    for text in [*headings[:1], notebook.stem.replace("_", " ").replace("-", " ")]:
        plain = " ".join(re.sub(r"<[^>]*>|[^\w\s.,:&'()-]|_", " ", text).split())
        title = plain if len(plain) <= LONGEST_TITLE else plain[:LONGEST_TITLE].rpartition(" ")[0]
        title = title.strip(" .,:&'()-")
        if len(slugify(title)) >= SHORTEST_TITLE:
            return title
    return f"{slugify(notebook.stem)} notebook".strip()


def _machine(accelerator: Any, program: Program) -> Kind:
    """That which Kaggle names in the notebook, or else that of what it imports."""
    if accelerator == "none":
        return "cpu"
    if accelerator:
        return "tpu" if str(accelerator).startswith("tpu") else "gpu"
    imported = {each.top for _, reading in program.sources for each in reading.imports}
    if not imported.isdisjoint(TPU) or any(
        "TPUClusterResolver" in c.name for _, c in program.calls
    ):
        return "tpu"
    return "cpu" if imported.isdisjoint(GPU) else "gpu"


def _sources(program: Program, notebook: Path) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """The sources that code names, by kind, and the competitions whose kind it leaves open.

    Where it names none, those that lie in an `input/` folder. Of several that it can do without,
    such as the places where it looks for one, those that lie there if any do.
    """
    own = project.find_project(notebook)
    folders = inputs.input_folders(notebook, own.root, own.repository)
    lying = [*_lying(folders)]
    here = {part.lower() for parts in lying for part in parts} - set(KINDS)
    found: dict[str, list[str]] = {kind: [] for kind in SOURCES}
    slugs = []
    for _, named in program.inputs:
        parts = named.path.strip("/").split("/")
        if named.optional and here and here.isdisjoint(map(str.lower, parts)):
            continue
        if not _add_today(found, parts):
            slugs.append(parts[0])
    for _, call in program.calls:
        kind = ATTACHES.get(call.name)
        handle = call.argument(0, "handle")
        if kind and isinstance(handle, str):
            _add(found, kind, handle)
    if not slugs and not any(found.values()):
        for parts in lying:
            if not _add_today(found, parts):
                slugs.append(parts[0])
    known = set(KINDS)
    for kind in SOURCES:
        known |= {source.lower().split("/")[:2][-1] for source in found[kind]}
    unknown = []
    for slug in dict.fromkeys(slugs):
        if slug.lower() in known:
            continue
        today = [parts for parts in lying if parts[0] in KINDS and slug in parts]
        if today and _add_today(found, today[0]):
            continue
        if _add(found, "competition", slug):
            unknown.append(slug)
    return found, tuple(unknown)


def _lying(folders: Iterable[Path]) -> Iterable[list[str]]:
    """The paths of what `input/` folders have, as deep as a source's name."""
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if not path.is_dir():
                continue
            below = "/".join("*" * _depth(path.name))
            for place in sorted(path.glob(below)) if below else [path]:
                if place.is_dir():
                    yield list(place.relative_to(folder).parts)


def _add_today(found: dict[str, list[str]], parts: list[str]) -> bool:
    """Add the source of a path at one of Kaggle's mounts of today; whether it is one."""
    kind = KINDS.get(parts[0])
    if kind is None:
        return False
    return _add(found, kind, "/".join(parts[1 : _depth(parts[0]) + 1]))


def _depth(folder: str) -> int:
    """How deep the sources lie in a folder of an input: a model's version counts; 0 in others."""
    kind = KINDS.get(folder)
    if kind is None:
        return 0
    return DEPTHS[kind] + 1 if kind == "model" else DEPTHS[kind]


def _add(found: dict[str, list[str]], kind: str, source: str) -> bool:
    if not re.fullmatch(SHAPES[kind][0], source, re.ASCII):
        return False
    if source not in found[kind]:
        found[kind].append(source)
    return True
