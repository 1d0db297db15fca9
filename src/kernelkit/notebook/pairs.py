"""Jupytext pairs: a notebook and its text half, found and read as Jupytext does.

Which text belongs to a notebook is said by `formats` in the notebook, in `jupytext.toml` (or
another of Jupytext's configuration files), or in the header of a text file of the same name. A
script without such a header is a half only if the notebook or the configuration pairs the two and
it has lines that begin a cell.
"""

from __future__ import annotations

import itertools
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import project
from kernelkit.errors import NotebookError
from kernelkit.notebook import document

if TYPE_CHECKING:  # importing it takes most of a second
    import nbformat

_TEXTS = (".py", ".md", ".Rmd", ".qmd")


@dataclass(frozen=True)
class Half:
    """The text half of a notebook, and its format as Jupytext writes it, such as "py:light"."""

    path: Path
    format: str

    def read(self, notebook: Path) -> nbformat.NotebookNode:
        """The half as a notebook; raises `NotebookError` if it cannot be read.

        `notebook`: the path of the other half, in whose repository Jupytext's settings lie.
        """
        import jupytext

        try:
            text = self.path.read_text("utf-8-sig")
            return jupytext.reads(text, self.format, config=_configuration(notebook))
        except Exception as error:  # jupytext raises a dozen kinds
            raise NotebookError(f"{self.path} cannot be read as a notebook: {error}") from None

    def text(self, content: nbformat.NotebookNode, notebook: Path) -> str:
        """What the half of a notebook with this content would be; `notebook` is its path."""
        import jupytext

        return str(jupytext.writes(content, self.format, config=_configuration(notebook)))


def text_half(notebook: Path) -> Half | None:
    """The text that a notebook is paired with, or None; of several, the first."""
    return next(_halves(notebook), None)


def _halves(notebook: Path) -> Iterator[Half]:
    """The text files that a notebook is paired with, of those that exist."""
    if notebook.suffix != ".ipynb" or not notebook.is_file():
        return
    formats = _formats(notebook)
    if formats:
        yield from _paired(notebook, formats)
        return
    for path in (notebook.with_suffix(end) for end in _TEXTS):
        form = format_of(path) if path.is_file() else ""
        if form:
            yield Half(path, form)


def difference(notebook: Path) -> str:
    """A sentence with the first difference between a notebook and its text; empty if none.

    Cells are compared in order: their kind, their source with magics but without blanks at the ends
    of lines and blank lines at its end, and the `parameters` tag. What the text's format cannot
    hold does not count. Raises `NotebookError` for a half that cannot be read.
    """
    for half in _halves(notebook):
        number = _first_difference(notebook, half)
        if number:
            return _advice(notebook, half, number)
    return ""


def _first_difference(notebook: Path, half: Half) -> int:
    """The number of the first cell that differs; 0 if none does.

    The two are compared directly. If they differ, perhaps only in what the text's format cannot
    hold, such as where two texts meet, then the text is compared with what it would be if the
    notebook were written to it.
    """
    in_text = half.read(notebook)
    number = _compared(in_text["cells"], document.read_json(notebook)["cells"])
    if not number:
        return 0
    import jupytext

    text = half.text(_whole_notebook(notebook), notebook)
    as_text = jupytext.reads(text, half.format, config=_configuration(notebook))
    return _compared(in_text["cells"], as_text["cells"])


def _whole_notebook(notebook: Path) -> nbformat.NotebookNode:
    """The notebook, with its own metadata, which say what its text leaves out."""
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ids of cells, which no text has
            return nbformat.reads(notebook.read_text("utf-8-sig"), as_version=4)
    except Exception as error:  # nbformat raises a dozen kinds
        raise NotebookError(f"{notebook} cannot be read as a notebook: {error}") from None


def _compared(first: list[Any], second: list[Any]) -> int:
    """The number of the first cell in which two lists of cells differ; 0 if none does."""
    pairs = itertools.zip_longest(first, second)
    contents = (tuple(map(_content, cells)) for cells in pairs)
    for number, (one, other) in enumerate(contents, start=1):
        if one != other:
            return number
    return 0


