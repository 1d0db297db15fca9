"""Where in a syntax tree the visitor is."""

import ast
import itertools
from typing import Any

_FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
_GUARDS = frozenset(
    (ast.If, ast.IfExp, ast.Try, ast.TryStar, ast.While, ast.For, ast.Match, ast.BoolOp)
)
_FIRST = ("test", "iter", "subject")  # the field of a condition or a loop that always runs


class Around:
    """The nodes above the one that the visitor is at, from the outermost."""

    def __init__(self) -> None:
        self.above: list[ast.AST] = []
        self.functions = 0
        self.offset = 0  # lines before the tree, for the body of a cell magic

    def enter(self, node: ast.AST) -> None:
        """Go below a node."""
        self.above.append(node)
        self.functions += node.__class__ in _FUNCTIONS

    def leave(self) -> None:
        """Go back above the last node."""
        self.functions -= self.above.pop().__class__ in _FUNCTIONS

    def is_guarded(self, node: ast.AST) -> bool:
        """Whether a node may not run: it is below a condition, a loop or a `try`.

        What a condition tests and a loop goes through does run.
        """
        for holder, below in itertools.pairwise([*self.above, node]):
            if holder.__class__ in _GUARDS and not _is_first(below, holder):
                return True
        return False

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


def _is_first(node: ast.AST, holder: ast.AST) -> bool:
    """Whether a node is the part of a condition or a loop that runs before any other."""
    if isinstance(holder, ast.BoolOp):
        return node is holder.values[0]
    return any(node is getattr(holder, field, None) for field in _FIRST)
