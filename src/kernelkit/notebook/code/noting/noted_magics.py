"""Magics, which IPython makes calls of, and the Python in some of them."""

import ast
from typing import NamedTuple

from kernelkit.notebook.code.noting.expressions import dotted, text_of
from kernelkit.notebook.code.noting.noted_commands import command, in_shell
from kernelkit.notebook.code.noting.noted_inputs import in_command
from kernelkit.notebook.code.noting.noting_context import Context
from kernelkit.notebook.code.records import ANYTHING, Variable, WrittenFile
from kernelkit.notebook.language import python, shell

_OF_LINE = "get_ipython().run_line_magic"
_OF_CELL = "get_ipython().run_cell_magic"
# Magics whose body, or whose line, is Python of this notebook.
_OF_PYTHON = ("capture", "time", "timeit")
_SETS_NOTHING = "timeit"  # which sets no name of the notebook


class Body(NamedTuple):
    """The Python of a magic, which has the lines of its cell.

    It `sets` the names that it assigns, if they become names of the source whenever that runs.
    """

    tree: ast.Module
    sets: bool


def is_magic(node: ast.Call) -> bool:
    """Whether IPython has made a call of a magic."""
    return dotted(node.func) in (_OF_LINE, _OF_CELL)


def magic(context: Context, node: ast.Call) -> Body | None:
    """Note a magic; returns its Python, if it has some."""
    is_of_line = dotted(node.func) == _OF_LINE
    match [text_of(each) for each in node.args]:
        case [name, text, *_] if is_of_line:
            return _line_magic(context, node, name, text)
        case [name, arguments, body] if not is_of_line:
            return _cell_magic(context, node, name, arguments, body)
    return None


def _line_magic(context: Context, node: ast.Call, name: str, text: str) -> Body | None:
    """Note a magic of a line with `%`."""
    context.found.magics.append(f"%{name}")
    context.read_all_in(text)
    if name in _OF_PYTHON:
        # It may begin with the magic's own options, and is no problem then.
        body, _ = _body(context, node, name, text, node.lineno - 1)
        return body
    if name == "run":
        context.read(ANYTHING)
    if name in ("env", "set_env"):
        _set_variable(context, text, node.lineno)
        in_command(context, text, node, optional=context.is_guarded(node))
        return None
    command(context, [name, *shell.words(text)], node, shell.started_by_magic)
    return None


def _set_variable(context: Context, text: str, line: int) -> None:
    name, equals, value = text.partition("=")
    if not equals:
        name, _, value = text.strip().partition(" ")
    if name.strip() and value.strip():
        known = None if {"{", "$"} & set(value) else value.strip()
        context.found.environment.append(Variable(name.strip(), known, line))


def _cell_magic(
    context: Context, node: ast.Call, name: str, arguments: str, text: str
) -> Body | None:
    """Note a magic of a cell with `%%`."""
    context.found.magics.append(f"%%{name}")
    if name in _OF_PYTHON:
        context.read_all_in(arguments)  # as in `%%timeit data = rows`
        body, problem = _body(context, node, name, text, node.lineno)
        if problem:
            line = problem.line + node.lineno if problem.line else 0
            context.found.problem = problem._replace(line=line)
        return body
    if name in ("writefile", "file"):
        paths = [word for word in shell.words(arguments) if not word.startswith("-")]
        if paths:
            context.found.writes.append(WrittenFile(paths[-1], text))
        return None
    context.read_all_in(f"{arguments}\n{text}")
    if name in shell.SHELL_MAGICS and "python" not in arguments:
        in_shell(context, text, node)
    return None


def _body(
    context: Context, node: ast.Call, name: str, text: str, line: int
) -> tuple[Body, python.Problem | None]:
    """The Python of a magic, which follows this line, and what is wrong if it is none."""
    tree, problem = python.tree(text, cell=True)
    ast.increment_lineno(tree, line)
    if problem:
        context.read(ANYTHING)
    is_certain = not context.is_guarded(node) and not context.functions
    return Body(tree, is_certain and name != _SETS_NOTHING), problem
