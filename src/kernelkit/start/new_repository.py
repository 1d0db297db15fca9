"""Turn an empty folder into a repository that rehearses, sweeps and pushes.

Its files come from the templates for `every` repository, and those for its `own` notebook. A
template has the same path as its file in the repository, with PACKAGE for the name of the package.
Instead, the notebook may be somebody's on Kaggle. It is not run, everything from the server is
checked, and only the sources and tags of its cells are kept, so that neither outputs nor
`metadata.kaggle`, which pins an image, reach the new repository.
"""

import contextlib
import importlib.util
import keyword
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit import files, machines
from kernelkit.errors import NotebookError, ParameterError, RefusedError, StorageError
from kernelkit.kaggle.answers import Stored
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.notebook import document
from kernelkit.push.added.added_cells import FIRST
from kernelkit.push.bundle.read_back import own_cells
from kernelkit.push.described.metadata import SHAPES, load

TEMPLATES = Path(__file__).parent / "templates"
SKILL = "SKILL.md"
SWEEP = "notebooks/sweeps/first.yaml"
COMPETITION = re.compile(  # the slug, or an address that names it after c/ or competitions/
    r"((?:(?:https?://)?(?:www\.)?kaggle\.com/)?(?:c|competitions)/)?([a-z0-9][a-z0-9-]*)"
    r"/?(?(1)(?:[/?#]\S*)?)"
)
NOTEBOOK = re.compile(r"(?:https://www\.kaggle\.com/)?(?:code/)?([A-Za-z0-9_-]+)/([A-Za-z0-9_-]+)")
LONGEST, SHORTEST = 50, 5  # characters of a kernel's slug and title on Kaggle
# What a repository's own notebook needs, and one from Kaggle replaces.
OWN = {"competition": None, "pulled": "", "machine": machines.named("cpu"), "internet": False}
MAY_BE_THERE = {".git", ".venv", ".idea", ".vscode"}


def init(
    folder: Path,
    competition: str | None = None,
    source: str | None = None,
) -> list[Path]:
    """Create a repository in `folder`, which must be new or empty; returns the written files.

    folder       its name becomes the kernel's and the package's
    competition  a competition's slug: the notebook reads its files and writes a submission
    source       "owner/slug" of a notebook on Kaggle to start from, which is pulled but not run

    Raises `ParameterError` for a folder that is not empty, for names that Kaggle does not accept,
    and for both a competition and a source; `StorageError` if the folder cannot be written; for a
    `source` also what `Kaggle.sign_in` raises, `RefusedError` if it is not visible,
    `NotebookError` if it is not a Python notebook. On an error, nothing is left behind.
    """
    folder = folder.absolute()
    if competition is not None and source is not None:
        raise ParameterError("--competition and --from exclude each other: choose one")
    if competition is not None:
        slug = COMPETITION.fullmatch(competition)
        if slug is None:
            raise ParameterError(
                f"--competition {competition}: write its slug, the last part of the competition's "
                "address"
            )
        competition = slug[2]
    if folder.is_file():
        raise ParameterError(f"{folder} is a file: give a new folder")
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if others := sorted(there - MAY_BE_THERE):
        raise ParameterError(f"{folder} is not empty (it contains {others[0]}): give a new folder")
    names = _names(folder)
    return _write(folder, _pulled(names, source) if source else _own(names, competition))


def how_to_rehearse(folder: Path) -> str:
    """The two commands, from the present folder, that check and rehearse a notebook of Kaggle's.

    The second downloads what the notebook reads.
    """
    named = "" if folder.resolve() == Path.cwd() else f" {shlex.quote(str(folder))}"
    download = " --download" if any(load(folder).sources.values()) else ""
    return f"kernelkit check{named}\nkernelkit rehearse{named}{download}"


def _names(folder: Path) -> dict[str, str]:
    """The kernel's slug and title and the package's name, from the folder's."""
    from slugify import slugify  # as Kaggle's client derives a slug from a title

    slug = slugify(folder.name, max_length=LONGEST)
    if not slug:
        raise ParameterError(f"{folder.name!r} has no letter or digit to name a kernel after")
    if len(slug) < SHORTEST:
        slug = f"{slug}-notebook"
    package = slugify(folder.name, separator="_", max_length=LONGEST)
    reserved = keyword.iskeyword(package) or package in sys.stdlib_module_names
    if reserved or package[0].isdigit() or importlib.util.find_spec(package):
        package = f"my_{package}"  # if the name is taken, one module would hide the other
    return {"slug": slug, "title": slug.replace("-", " ").capitalize(), "package": package}


def _own(names: Mapping[str, str], competition: str | None) -> dict[str, str]:
    """{path: text} of a repository with a notebook from the templates."""
    import jupytext

    facts = {
        **names,
        "competition": competition,
        "notebook": "notebooks/train",
        "notebook_name": "train.py",
        "sources": {"competition": [competition]} if competition else {},
    }
    kinds = ("every", "own", "competition") if competition else ("every", "own")
    texts = _rendered(kinds, facts)
    script = texts.pop("notebooks/train.py")
    return texts | _pair("notebooks/train", jupytext.reads(script, fmt="py:percent"))


