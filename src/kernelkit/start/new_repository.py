"""Turn an empty folder into a repository that rehearses, sweeps and pushes.

Its files come from the templates for `every` repository, and those for its `own` notebook or a
`pulled` one. A template has the same path as its file in the repository, with PACKAGE for the name
of the package.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelkit import files, machines
from kernelkit.errors import ParameterError, StorageError
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import open_connection
from kernelkit.kaggle_api.retries import Retries
from kernelkit.notebooks import document
from kernelkit.start.pulled import PulledNotebook, pull

TEMPLATES = Path(__file__).parent / "templates"
SWEEP = "notebooks/sweeps/first.yaml"
ADDRESS = re.compile(r"\Ahttps://www\.kaggle\.com/(?:c|competitions)/([^/?#\s]+)[/?#]?\S*\Z")
COMPETITION = re.compile(r"[a-z0-9][a-z0-9-]*")
LONGEST, SHORTEST = 50, 5  # characters of a kernel's slug and title on Kaggle
MAY_BE_THERE = {".git", ".venv", ".idea", ".vscode"}


def init(
    folder: Path,
    competition: str | None = None,
    source: str | None = None,
    *,
    kaggle: Kaggle | None = None,
) -> list[Path]:
    """Create a repository in `folder`, which must be new or empty; returns the written files.

    folder       its name becomes the kernel's and the package's
    competition  a competition's slug: the notebook reads its files and writes a submission
    source       "owner/slug" of a notebook on Kaggle to start from, which is pulled but not run
    kaggle       the account to pull it with; default the credentials of this machine

    Raises `ParameterError` for a folder that is not empty, for names that Kaggle does not accept,
    and for both a competition and a source; `StorageError` if the folder cannot be written; for a
    `source` also what `open_connection` and `pulled.pull` raise. On an error, nothing is left
    behind.
    """
    folder = Path(folder).absolute()
    if competition is not None and source is not None:
        raise ParameterError("--competition and --from exclude each other: choose one")
    if competition is not None:  # users may paste its URL
        competition = ADDRESS.sub(r"\1", competition)
    if competition is not None and not COMPETITION.fullmatch(competition):
        raise ParameterError(
            f"--competition {competition}: write its slug, the last part of the competition's "
            "address"
        )
    _check_empty(folder)
    names = _names(folder)
    if source is None:
        texts = _own(names, competition)
    else:
        retries = Retries()
        kaggle = kaggle or Kaggle(open_connection(retries=retries), retries)
        texts = _from_kaggle(names, source, pull(kaggle, source))
    return _write(folder, texts)


def _check_empty(folder: Path) -> None:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ParameterError(f"{folder} is a file: give a new folder") from None
    if others := [name for name in names if name not in MAY_BE_THERE]:
        raise ParameterError(f"{folder} is not empty (it contains {others[0]}): give a new folder")


def _names(folder: Path) -> dict[str, str]:
    """The kernel's slug and title and the package's name, from the folder's."""
    from slugify import slugify  # as Kaggle's client derives a slug from a title

    slug = slugify(folder.name, max_length=LONGEST)
    if not slug:
        raise ParameterError(f"{folder.name!r} has no letter or digit to name a kernel after")
    if len(slug) < SHORTEST:
        slug = f"{slug}-notebook"
    package = slugify(folder.name, separator="_", max_length=LONGEST)
    if package[0].isdigit() or keyword.iskeyword(package):
        package = f"package_{package}"
    if package in sys.stdlib_module_names or importlib.util.find_spec(package):
        package = f"{package}_kit"  # the name is taken: one module would hide the other
    return {"slug": slug, "title": slug.replace("-", " ").capitalize(), "package": package}


def _own(names: Mapping[str, str], competition: str | None) -> dict[str, str]:
    import jupytext

    facts: dict[str, Any] = {
        **names,
        "competition": competition,
        "pulled": False,
        "notebook": "notebooks/train",
        "notebook_name": "train.py",
        "machine": machines.named("cpu"),
        "internet": False,
        "sources": {"competition": [competition]} if competition else {},
    }
    texts = _rendered("every", facts) | _rendered("own", facts)
    if competition:
        texts |= _rendered("competition", facts)
    script = texts.pop("notebooks/train.py")
    return texts | _pair("notebooks/train", jupytext.reads(script, fmt="py:percent"))


def _from_kaggle(names: Mapping[str, str], source: str, pulled: PulledNotebook) -> dict[str, str]:
    swept = pulled.swept_parameter()
    if swept is None:
        swept, pulled = ("seed", 0), pulled.seeded(names["package"])
    pair = _pair("notebooks/notebook", pulled.notebook)
    facts: dict[str, Any] = {
        **names,
        "competition": None,
        "pulled": True,
        "source": source,
        "notebook": "notebooks/notebook",
        "notebook_name": Path(next(iter(pair))).name,
        "machine": pulled.machine,
        "internet": pulled.internet,
        "sources": pulled.sources,
        "swept": swept[0],
        "swept_values": json.dumps([0, 1] if swept == ("seed", 0) else [swept[1]]),
    }
    return _rendered("every", facts) | _rendered("pulled", facts) | pair


def _rendered(kind: str, facts: Mapping[str, Any]) -> dict[str, str]:
    """{path in the repository: text} for the templates of this kind."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - these are programs and settings, not pages
    )
    texts = {}
    for file in (TEMPLATES / kind).rglob("*.j2"):
        path = file.relative_to(TEMPLATES / kind).as_posix().removesuffix(".j2")
        path = path.replace("PACKAGE", facts["package"])
        path = f".{path}" if path.startswith("git") else path
        template = environment.from_string(file.read_text(encoding="utf-8"))
        texts[path] = template.render(facts, sweep=SWEEP)
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
