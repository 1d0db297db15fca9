"""Notebook files: read them, find the parameters cell, and refuse what is not Python.

A notebook is an `.ipynb`, which Kaggle and Jupyter open, or a `.py` in py:percent; `read` takes
either. Which text belongs to which notebook is said by `pairs`, and `scripts` reads a script.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import files
from kernelkit.errors import NotebookError

if TYPE_CHECKING:  # importing it takes most of a second, too long for --help
    import nbformat

Node = Mapping[str, Any]  # a notebook or one of its cells, as its JSON has them
PARAMETERS_TAG = "parameters"
INJECTED_TAG = "injected-parameters"  # the tag of the cell that papermill adds
ADDED = "bundle-"  # begins the ids of the cells that a push adds
NO_PARAMETERS = (
    "the notebook has no cell tagged 'parameters': begin one with "
    '`# %% tags=["parameters"]` in the .py, or add the tag in Jupyter'
)
KINDS = ("code", "markdown", "raw")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Characters besides "\n" at which Python or Jupyter would break or change a line.
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_BLANK = re.compile(r"^[ \t](?=[ \t]*$)", re.MULTILINE)  # IPython 9 empties lines of spaces
_CLOSING = re.compile(r"'''|'\Z")  # what would end a string in triple quotes
ENDINGS = (".py", ".ipynb")
R_ENDINGS = (".r", ".rmd", ".irnb")  # of scripts and notebooks in R
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook, as its author sees it.

    kind              "code", "markdown" or "raw"
    source            its text
    tags              its tags
    number            of a code cell, the one that Jupyter shows after *Run All*; 0 for an empty
                      one, and for other cells
    takes_parameters  whether it is tagged as one with parameters
    node              the cell as its file has it
    """

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    number: int = 0
    takes_parameters: bool = False
    node: Node = field(default_factory=dict, compare=False)


class NotPythonError(NotebookError):
    """The notebook is R, which is no mistake, but nothing that the kit runs, checks or pushes."""


def not_there(path: Path) -> NotebookError:
    """The error for a notebook that is not there; it names one that only ends differently."""
    for ending in (".ipynb", ".py"):
        other = path.with_name(f"{path.name}{ending}")
        if other.is_file():
            return NotebookError(f"no notebook at {path}: did you mean {other.name}?")
    return NotebookError(f"no notebook at {path}")


def no_notebook(path: Path) -> NotebookError:
    """The error for a file whose name has not a notebook's ending."""
    return NotebookError(f"{path} is not a notebook: give a .py (py:percent) or an .ipynb")


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook at `path` as nbformat's value, always with Python's kernelspec.

    Its tags are lists of texts, its sources texts, and its cells have the ids that their format
    demands. Raises what `read_json` raises.
    """
    import nbformat
    from nbformat.v4.rwbase import rejoin_lines

    notebook = rejoin_lines(nbformat.from_dict(with_ids(read_json(path))))
    for cell in notebook.cells:
        cell.metadata = cell.get("metadata") or {}
        if "tags" in cell.metadata:  # papermill fails if this is null
            cell.metadata["tags"] = tags(cell)
    notebook.metadata = {**(notebook.get("metadata") or {}), "kernelspec": dict(KERNELSPEC)}
    return notebook


def with_ids(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the ids that its format demands of its cells, where they lack them.

    Kaggle puts a cell without one before those of a downloaded notebook, and nbformat warns of it.
    """
    if notebook.get("nbformat_minor", 0) >= 5:
        for number, cell in enumerate(notebook["cells"]):
            cell.setdefault("id", f"cell-{number}")
    return notebook


def read_json(path: Path) -> dict[str, Any]:
    """The JSON of the notebook at `path`, from its `.ipynb`, or through jupytext from its `.py`.

    An `.ipynb` is parsed as plain JSON, because importing nbformat takes most of a second. Raises
    `NotebookError` if there is no such file, it is not a notebook, or not one of Python.
    """
    if not path.is_file():
        raise not_there(path)
    if path.suffix.lower() in R_ENDINGS:
        raise not_python(path)
    if path.suffix not in ENDINGS:
        raise no_notebook(path)
    notebook = _read_text(path) if path.suffix == ".py" else _read_ipynb(path)
    _check_language(path, notebook)
    return notebook


def _read_text(path: Path) -> dict[str, Any]:
    import jupytext  # missing from Kaggle's images

    try:
        return dict(jupytext.reads(path.read_text("utf-8-sig"), ".py"))
    except Exception as error:  # jupytext raises a dozen kinds
        raise NotebookError(f"{path} cannot be read as a notebook: {error}") from None


def _read_ipynb(path: Path) -> dict[str, Any]:
    try:
        source = _checked(path.read_text("utf-8-sig"))
        if source["nbformat"] < 4:
            raise ValueError(
                f"it has Jupyter's format {source['nbformat']}, and Kaggle runs format 4. Convert "
                "it: jupyter nbconvert --to notebook --nbformat 4 --inplace "
                f"{shlex.quote(str(path))}"
            )
        return dict(source)
    except OSError as error:
        raise NotebookError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise NotebookError(f"{path} is not a notebook: {error}") from None


