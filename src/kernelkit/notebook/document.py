"""Notebook files: read them, find the parameters cell, and what is not Python.

The `.py` (py:percent) is the source of truth; the `.ipynb` is what Kaggle and Jupyter open.
Everything here accepts either. Which text belongs to which notebook is said by `pairs`.
"""

from __future__ import annotations
import __future__

import ast
import functools
import re
import shlex
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import files
from kernelkit.errors import NotebookError
from kernelkit.notebook import magics, newer_syntax, syntax

if TYPE_CHECKING:  # importing it takes most of a second, too long for --help
    import nbformat

Node = Mapping[str, Any]  # a notebook or one of its cells, as its JSON has them
PARAMETERS_TAG = "parameters"
INJECTED_TAG = "injected-parameters"  # the tag of the cell that papermill adds
SCRIPT_BEGINS = "# The bundled files end here; the script itself begins."
SCRIPT_STOPS = "# The parameters of this push."  # in a script, around what is set with -p
SCRIPT_GOES_ON = "# The script goes on."
SCRIPT_MARK = '#%%tags=["parameters"]'  # without its spaces
NO_PARAMETERS = (
    "the notebook has no cell tagged 'parameters': begin one with "
    '`# %% tags=["parameters"]` in the .py, or add the tag in Jupyter'
)
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
MARIMO = re.compile(r"^app = marimo\.App\(", re.MULTILINE)
KINDS = ("code", "markdown", "raw")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # a NUL is a ValueError
# Characters besides "\n" at which Python or Jupyter would break or change a line.
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_BLANK = re.compile(r"^[ \t](?=[ \t]*$)", re.MULTILINE)  # IPython 9 empties lines of spaces
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def not_there(path: Path) -> NotebookError:
    """The error for a notebook that is not there; it names one that only ends differently."""
    for ending in (".ipynb", ".py"):
        other = path.with_name(f"{path.name}{ending}")
        if other.is_file():
            return NotebookError(f"no notebook at {path}: did you mean {other.name}?")
    return NotebookError(f"no notebook at {path}")


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook at `path`, from its `.py` or its `.ipynb`, always with a kernelspec.

    Raises `NotebookError` if there is no such file or it is not a notebook.
    """
    path = Path(path)
    if not path.is_file():
        raise not_there(path)
    if path.suffix not in (".py", ".ipynb"):
        raise NotebookError(f"{path} is not a notebook: a .py (py:percent) or .ipynb is needed")
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".py":
            import jupytext

            _check_marimo(path, text)

            notebook = jupytext.reads(text, ".py")
        else:  # without jupytext, which is missing from Kaggle's images
            import nbformat

            notebook = nbformat.reads(text, as_version=4)
    except NotebookError:
        raise
    except Exception as error:  # jupytext and nbformat raise a dozen kinds
        raise NotebookError(f"{path} cannot be read as a notebook: {error}") from None
    for cell in notebook.cells:
        if "tags" in cell.metadata:  # papermill fails if this is null
            cell.metadata["tags"] = tags(cell)
    notebook.metadata["kernelspec"] = dict(KERNELSPEC)
    return notebook


def converts_marimo() -> bool:
    """Whether jupytext can read a marimo notebook here: by marimo's own command."""
    return shutil.which("marimo") is not None


def _check_marimo(path: Path, text: str) -> None:
    """Raise `NotebookError` for a marimo notebook that jupytext cannot convert without marimo."""
    if MARIMO.search(text) and not converts_marimo():
        own = shlex.quote(str(path))
        converted = shlex.quote(str(path.with_suffix(".ipynb")))
        raise NotebookError(
            f"{path} is a marimo notebook, and Kaggle runs Jupyter's: convert it (marimo export "
            f"ipynb {own} -o {converted}) and name that as code_file. Where the command marimo is "
            "installed, kernelkit converts it in every push"
        )


