"""The settings of a notebook that has no `kernel-metadata.json`, from what it says itself.

`check` and `rehearse` take them as they are, and `kernelkit init .` writes them. A push never does:
what runs on Kaggle is what a file says.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slugify import slugify  # as Kaggle's client derives a slug from a title

from kernelkit.errors import PreflightError
from kernelkit.kaggle.metadata_words import PLACEHOLDERS, SOURCES
from kernelkit.machines import Kind
from kernelkit.notebook import document, pairs, scripts
from kernelkit.notebook.code.reading import Program
from kernelkit.push.assumed.named_sources import named_sources
from kernelkit.push.described.metadata import (
    FILE_NAME,
    SHORTEST_TITLE,
    Metadata,
    Settings,
    own_file,
)

LONGEST_TITLE = 50
# Modules that one uses on such a machine, by their top-level names.
TPU = ("torch_xla", "tpu_info", "libtpu")
GPU = ("torch", "tensorflow", "keras", "jax", "fastai", "cupy", "cudf", "cuml")


@dataclass(frozen=True)
class Assumed:
    """Settings that no file has.

    metadata  the settings; its path is where `kernelkit init` writes them
    unknown   the competitions among its sources that may as well be datasets: the code, or an
              `input/` folder, gives only a slug
    attached  how many sources it had on Kaggle, as Kaggle wrote into it; 0 if it says nothing
    """

    metadata: Metadata
    unknown: tuple[str, ...] = ()
    attached: int = 0

    @property
    def words(self) -> str:
        """What was assumed, in a few words."""
        kind = self.metadata.machine.kind.upper()
        machine = f"a {kind}" if kind != "CPU" else "no accelerator"
        internet = "internet" if self.metadata.online else "no internet"
        words = [f"{machine}, {internet}"]
        for each in SOURCES:
            sources = self.metadata.sources[each]
            if sources:
                words.append(f"{each} {', '.join(sources)}")
        named = sum(map(len, self.metadata.sources.values()))
        if named < self.attached:
            words.append(f"{named} of the {self.attached} inputs that it had on Kaggle")
        return "; ".join(words)


def notebook_in(start: Path) -> Path:
    """The notebook or script `start`, or the only one in that folder.

    In a folder, a script counts only if there is no notebook. Raises `PreflightError` if there are
    several or none.
    """
    if start.is_file():
        return start
    if not start.is_dir():
        raise document.not_there(start)
    notebooks = [path for path in sorted(start.glob("*.ipynb")) if path.is_file()]
    if not notebooks:
        notebooks = sorted(start.glob("*.py"))
    if len(notebooks) == 1:
        return notebooks[0]
    if notebooks:
        names = ", ".join(path.name for path in notebooks)
        raise PreflightError(f"{start} has several notebooks: name one of {names}")
    raise PreflightError(f"no {FILE_NAME} at or above {start}, and no notebook in it: name one")


def assume(notebook: Path) -> Assumed:
    """The settings for a notebook or a script; a `.py` with a header of Jupytext's is a notebook.

    Raises `NotebookError` for a file that is neither.
    """
    notebook = notebook.resolve()
    is_script = notebook.suffix == ".py" and not pairs.format_of(notebook)
    source = scripts.read_script(notebook) if is_script else document.read_json(notebook)
    code = [(f"cell {cell.number}", cell.source) for cell in document.code_cells(source["cells"])]
    program = Program.of(code, cells=not is_script)
    programs = (program, *program.written)
    title = _title(source, notebook)
    sources, unknown = named_sources(programs, notebook)
    on_kaggle = source.get("metadata", {}).get("kaggle") or {}  # as Kaggle wrote it
    kind = _machine(on_kaggle.get("accelerator"), programs)
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
    attached = on_kaggle.get("dataSources") or ()
    return Assumed(Metadata(place, settings), unknown, len(attached))


def _title(source: Any, notebook: Path) -> str:
    """The notebook's first heading, or else the name of its file, as Kaggle takes a title."""
    headings = []
    for cell in source["cells"]:
        if cell["cell_type"] == "markdown":
            headings += re.findall(r"^\s*#+\s+(.+)$", document.cell_source(cell), re.MULTILINE)
    for text in [*headings[:1], notebook.stem.replace("-", " ")]:
        title = titled(text)
        if len(slugify(title)) >= SHORTEST_TITLE:
            return title
    return f"{slugify(notebook.stem)} notebook".strip()


def titled(text: str) -> str:
    """A text as Kaggle takes a title: without markup, at most `LONGEST_TITLE` characters."""
    plain = " ".join(re.sub(r"<[^>]*>|[^\w\s.,:&'()-]|_", " ", text).split())
    title = plain if len(plain) <= LONGEST_TITLE else plain[:LONGEST_TITLE].rpartition(" ")[0]
    return title.strip(" .,:&'()-")


def _machine(accelerator: Any, programs: Sequence[Program]) -> Kind:
    """The machine in Kaggle's metadata of the notebook, or else the one that its imports use."""
    if accelerator == "none":
        return "cpu"
    if accelerator:
        return "tpu" if str(accelerator).startswith("tpu") else "gpu"
    imported = frozenset().union(*(program.imported for program in programs))
    calls = [call for program in programs for _, call in program.calls]
    asks_for_tpu = any("TPUClusterResolver" in call.name for call in calls)
    if asks_for_tpu or not imported.isdisjoint(TPU):
        return "tpu"
    return "cpu" if imported.isdisjoint(GPU) else "gpu"
