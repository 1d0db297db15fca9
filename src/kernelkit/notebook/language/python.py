"""The Python of a cell or a module: its syntax tree, or why it has none.

A source that is plain Python is read as it stands. Any other cell is first put through IPython's
own transformer, which makes calls of magics and shell lines. Automagic, which that leaves alone, is
a line magic without its `%` as the only line of a cell: it gets the `%` first.
"""

import ast
import re
import sys
import tomllib
import warnings
from pathlib import Path
from typing import NamedTuple

from kernelkit import machines
from kernelkit.notebook.language import syntax

_FACTS = tomllib.loads(Path(__file__).with_name("jupyter.toml").read_text("utf-8"))
LOADED = frozenset(_FACTS["loaded"])  # modules that a kernel has before the first cell
BUILT_IN = frozenset(_FACTS["magics"])  # magics that need no extension
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # a NUL is a ValueError
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_AUTOMAGIC = re.compile(r"\s*(\w+)[ \t]+(?![=, \t])[^\n]*\s*")
# Where Python 3.12 and 3.13 accept more: in f-strings (PEP 701), and type parameters (695, 696).
_NEWER = re.compile(
    r"""\b(?:[rR]?[fF]|[fF][rR])["']|^[ \t]*type[ \t]+\w|\b(?:def|class)[ \t]+\w+\["""
)
_SHOWN = 80  # characters of a line in a message


class Problem(NamedTuple):
    """Why a source is not Python.

    `line` is 0 if it has none. A problem is `certain`, or a guess, because the source may be in
    the syntax of a session's newer Python, which this one cannot read.
    """

    line: int
    message: str
    certain: bool

    def at(self, place: str) -> str:
        """The problem of the source with this name, as a sentence."""
        where = f"{place}, line {self.line}" if self.line else place
        if self.certain:
            return f"{where}: {self.message}"
        here = ".".join(map(str, sys.version_info[:2]))
        theirs = ".".join(map(str, machines.PYTHONS[-1]))
        return (
            f"Python {here} here cannot read {where}, and that of a session may: {self.message}. "
            f"Install kernelkit under Python {theirs} to have it checked"
        )


def tree(source: str, *, cell: bool) -> tuple[ast.Module, Problem | None]:
    """The tree of a module or of a notebook's `cell`; of what is not Python, its import lines."""
    if cell:
        _, found, problem = of_cell(source)
        return found, problem
    compiled = _compiled(source, cell=False)
    if isinstance(compiled, Problem):
        return _import_lines(source), compiled
    return compiled, None


def of_cell(source: str) -> tuple[str, ast.Module, Problem | None]:
    """The Python that IPython runs for a cell, with the same numbers of lines, and its tree."""
    found = _compiled(source, cell=True)
    if isinstance(found, Problem):
        python = _transformed(source)
        if python != source:
            found = _compiled(python, cell=True)
            source = python
    if isinstance(found, Problem):
        return source, _import_lines(source), found
    return source, found, None


def _compiled(source: str, *, cell: bool) -> ast.Module | Problem:
    """The tree of a source that this Python can compile, or what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is no error
            tree = syntax.parse(source)
            _compile(tree, cell)
            return tree
    except SyntaxError as error:
        if error.lineno is None:  # of a source with null characters
            return Problem(0, error.msg, True)
        whole = source.split("\n")[error.lineno - 1]
        line = (error.text or whole).strip().partition("\n")[0]
        is_newest = sys.version_info >= machines.PYTHONS[0]
        may_be_newer = error.msg.startswith("f-string") or _NEWER.search(whole)
        certain = is_newest or not may_be_newer
        return Problem(error.lineno, f"{error.msg}: {line[:_SHOWN]}", certain)
    except UNREADABLE as error:
        reason = str(error) or "it is too long or nested too deeply for Python"
        return Problem(0, reason, True)


def _compile(tree: ast.Module, cell: bool) -> None:
    """Compile a module, or a cell as IPython does, each statement by itself; raises as `compile`.

    A cell that compiles as a whole also does so by statements, and takes less time. By statements,
    a `from __future__` may follow others.
    """
    try:
        compile(tree, "<unknown>", "exec", _FLAGS if cell else 0, dont_inherit=True)
        return
    except UNREADABLE:
        if not cell:
            raise
    for statement in tree.body:
        one = ast.Module([statement], [])
        compile(one, "<unknown>", "exec", _FLAGS, dont_inherit=True)


def _transformed(cell: str) -> str:
    """The Python that IPython runs for a cell, with the same numbers of lines."""
    # Importing IPython takes a third of a second, and most cells are plain Python.
    from IPython.core.inputtransformer2 import TransformerManager

    match = _AUTOMAGIC.fullmatch(cell)
    if match and match[1] in BUILT_IN:
        cell = f"%{cell.strip()}"
    leading = len(cell) - len(cell.lstrip("\n"))  # lines that IPython removes
    try:
        python: str = TransformerManager().transform_cell(cell)  # type: ignore[no-untyped-call]
    except SyntaxError:
        return cell
    return "\n" * leading + _with_all_lines(cell[leading:], python)


def _with_all_lines(cell: str, python: str) -> str:
    """What IPython made of a cell, with empty lines for those that it joined to the one before.

    It joins the lines of a command that end in a backslash.
    """
    written = cell.split("\n")
    lines = []
    for line in python.split("\n"):
        lines.append(line)
        own = written.pop(0) if written else ""
        while own.endswith("\\") and own != line and written:
            own = written.pop(0)
            lines.append("")
    return "\n".join(lines)


def _import_lines(source: str) -> ast.Module:
    """The imports of a source that is not Python, of each line that is one by itself."""
    statements: list[ast.stmt] = []
    for number, line in enumerate(source.splitlines()):
        text = line.strip()
        if not text.startswith(("import ", "from ")):
            continue
        try:
            found = syntax.parse(text).body
        except UNREADABLE:  # prose may begin with "from", too
            continue
        for statement in found:
            ast.increment_lineno(statement, number)
            statements.append(statement)
    return ast.Module(statements, [])
