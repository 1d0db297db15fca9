"""The visitor that goes through a syntax tree once, and fills a `Reading`.

A node is noted by the function for its class, from the modules `noted_…`.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kernelkit.notebook.code.noting import (
    noted_calls,
    noted_commands,
    noted_inputs,
    noted_magics,
    noted_names,
)
from kernelkit.notebook.code.noting.expressions import names_certainly_set_by
from kernelkit.notebook.code.noting.noting_context import Context, Names
from kernelkit.notebook.code.records import Reading, Statement


def visited(tree: ast.Module) -> Reading:
    """What the tree of a source says; its `problem` is one of a magic's Python at most."""
    context = Context()
    _visit_statements(context, tree, sets=True)
    return context.found


def _visit_statements(context: Context, tree: ast.Module, *, sets: bool) -> None:
    """Note the statements of a tree; `sets`: what they assign becomes a name of the source."""
    outside = context.names  # of the statement that has the tree in a magic
    for statement in tree.body:
        context.names = Names()
        _visit(context, statement)
        certain = names_certainly_set_by(statement) if sets else ()
        context.found.statements.append(
            Statement(
                statement.lineno,
                frozenset(context.names.reads),
                frozenset(context.names.in_functions),
                frozenset(certain),
            )
        )
    context.names = outside


class _Step(NamedTuple):
    """A node to visit, or to leave when all below it is visited."""

    node: ast.AST
    leaves: bool = False


def _visit(context: Context, top: ast.AST) -> None:
    """Note a node, and then what is below it, in order.

    A long sum is nested more deeply than Python's functions may be, so this one does not call
    itself, but for the Python in a magic.
    """
    waiting = [_Step(top)]
    while waiting:
        node, leaves = waiting.pop()
        if leaves:
            context.leave()
            continue
        note = _NOTED_BY.get(node.__class__)
        if note:
            note(context, node)
        below = list(ast.iter_child_nodes(node))
        if below:
            context.enter(node)
            waiting.append(_Step(node, leaves=True))
            waiting += [_Step(each) for each in reversed(below)]


def _call(context: Context, node: ast.Call) -> None:
    """Note a call; if IPython made it of a magic, the magic and its Python."""
    if not noted_magics.is_magic(node):
        noted_calls.call(context, node)
        return
    body = noted_magics.magic(context, node)
    if body:
        _visit_statements(context, body.tree, sets=body.sets)


_NOTED_BY: Mapping[type[ast.AST], Callable[[Context, Any], None]] = {
    ast.AnnAssign: noted_calls.assignment,
    ast.Assign: noted_calls.assignment,
    ast.Attribute: noted_names.attribute,
    ast.AugAssign: noted_names.augmented,
    ast.Call: _call,
    ast.Constant: noted_inputs.text,
    ast.Import: noted_names.import_statement,
    ast.ImportFrom: noted_names.import_from,
    ast.JoinedStr: noted_inputs.f_string,
    ast.List: noted_commands.listed,
    ast.Name: noted_names.name,
    ast.Tuple: noted_commands.listed,
}