def read_json(notebook: Path) -> dict[str, Any]:
    """A notebook's JSON, from an `.ipynb`, or through jupytext from a `.py`.

    An `.ipynb` is parsed as plain JSON, because importing nbformat takes most of a second. Raises
    `NotebookError` if it cannot be read.
    """
    if notebook.suffix != ".ipynb" or not notebook.is_file():
        return dict(read(notebook))
    try:
        source = _checked(notebook.read_text("utf-8-sig"))
        if source["nbformat"] < 4:
            raise ValueError(
                f"it has Jupyter's format {source['nbformat']}, and Kaggle runs format 4. Convert "
                "it: jupyter nbconvert --to notebook --nbformat 4 --inplace "
                f"{shlex.quote(str(notebook))}"
            )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise NotebookError(f"{notebook} is not a notebook: {error}") from None
    return dict(source)


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


def read_script(path: Path) -> dict[str, Any]:
    """A script as a notebook's JSON: its block of parameters, and the code before and after it.

    The block begins at the line `# %% tags=["parameters"]` and ends at the next `# %%`.
    Raises `NotebookError` if the file cannot be read.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NotebookError(f"{path} cannot be read as UTF-8 text: {error}") from None
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^(?=# %%)", text, flags=re.MULTILINE):
        marked = part.partition("\n")[0].replace(" ", "") == SCRIPT_MARK
        metadata = {"tags": [PARAMETERS_TAG]} if marked else {}
        if cells and cells[-1]["metadata"] == metadata:
            cells[-1]["source"] += part
        else:
            cells.append({"cell_type": "code", "metadata": metadata, "source": part})
    return {"cells": [cell for cell in cells if cell["source"].strip()]}


def tags(cell: Node) -> list[str]:
    """The cell's tags; empty if its metadata has no list of them."""
    metadata = cell.get("metadata")
    listed = metadata.get("tags") if isinstance(metadata, Mapping) else None
    return [tag for tag in listed if isinstance(tag, str)] if isinstance(listed, list) else []


def has_tag(cell: Node, tag: str) -> bool:
    """Whether the cell has the tag."""
    return tag in tags(cell)


def parameters_cells(notebook: Node) -> dict[int, str]:
    """The texts of all code cells tagged `parameters`, by the numbers of the cells.

    Cells that papermill injected earlier are not counted.
    """
    own = (cell for cell in notebook["cells"] if not has_tag(cell, INJECTED_TAG))
    numbered = enumerate(own, start=1)
    return {number: cell_source(cell) for number, cell in numbered if takes_parameters(cell)}


def takes_parameters(cell: Node) -> bool:
    """Whether a cell is tagged as one with parameters; a run sets those of the first."""
    return cell["cell_type"] == "code" and has_tag(cell, PARAMETERS_TAG)


def cell_source(cell: Node) -> str:
    """The cell's text; in a file it may be a list of lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def literal(text: str) -> str:
    """A readable Python expression over several lines whose value is `text`.

    It is a raw string if that is exact, and otherwise one with only the necessary escapes.
    """
    for quotes in ("'''", '"""'):
        if _BLANK.search(text) or _NOT_PLAIN.search(text):
            break
        if quotes in text or text.endswith(("\\", quotes[0])):
            continue
        return f"r{quotes}\n{text}{quotes}[1:]"
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    for pattern in (_NOT_PLAIN, _BLANK):
        escaped = pattern.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
    if escaped.endswith("'"):
        escaped = escaped[:-1] + "\\'"
    return f"'''\n{escaped}'''[1:]"


