"""The Python of a cell or a module: its syntax tree, or why it has none.

A source that is plain Python is read as it stands. Any other cell is first put through IPython's
own transformer, which makes calls of magics and shell lines. IPython's transformer leaves automagic
alone, a line magic without its `%` as the only line of a cell: it gets the `%` first.
"""

import ast
import re
import sys
import tomllib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kernelkit import machines
from kernelkit.notebook.language import syntax

_FACTS = tomllib.loads(Path(__file__).with_name("jupyter.toml").read_text("utf-8"))
LOADED = frozenset(_FACTS["loaded"])  # modules that a kernel has before the first cell
BUILT_IN = frozenset(_FACTS["magics"])  # magics that need no extension
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_AUTOMAGIC = re.compile(r"\s*(\w+)[ \t]+(?![=, \t])[^\n]*\s*")
_INDENTATION = re.compile(r"\s*^([ \t]+)\S", re.MULTILINE)  # of the first line that is not empty
# Where Python 3.12 and 3.13 accept more: in f-strings (PEP 701), and type parameters (695, 696).
_NEWER = re.compile(
    r"""\b(?:[rR]?[fF]|[fF][rR])["']|^[ \t]*type[ \t]+\w|\b(?:def|class)[ \t]+\w+\["""
)
_SHOWN = 80  # characters of a line in a message


class Problem(NamedTuple):
    """Why a source is not Python.

    `line` is 0 if it has none. A problem is `certain`, or a guess, because a session's Python may
    read what this one cannot.
    """

    line: int
    message: str
    certain: bool

    def at(self, place: str) -> str:
        """The problem of the source with this name, as a sentence."""
        where = f"{place}, line {self.line}" if self.line else place
        if self.certain:
            return f"{where}: {self.message}"
        here = _version(sys.version_info)
        return f"Python {here} here cannot read {where}, and that of a session may: {self.message}"


TOO_DEEP = Problem(0, "it is nested too deeply", certain=False)


def tree(source: str, *, cell: bool) -> tuple[ast.Module, Problem | None]:
    """The tree of a module or of a notebook's `cell`; of what is not Python, its import lines."""
    if cell:
        _, found, problem = of_cell(source)
        return found, problem
    return _read(_with_newlines(source), cell=False)


def of_cell(source: str) -> tuple[str, ast.Module, Problem | None]:
    """The Python that IPython runs for a cell, with the same numbers of lines, and its tree."""
    python = _with_newlines(source)
    found, problem = _read(python, cell=True)
    if problem:
        transformed = _transformed(python)
        if transformed != python:
            python = transformed
            found, problem = _read(python, cell=True)
    return python, found, problem


def _with_newlines(source: str) -> str:
    """The source with its lines ended as Python counts them, also at a carriage return."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def _read(source: str, *, cell: bool) -> tuple[ast.Module, Problem | None]:
    """The tree of a source; if this Python cannot compile it, its import lines, and why."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is no error
            found = syntax.parse(source)
            _compile(found, cell)
            return found, None
    except SyntaxError as error:
        problem = _problem(error, source)
    except ValueError as error:  # null characters, before Python 3.12
        problem = Problem(0, str(error), certain=True)
    except (RecursionError, MemoryError):
        problem = TOO_DEEP
    return _import_lines(source), problem


def _problem(error: SyntaxError, source: str) -> Problem:
    """What is wrong with a source, certainly or only for this Python."""
    if error.lineno is None:  # null characters, from Python 3.12 on
        return Problem(0, error.msg, certain=True)
    line = source.split("\n")[error.lineno - 1]
    shown = (error.text or line).strip().partition("\n")[0]
    message = f"{error.msg}: {shown[:_SHOWN]}"
    is_newest = sys.version_info >= machines.NEWEST_PYTHON
    may_be_newer = error.msg.startswith("f-string") or _NEWER.search(line)
    if is_newest or not may_be_newer:
        return Problem(error.lineno, message, certain=True)
    newest = _version(machines.NEWEST_PYTHON)
    advice = f"Install kernelkit under Python {newest} to have it checked"
    return Problem(error.lineno, f"{message}. {advice}", certain=False)


def _version(numbers: Sequence[object]) -> str:
    return ".".join(map(str, numbers[:2]))


def _compile(tree: ast.Module, cell: bool) -> None:
    """Compile a module, or a cell as IPython does, each statement by itself; raises as `compile`.

    A cell is first compiled as a whole, which is faster, and if that works so would its statements.
    By statements, a `from __future__` may follow others.
    """
    try:
        compile(tree, "<unknown>", "exec", _FLAGS if cell else 0, dont_inherit=True)
        return
    except syntax.UNREADABLE:
        if not cell:
            raise
    for statement in tree.body:
        one = ast.Module([statement], [])
        compile(one, "<unknown>", "exec", _FLAGS, dont_inherit=True)


def _transformed(cell: str) -> str:
    """The Python that IPython runs for a cell, with the same numbers of lines."""
    # Importing IPython takes a third of a second, and most cells are plain Python.
    from IPython.core.inputtransformer2 import TransformerManager

    cell = _without_indentation(cell)
    match = _AUTOMAGIC.fullmatch(cell)
    if match and match[1] in BUILT_IN:
        cell = f"{cell[: match.start(1)]}%{cell[match.start(1) :].rstrip()}"
    lines = cell.split("\n")
    leading = 0  # empty lines, which IPython removes
    while leading < len(lines) and not lines[leading].strip():
        leading += 1
    try:
        python: str = TransformerManager().transform_cell(cell)  # type: ignore[no-untyped-call]
    except SyntaxError:
        return cell
    return "\n" * leading + _with_all_lines(lines[leading:], python)


def _without_indentation(cell: str) -> str:
    """The cell without the indentation of its first line, as IPython 7 takes it, which Kaggle has.

    IPython 9 takes the indentation that all lines have.
    """
    indentation = _INDENTATION.match(cell)
    if indentation is None:
        return cell
    return "\n".join(line.removeprefix(indentation[1]) for line in cell.split("\n"))


def _with_all_lines(written: list[str], python: str) -> str:
    """What IPython made of a cell's lines, with empty lines for those that it joined.

    It joins the lines of a command that end in a backslash: of

        !pip install a \\
            b
        import c

    it makes two lines, and the second becomes the third here.
    """
    waiting = list(written)
    lines = []
    for line in python.split("\n"):
        lines.append(line)
        own = waiting.pop(0) if waiting else ""
        while own.endswith("\\") and own != line and waiting:
            own = waiting.pop(0)
            lines.append("")
    return "\n".join(lines)


def _import_lines(source: str) -> ast.Module:
    """The imports of a source that is not Python, of each line that is one by itself."""
    statements: list[ast.stmt] = []
    for number, line in enumerate(source.split("\n")):
        text = line.strip()
        if not text.startswith(("import ", "from ")):
            continue
        try:
            found = syntax.parse(text).body
        except syntax.UNREADABLE:  # prose may begin with "from", too
            continue
        for statement in found:
            ast.increment_lineno(statement, number)
            statements.append(statement)
    return ast.Module(statements, [])
