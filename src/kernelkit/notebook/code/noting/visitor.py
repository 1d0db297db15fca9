"""The visitor that goes through a syntax tree once, and has it noted in a `Reading`.

What a node says is noted by the handlers of its class, in the modules `noted_…`.
"""

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from kernelkit.notebook.code.noting.around import Around
from kernelkit.notebook.code.noting.noted_calls import NotedCalls
from kernelkit.notebook.code.noting.noted_commands import NotedCommands
from kernelkit.notebook.code.noting.noted_inputs import NotedInputs
from kernelkit.notebook.code.noting.noted_names import NotedNames
from kernelkit.notebook.code.records import Reading

_LEAVES = frozenset((ast.Name, ast.Constant, ast.alias))  # most nodes, which hold no others


def visited(tree: ast.Module) -> Reading:
    """What the tree of a source says, but for why it has none."""
    visitor = _Visitor()
    visitor.module(tree, sets=True)
    return visitor.found


class _Step(NamedTuple):
    """A node to visit, or to leave when all below it is visited."""

    node: ast.AST
    leaves: bool = False


class _Visitor:
    """Goes through a tree once, with the nodes above the one that it is at."""

    def __init__(self) -> None:
        self.found = Reading()
        self.around = Around()
        self.names = NotedNames(self.found, self.around)
        inputs = NotedInputs(self.found, self.around, self.names)
        commands = NotedCommands(self.found, self.around, self.names, inputs, self.module)
        calls = NotedCalls(self.found, self.around, self.names, commands)
        self.handlers: dict[type[ast.AST], list[Callable[[Any], None]]] = defaultdict(list)
        for noting in (self.names, inputs, commands, calls):
            for kind, handler in noting.handlers.items():
                self.handlers[kind].append(handler)

    def module(self, tree: ast.Module, sets: bool) -> None:
        """Visit each statement of a tree; `sets`: what they assign becomes a name of the source."""
        for statement in tree.body:
            self.names.begin_statement()
            self._visit(statement)
            self.names.end_statement(statement, sets=sets)

    def _visit(self, top: ast.AST) -> None:
        """Note what a node says, and then what is below it, in order.

        A long sum is nested more deeply than Python's functions may be, so this one does not call
        itself.
        """
        waiting = [_Step(top)]
        while waiting:
            node, leaves = waiting.pop()
            if leaves:
                self.around.leave()
                continue
            for handler in self.handlers.get(node.__class__, ()):
                handler(node)
            below = _below(node)
            if below:
                self.around.enter(node)
                waiting.append(_Step(node, leaves=True))
                waiting += [_Step(each) for each in reversed(below)]


def _below(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below one."""
    if node.__class__ in _LEAVES:
        return []
    below: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            below += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            below.append(value)
    return below
