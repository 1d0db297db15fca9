"""What a node is noted with: the nodes above it, and what was noted before it."""

import ast
import itertools
import re
from dataclasses import dataclass, field

from kernelkit.notebook.code.records import ANYTHING, Place, Reading

# What code may read any name by.
ALL_NAMES = {"globals", "locals", "vars", "dir", "eval", "exec", "__main__", "user_ns"}
ALL_NAMES |= {"f_globals", "f_locals", "run_cell"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_GUARDS = (ast.If, ast.IfExp, ast.Try, ast.TryStar, ast.While, ast.For, ast.Match, ast.BoolOp)
_FIRST = ("test", "iter", "subject")  # the field of a condition or a loop that always runs
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass
class Names:
    """The names that a statement reads, and those that a function in it reads, defaults too."""

    reads: set[str] = field(default_factory=set)
    in_functions: set[str] = field(default_factory=set)


@dataclass
class Context:
    """Where the visitor is, and what it has noted.

    found      the `Reading` that it fills
    above      the nodes above the one that it is at, from the outermost
    functions  how many of them are functions
    names      those of the statement that it is in
    places     the paths that the source has set names to, by these names
    """

    found: Reading = field(default_factory=Reading)
    above: list[ast.AST] = field(default_factory=list)
    functions: int = 0
    names: Names = field(default_factory=Names)
    places: dict[str, Place] = field(default_factory=dict)

    def enter(self, node: ast.AST) -> None:
        """Go below a node."""
        self.above.append(node)
        self.functions += isinstance(node, _FUNCTIONS)

    def leave(self) -> None:
        """Go back above the last node."""
        self.functions -= isinstance(self.above.pop(), _FUNCTIONS)

    @property
    def holder(self) -> ast.AST:
        """The node directly above."""
        return self.above[-1]

    def is_guarded(self, node: ast.AST) -> bool:
        """Whether a node may not run: it is below a condition, a loop or a `try`.

        What a condition tests and a loop goes through does run.
        """
        for holder, below in itertools.pairwise([*self.above, node]):
            if isinstance(holder, _GUARDS) and not _is_first(below, holder):
                return True
        return False

    def parameters(self) -> set[str]:
        """Those of the functions above, whose names are no names of the source."""
        found: set[str] = set()
        for holder in self.above:
            if isinstance(holder, _FUNCTIONS):
                for node in ast.walk(holder.args):
                    if isinstance(node, ast.arg):
                        found.add(node.arg)
        return found

    def full(self, name: str) -> str:
        """A dotted name by what the imports before it bind."""
        first, dot, rest = name.partition(".")
        return f"{self.found.names.get(first, first)}{dot}{rest}"

    def read(self, name: str) -> None:
        """Note that the statement reads a name, or `ANYTHING`."""
        self._note(ANYTHING if name in ALL_NAMES else name)

    def read_all_in(self, text: str) -> None:
        """Note that the statement reads every word of a shell line or a magic."""
        for name in _NAME.findall(text):
            self._note(name)

    def _note(self, name: str) -> None:
        self.names.reads.add(name)
        if self.functions:
            self.names.in_functions.add(name)


def _is_first(node: ast.AST, holder: ast.AST) -> bool:
    """Whether a node is the part of a condition or a loop that runs before any other."""
    if isinstance(holder, ast.BoolOp):
        return node is holder.values[0]
    return any(node is getattr(holder, field, None) for field in _FIRST)
