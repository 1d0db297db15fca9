"""Which names code reads and sets, and what it imports."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from kernelkit.notebook.code.noting.around import Around
from kernelkit.notebook.code.noting.expressions import dotted, names_set_by, value_of
from kernelkit.notebook.code.records import ANYTHING, NOT_LITERAL, Import, Reading, Statement

# What code may read any name by.
_ALL_NAMES = {"globals", "locals", "vars", "dir", "eval", "exec", "__main__", "user_ns"}
_ALL_NAMES |= {"f_globals", "f_locals", "run_cell"}
_NAME = re.compile(r"[^\W\d]\w*")


class NotedNames:
    """Notes the names of each statement, and the imports of a source."""

    def __init__(self, found: Reading, around: Around) -> None:
        self.found = found
        self.around = around
        self.reads: set[str] = set()  # of the statement that the visitor is in
        self.reads_in_functions: set[str] = set()
        self.handlers: Mapping[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.AugAssign: self._augmented,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
        }

    def begin_statement(self) -> None:
        """Forget what the statement before reads."""
        self.reads, self.reads_in_functions = set(), set()

    def end_statement(self, statement: ast.stmt, *, sets: bool) -> None:
        """Note what a statement reads and, with `sets`, what it sets."""
        certain = names_set_by(statement) if sets else ()
        self.found.statements.append(
            Statement(
                self.around.line(statement),
                frozenset(self.reads),
                frozenset(self.reads_in_functions),
                frozenset(certain),
            )
        )

    def read(self, name: str) -> None:
        """Note that the statement reads a name, or `ANYTHING`."""
        self._note(ANYTHING if name in _ALL_NAMES else name)

    def read_all_in(self, text: str) -> None:
        """Note that the statement reads every word of a shell line or a magic."""
        for name in _NAME.findall(text):
            self._note(name)

    def _note(self, name: str) -> None:
        self.reads.add(name)
        if self.around.functions:
            self.reads_in_functions.add(name)

    def full(self, name: str) -> str:
        """A dotted name by what the imports before it bind."""
        first, dot, rest = name.partition(".")
        return f"{self.found.names.get(first, first)}{dot}{rest}"

    def imported(self, node: ast.AST, name: str, level: int = 0) -> None:
        """Note that a node imports a module by its name."""
        top = "" if level else name.partition(".")[0]
        if top == "__main__":
            self.read(ANYTHING)
        optional = any(isinstance(each, ast.Try | ast.TryStar) for each in self.around.above)
        self.found.imports.append(Import(name, top, self.around.line(node), optional, level))

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read(node.id)
            return
        value = NOT_LITERAL
        holder = self.around.holder
        if isinstance(holder, ast.Assign | ast.AnnAssign) and holder.value:
            value = value_of(holder.value)
        self.found.bound[node.id] = NOT_LITERAL if node.id in self.found.bound else value

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr in _ALL_NAMES or dotted(node) == "sys.modules":
            self.read(ANYTHING)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read(node.target.id)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imported(node, alias.name)
            first = alias.name.partition(".")[0]
            self.found.names[alias.asname or first] = alias.name if alias.asname else first

    def _import_from(self, node: ast.ImportFrom) -> None:
        dots = "." * node.level
        for alias in node.names:
            name = f"{node.module}.{alias.name}" if node.module else alias.name
            self.imported(node, name, node.level)
            self.found.names[alias.asname or alias.name] = f"{dots}{name}"