@functools.lru_cache(maxsize=2)
def _checked(text: str) -> Any:
    """A notebook's JSON, its cells checked.

    It is kept for the next who reads the same text, as the stages of a push do, so nobody may
    change it. Raises `ValueError` and the like for what is no notebook.
    """
    source = files.parse_json(text)
    if source["nbformat"] >= 4:
        for number, cell in enumerate(source["cells"], start=1):
            try:
                _check_cell(cell)
            except ValueError as error:
                raise ValueError(f"cell {number}: {error}") from None
    return source


def _check_cell(cell: Any) -> None:
    """Raise `ValueError` for what is no cell of a notebook."""
    if not isinstance(cell, dict) or cell.get("cell_type") not in KINDS:
        raise ValueError(f"its type is none of {', '.join(KINDS)}")
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    if not all(isinstance(line, str) for line in lines):
        raise ValueError("it has no text as its source")
    if _SURROGATE.search("".join(lines)):
        raise ValueError("it contains half a character (a lone surrogate)")


def tags(cell: Node) -> list[str]:
    """The cell's tags; empty if its metadata has no list of them."""
    metadata = cell.get("metadata")
    listed = metadata.get("tags") if isinstance(metadata, Mapping) else None
    return [tag for tag in listed if isinstance(tag, str)] if isinstance(listed, list) else []


def is_added(cell: Node) -> bool:
    """Whether a push has added the cell to the notebook's own."""
    return str(cell.get("id")).startswith(ADDED)


def has_tag(cell: Node, tag: str) -> bool:
    """Whether the cell has the tag."""
    return tag in tags(cell)


def own_cells(cells: Iterable[Node]) -> list[Cell]:
    """The cells of a notebook's author: those that papermill injected earlier are left out."""
    own = []
    count = 0
    for cell in cells:
        labels = tags(cell)
        if INJECTED_TAG in labels:
            continue
        kind = str(cell["cell_type"])
        source = cell_source(cell)
        number = 0
        if kind == "code" and source.strip():
            count += 1
            number = count
        own.append(Cell(kind, source, tuple(labels), number, takes_parameters(cell), cell))
    return own


def code_cells(cells: Iterable[Node]) -> list[Cell]:
    """The author's code cells that are not empty."""
    return [cell for cell in own_cells(cells) if cell.number]


def parameters_cells(notebook: Node) -> list[Cell]:
    """Those of them that are tagged `parameters`."""
    return [cell for cell in code_cells(notebook["cells"]) if cell.takes_parameters]


def takes_parameters(cell: Node) -> bool:
    """Whether a cell is tagged as one with parameters; a run sets those of the first."""
    return cell["cell_type"] == "code" and has_tag(cell, PARAMETERS_TAG)


def printed(notebook: Node) -> str:
    """What the cells of an executed notebook wrote to stdout and stderr; each begins a line.

    What is damaged, as of a run that was killed, is left out.
    """
    texts: list[str] = []
    for cell in _list(notebook.get("cells")):
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in _list(outputs):
            if isinstance(output, dict) and output.get("output_type") == "stream":
                text = output.get("text")
                lines = [text] if isinstance(text, str) else _list(text)
                texts += [line for line in lines if isinstance(line, str)]
        texts.append("\n")
    return "".join(texts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def cell_source(cell: Node) -> str:
    """The cell's text; in a file it may be a list of lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def literal(text: str) -> str:
    """A readable Python expression over several lines whose value is `text`.

    It is a raw string if that is exact, and otherwise one with only the necessary escapes.
    """
    if not _BLANK.search(text) and not _NOT_PLAIN.search(text):
        for quotes in ("'''", '"""'):
            if quotes not in text and not text.endswith(("\\", quotes[0])):
                return f"r{quotes}\n{text}{quotes}[1:]"
    escaped = _CLOSING.sub(_with_backslashes, text.replace("\\", "\\\\"))
    for pattern in (_NOT_PLAIN, _BLANK):
        escaped = pattern.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
    return f"'''\n{escaped}'''[1:]"


def _with_backslashes(quotes: re.Match[str]) -> str:
    return quotes[0].replace("'", "\\'")


def strip(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy without outputs, execution counts, random cell ids and traces of the machine."""
    import nbformat

    clean = nbformat.v4.new_notebook(metadata={"kernelspec": dict(KERNELSPEC)})
    for number, cell in enumerate(notebook.cells):
        metadata = {"tags": tags(cell)} if tags(cell) else {}
        make = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")
        kept = {key: cell[key] for key in ("source", "attachments") if key in cell}
        clean.cells.append(make(**kept, metadata=metadata, id=f"cell-{number:02d}"))
    return clean


def _check_language(path: Path, notebook: Node) -> None:
    """Raise `NotPythonError` for a notebook of R, and `NotebookError` for a language that Kaggle
    does not run."""
    metadata = notebook.get("metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        said = about.get(key)
        language = said.get(name) if isinstance(said, Mapping) else None
        if language == "R":
            raise not_python(path)
        if isinstance(language, str) and language and "python" not in language.lower():
            raise NotebookError(
                f"{path.name} is {language} by its metadata, and Kaggle runs Python and R: "
                "translate it, or choose a Python kernel in Jupyter if it is Python"
            )


def not_python(path: Path) -> NotPythonError:
    """The refusal of a notebook or a script of R."""
    return NotPythonError(
        f"{path.name} is R, and kernelkit runs and pushes only Python: use `kaggle kernels push`"
    )
