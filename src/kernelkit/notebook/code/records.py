"""What is known of a cell or a module: the records that make up a `Reading`.

A `line` is that of its source where a record stands, counted from 1; in a cell, from its first
line. One is `guarded` where it stands below a condition, a loop or a `try`: the author has provided
for its absence. What the condition tests, and what the loop goes through, is not.
"""

from __future__ import annotations

import importlib.util
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kernelkit.notebook.language.python import Problem
from kernelkit.notebook.language.shell import Start

NOT_LITERAL = object()  # an argument whose value is known only when the code runs
WRITING = ("w", "a", "x")  # how the mode of `open` begins in which it does not read
ANYTHING = "*"  # among the names that code reads: it may read every name, as globals() does


class Import(NamedTuple):
    """A module that code imports by its name, with a statement or `import_module("name")`.

    `from a import b` has the name "a.b", which may be a module or not, and `from a import *` has
    "a.*"; `top` is the first part of it. `level` is the number of dots of a relative import, which
    has no `top`. The code can do without an `optional` one, which stands below a `try`.
    """

    name: str
    top: str
    line: int
    optional: bool
    level: int

    def absolute(self, home: str) -> str:
        """Its name in a module of the package `home`; empty if it has more dots than folders."""
        if not self.level:
            return self.name
        try:
            return importlib.util.resolve_name("." * self.level + self.name, home)
        except ImportError:
            return ""


class Place(NamedTuple):
    """A path, from the folder of the source's own file if the code says `__file__`, and otherwise
    from the folder that it runs in."""

    by_file: bool
    path: str

    def above(self, steps: int) -> Place:
        """The folder so many steps above it."""
        return self.below(*[".."] * steps)

    def below(self, *parts: str) -> Place:
        """What lies below it."""
        return Place(self.by_file, posixpath.normpath(posixpath.join(self.path, *parts)))


class Name(NamedTuple):
    """An argument that is a name; `Program.calls` puts in its place what the program sets it to."""

    name: str


class Call(NamedTuple):
    """A call, by the dotted name of what is called, as `Program.calls` resolves it.

    In place of an argument that is no literal there is `NOT_LITERAL`, or its `Name`.
    """

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    line: int
    guarded: bool

    def argument(self, position: int, keyword: str = "") -> Any:
        """An argument by its position or its keyword; None if it is not given."""
        if position < len(self.arguments):
            return self.arguments[position]
        return self.keywords.get(keyword)


class Command(NamedTuple):
    """The words of a command: of a shell line, of a magic, or of a process that Python starts.

    Lines of a shell are divided at `;`, `&&`, `|` and the like. A text that is put together while
    the code runs has `{}` for what is not known. One in a function is `guarded`, too.
    `%env` is a variable of the `environment`, and no command.
    """

    words: tuple[str, ...]
    line: int
    guarded: bool


class Variable(NamedTuple):
    """A variable of the environment that code sets; its value is None if it is no literal."""

    name: str
    value: str | None
    line: int


class Input(NamedTuple):
    """A path below /kaggle/input that code names.

    `path` is relative to that folder, such as "roses/train.csv". The code can do without an
    `optional` one: it is one of several in a list, or below a `try` or a test for a path; in a
    command, below any condition, or in a function.
    """

    path: str
    line: int
    optional: bool


class WrittenFile(NamedTuple):
    """A file that a cell writes with `%%writefile` or `%%file`: its path and its text."""

    path: str
    text: str


class Statement(NamedTuple):
    """A statement at the top of a source: the names that it reads, and those it certainly sets.

    What a function reads is among `reads` and among `reads_in_functions`. Names in shell lines,
    magics and f-strings count as read.
    """

    line: int
    reads: frozenset[str]
    reads_in_functions: frozenset[str]
    sets: frozenset[str]


@dataclass
class Reading:
    """What a cell or a module does, as far as its text says it; made by `reading.read`.

    It is kept for others who read the same source, so nobody else may change it.

    problem         why it is not Python, or cannot be read here; None if it can
    imports         what it imports by name
    loads_by_name   whether it imports something by a name that is no literal
    starts          modules and files that it starts
    folders         what it adds to `sys.path`; None is any expression but a literal, and what
                    `__file__`, `abspath` and `cwd` make of one
    names           what its imports bind: {"pd": "pandas", "norm": "numpy.linalg.norm"}
    bound           the names that it sets, each with its literal, or `NOT_LITERAL` if it is set
                    to something else or several times
    calls           its calls, by their names as they are written
    commands        commands of a shell, magics, and processes that it starts
    magics          the magics that it calls, as "%time" or "%%bash"
    environment     variables of the environment that it sets
    inputs          paths below /kaggle/input that it names
    writes          the file that the cell writes, and no Python, if it is of `%%writefile`
    statements      the names that each of its statements reads and sets, in order
    texts           its literals that are texts, but for docstrings
    """

    problem: Problem | None = None
    imports: list[Import] = field(default_factory=list)
    loads_by_name: bool = False
    starts: list[Start] = field(default_factory=list)
    folders: list[Place | None] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    bound: dict[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    magics: list[str] = field(default_factory=list)
    environment: list[Variable] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    writes: list[WrittenFile] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