def _pulled(names: Mapping[str, str], source: str) -> dict[str, str]:
    """{path: text} of a repository with the notebook `owner/slug` as Kaggle stores it.

    Inputs that are not valid references are dropped, and a machine that is no more is the CPU.
    """
    name = NOTEBOOK.fullmatch(source)
    if name is None:
        raise ParameterError(f"--from {source}: write OWNER/SLUG, as in the notebook's URL")
    kaggle = Kaggle.sign_in()
    kernel = Kernel(*name.groups())
    stored = kaggle.stored(kernel)
    if stored is None:
        raise RefusedError(f"Kaggle has no notebook {source} that this account may see")
    pair = _pair("notebooks/notebook", _notebook(source, stored))
    inputs = [line.partition(" ") for line in sorted(stored.sources)]
    shape = stored.machine_shape or machines.TODAY.get(stored.accelerator, "")
    facts = {
        **names,
        "pulled": str(kernel),
        "notebook": "notebooks/notebook",
        "notebook_name": Path(next(iter(pair))).name,
        "machine": machines.BY_SHAPE.get(shape, machines.named("cpu")),
        "internet": stored.internet,
        "sources": {
            kind: [r for k, _, r in inputs if k == kind and re.fullmatch(SHAPES[kind][0], r, re.A)]
            for kind in SOURCES
        },
    }
    init_file = f"src/{names['package']}/__init__.py"
    package = '"""Functions of the notebook, moved here as they settle."""\n'
    return _rendered(("every",), facts) | pair | {init_file: package}


def _notebook(source: str, stored: Stored) -> Any:
    """The cells' sources and tags; raises `NotebookError` for text that is not a notebook."""
    import nbformat

    notebook = nbformat.v4.new_notebook()
    if stored.language not in ("", "python"):
        raise NotebookError(f"{source} is not in Python: init accepts only Python notebooks")
    if FIRST in stored.text:  # another push would carry both, and the first one's number
        raise NotebookError(f"{source} has cells that kernelkit added: start from its repository")
    script = stored.kernel_type == "script"
    cells = [document.Cell("code", stored.text)] if script else own_cells(stored.text)
    for cell in cells:
        if cell.kind in document.KINDS:
            # JSON may contain lone surrogates
            text = cell.source.encode("utf-8", "backslashreplace").decode()
            make = getattr(nbformat.v4, f"new_{cell.kind}_cell")
            notebook.cells.append(make(text, metadata={"tags": list(cell.tags)}))
    return notebook


def _rendered(kinds: tuple[str, ...], facts: Mapping[str, Any]) -> dict[str, str]:
    """{path in the repository: text} for the templates of these kinds."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - these are programs and settings, not pages
    )
    texts = {}
    for folder in (TEMPLATES / kind for kind in kinds):
        for file in folder.rglob("*.j2"):
            path = file.relative_to(folder).as_posix().removesuffix(".j2")
            path = path.replace("PACKAGE", facts["package"])
            path = f".{path}" if path.startswith("git") else path
            template = environment.from_string(file.read_text("utf-8"))
            texts[path] = template.render(OWN, **facts, sweep=SWEEP)
    return texts


def _pair(place: str, notebook: Any) -> dict[str, str]:
    """Both halves of a notebook; only the .ipynb if a .py would not be equivalent."""
    import jupytext
    import nbformat

    notebook = document.strip(notebook)
    notebook.metadata["jupytext"] = {"formats": "ipynb,py:percent"}
    script = jupytext.writes(notebook, fmt="py:percent")
    text = nbformat.writes(notebook) + "\n"

    def cells(read: Any) -> list[tuple[str, str]]:
        return [(cell.cell_type, cell.source) for cell in read.cells]

    if cells(jupytext.reads(script, fmt="py:percent")) != cells(notebook):
        return {f"{place}.ipynb": text}
    return {f"{place}.py": script, f"{place}.ipynb": text}


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    written: list[Path] = []
    try:
        for name, text in sorted(texts.items()):
            written.append(files.write_text(folder / name, text))
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
            for parent in path.relative_to(folder).parents:
                with contextlib.suppress(OSError):  # it is not empty, or was there before
                    (folder / parent).rmdir()
        raise StorageError(
            f"cannot write in {folder} ({error.strerror}): choose another folder"
        ) from None
    return written


def write_skill(folder: Path) -> Path:
    """Write what coding assistants should know about the commands, as `SKILL.md`; its path.

    Raises `ParameterError` if there is no such folder, and `StorageError` if the folder has another
    file of that name.
    """
    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder}: name the one of your project")
    text = Path(__file__).with_name(SKILL).read_text("utf-8")
    path = folder / SKILL
    if path.exists() and path.read_text("utf-8", "replace") != text:
        raise StorageError(f"{path} exists with other content: rename it first")
    return files.write_text(path, text)