def _content(cell: Any) -> tuple[str, str, bool] | None:
    if cell is None:
        return None
    lines = [line.rstrip() for line in document.cell_source(cell).rstrip().splitlines()]
    tagged = document.has_tag(cell, document.PARAMETERS_TAG)
    return str(cell["cell_type"]), "\n".join(lines), tagged


def _advice(notebook: Path, half: Half, number: int) -> str:
    text = shlex.quote(str(half.path))
    own = shlex.quote(str(notebook))
    to_notebook = "--to ipynb --update"
    to_text = f"--to {half.format}"
    if half.path.parent != notebook.parent or half.path.stem != notebook.stem:
        to_notebook += f" --output {own}"
        to_text += f" --output {text}"
    kind = half.path.suffix
    return (
        f"{notebook.name} and {half.path.name} differ from cell {number} on. To keep the {kind}: "
        f"`jupytext {to_notebook} {text}`. To keep the notebook: `jupytext {to_text} {own}`. If "
        "you edited both, first copy one to another name, then merge by hand"
    )


def _formats(notebook: Path) -> str:
    """The formats that a notebook is paired in, by its metadata or a configuration file."""
    metadata = document.read_json(notebook).get("metadata")
    own = metadata.get("jupytext") if isinstance(metadata, dict) else None
    formats = own.get("formats") if isinstance(own, dict) else None
    if isinstance(formats, str) and formats:
        return formats
    configuration = _configuration(notebook)
    found = configuration.default_formats(str(notebook)) if configuration else None
    if not found:
        return ""
    from jupytext.formats import short_form_multiple_formats

    return found if isinstance(found, str) else str(short_form_multiple_formats(found))


def _configuration(notebook: Path) -> Any:
    """Jupytext's settings for a notebook, from a file of its repository; None without one."""
    notebook = notebook.resolve()
    top = project.repository(notebook.parent)
    for folder in notebook.parents:
        try:
            file = _settings_in(folder)
            if file:
                from jupytext.config import load_jupytext_configuration_file

                return load_jupytext_configuration_file(file)
        except Exception as error:  # of whatever reads that kind of file
            raise NotebookError(f"Jupytext's settings in {folder} are wrong: {error}") from None
        if folder == top:
            break
    return None


def _settings_in(folder: Path) -> str | None:
    """The file with Jupytext's settings in a folder."""
    pyproject = folder / "pyproject.toml"
    is_in_project = pyproject.is_file() and "jupytext" in pyproject.read_text("utf-8", "replace")
    if not is_in_project and not any(folder.glob("*jupytext*")):
        return None  # without importing Jupytext
    from jupytext.config import find_jupytext_configuration_file

    file: str | None = find_jupytext_configuration_file(folder, search_parent_dirs=False)
    return file


def _paired(notebook: Path, formats: str) -> Iterator[Half]:
    """The halves of a notebook that is paired in these formats."""
    from jupytext.formats import long_form_multiple_formats, short_form_one_format
    from jupytext.paired_paths import InconsistentPath, paired_paths

    try:
        # The metadata say what `auto` is: Python's ending.
        of_python = long_form_multiple_formats(formats, {"kernelspec": document.KERNELSPEC})
        found = paired_paths(str(notebook), {"extension": ".ipynb"}, of_python)
    except (InconsistentPath, ValueError):  # formats of another place: then there is no pair
        return
    for name, settings in found:
        path = Path(name)
        if path.suffix == ".ipynb" or not path.is_file():
            continue
        own = format_of(path)
        if path.suffix == ".py" and not own and not _has_cells(path):
            continue  # another script of this name
        form = {key: settings[key] for key in ("extension", "format_name") if key in settings}
        yield Half(path, own or str(short_form_one_format(form)))


def _has_cells(path: Path) -> bool:
    text = path.read_text("utf-8-sig", "replace")
    return any(line.startswith(("# %%", "# +")) for line in text.splitlines())


def format_of(path: Path) -> str:
    """The format of a text that has a header of Jupytext's; empty for any other text."""
    text = path.read_text("utf-8-sig", "replace")
    if "jupyter:" not in text and "jupytext:" not in text:
        return ""  # without importing Jupytext
    from jupytext.formats import guess_format, read_metadata

    if not read_metadata(text, path.suffix):
        return ""
    form, _ = guess_format(text, path.suffix)
    return f"{path.suffix[1:]}:{form}"