def strip(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy without outputs, execution counts, random cell ids and traces of the machine."""
    import nbformat

    clean = nbformat.v4.new_notebook(metadata={"kernelspec": dict(KERNELSPEC)})
    for number, cell in enumerate(notebook.cells):
        metadata = {"tags": tags(cell)} if tags(cell) else {}
        make = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")
        clean.cells.append(make(cell.source, metadata=metadata, id=f"cell-{number:02d}"))
    return clean


def syntax_error(place: str, source: str, *, cell: bool = False) -> tuple[str, bool]:
    """Where a source is not Python (empty if it is), and whether some of Kaggle's images accept it.

    A notebook's `cell` may also call magics and run shell lines. What this Python is too old for,
    and all of Kaggle's are not, is Python.
    """
    message, newer = _syntax_error(source, cell)
    return (place + message if message else ""), newer


@functools.lru_cache(maxsize=512)  # kernels of a repository often share cells
def _syntax_error(source: str, cell: bool) -> tuple[str, bool]:
    message = ""
    for reading in _readings(source, cell):
        message = _compile_error(reading, cell)
        if not message:
            return "", False
        newer = newer_syntax.rewritten(reading)
        wrong = _compile_error(newer, cell, reading) if newer != reading else message
        if not wrong and newer_syntax.needs_3_13(reading):
            return f"{message} (Python 3.13 accepts it; some of Kaggle's may be 3.12)", True
        if not wrong:
            return "", False
        message = wrong
    return message, False


def _readings(source: str, cell: bool) -> Iterator[str]:
    """What a source may be read as, the cheapest first; the last is how IPython reads a cell."""
    yield source
    if cell:
        body = magics.python_body(source)
        yield magics.as_python(body)
        yield "" if magics.AUTOMAGIC.fullmatch(body) else _python(body)


def plain_python(cell: str) -> str:
    """A cell's source as this Python reads it, with the same numbers of lines: IPython's calls for
    its magics, and no syntax of a newer Python.

    A source that is Python already stays as it is.
    """
    if not _compile_error(cell, True):
        return cell
    python = "" if magics.AUTOMAGIC.fullmatch(cell) else _python(cell)
    return newer_syntax.rewritten(python) if _compile_error(python, True) else python


def _compile_error(source: str, cell: bool, written: str = "") -> str:
    """Where a source cannot be compiled, to follow its name; empty if it can.

    `written`: what it was rewritten from, of which the message has a line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is no error
            _compile(source, cell)
    except SyntaxError as error:
        if error.lineno is None:  # of a source with null characters
            return f": {error.msg}"
        line = error.text or ""
        if written or not line:
            line = (written or source).split("\n")[error.lineno - 1]
        line = line.strip().partition("\n")[0]
        return f", line {error.lineno}: {error.msg}: {line[:80]}"
    except UNREADABLE as error:
        reason = str(error) or "it is too long or nested too deeply for Python"
        return f": {reason}"
    return ""


def _compile(source: str, cell: bool) -> None:
    """Compile a file, or a cell as IPython does, each statement by itself; raises as `compile`.

    A cell that compiles as a whole also does so by statements, and takes less time.
    """
    tree = syntax.kept(source)
    try:
        compile(tree, "<unknown>", "exec", _FLAGS if cell else 0, dont_inherit=True)
    except UNREADABLE:
        if not cell:
            raise
        _compile_statements(tree)


def _compile_statements(tree: ast.Module) -> None:
    """Compile statements one after another; raises as `compile` does.

    A `from __future__` may then follow other statements, and holds for those after it.
    """
    flags = _FLAGS
    for statement in tree.body:
        match statement:
            case ast.ImportFrom(module="__future__", names=names):
                features = (getattr(__future__, each.name, None) for each in names)
                for feature in features:
                    flags |= getattr(feature, "compiler_flag", 0)
        one = ast.Module([statement], [])
        compile(one, "<unknown>", "exec", flags, dont_inherit=True)


def _python(cell: str) -> str:
    """The Python that IPython runs for a cell, with the same numbers of lines."""
    # Importing IPython takes a third of a second, and most cells are plain Python.
    from IPython.core.inputtransformer2 import TransformerManager

    leading = len(cell) - len(cell.lstrip("\n"))  # lines that IPython removes
    try:
        transformed: str = TransformerManager().transform_cell(cell)  # type: ignore[no-untyped-call]
    except SyntaxError:
        return cell
    return "\n" * leading + transformed
