"""Where in a syntax tree the visitor is."""

import ast
from typing import Any

_FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
_GUARDS = frozenset(
    (ast.If, ast.IfExp, ast.Try, ast.TryStar, ast.While, ast.For, ast.Match, ast.BoolOp)
)


class Around:
    """The nodes above the one that the visitor is at, from the outermost, and how many are what."""

    def __init__(self) -> None:
        self.above: list[ast.AST] = []
        self.functions = 0
        self.guards = 0  # conditions, loops and `try`s
        self.offset = 0  # lines before the tree, for the body of a cell magic

    def enter(self, node: ast.AST) -> None:
        """Go below a node."""
        self.above.append(node)
        self._count(node, 1)

    def leave(self) -> None:
        """Go back above the last node."""
        self._count(self.above.pop(), -1)

    def _count(self, node: ast.AST, one: int) -> None:
        if node.__class__ in _FUNCTIONS:
            self.functions += one
        elif node.__class__ in _GUARDS:
            self.guards += one

    @property
    def holder(self) -> ast.AST:
        """The node directly above."""
        return self.above[-1]

    def line(self, node: Any) -> int:
        """The line of a node, in the source."""
        return self.offset + int(node.lineno)

    def parameters(self) -> set[str]:
        """Those of the functions that it is in, whose names are no names of the source."""
        found: set[str] = set()
        for holder in self.above:
            if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                for node in ast.walk(holder.args):
                    if isinstance(node, ast.arg):
                        found.add(node.arg)
        return found
