"""Read what a cell or a module does, without running it: `read` gives one `Reading`.

Every command asks this one value of people's code; only the parameters cell is also read by
`interface.parameters`, for its comments. Several sources that run one after another in the same
process, such as the cells of a notebook, are a `Program`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kernelkit.notebook.code.noting import visitor
from kernelkit.notebook.code.records import NOT_LITERAL, Call, Input, Name, Reading
from kernelkit.notebook.language import python

KEPT = 2048  # readings of sources that several commands and kernels ask for


@functools.lru_cache(maxsize=KEPT)
def read(source: str, *, cell: bool) -> Reading:
    """What a module does, or a notebook's `cell`, which may hold magics and shell lines."""
    tree, problem = python.tree(source, cell=cell)
    try:
        reading = visitor.visited(tree)
        return replace(reading, problem=problem) if problem else reading
    except RecursionError:  # Python compiles it, but the visitor's functions do not get so deep
        return Reading(python.TOO_DEEP)


@dataclass(frozen=True)
class Program:
    """Sources that run one after another and share their names, each with its place.

    That is the cells of a notebook, or a single script or module.
    """

    sources: tuple[tuple[str, Reading], ...]

    @classmethod
    def of(cls, sources: Iterable[tuple[str, str]], *, cells: bool) -> Program:
        """The program of these (place, source) pairs."""
        return cls(tuple((place, read(source, cell=cells)) for place, source in sources))

    @cached_property
    def written(self) -> tuple[Program, ...]:
        """The Python files that its cells write, each a program whose lines are those of its cell.

        Without those that are no Python: nothing says that they are run.
        """
        programs = []
        for place, reading in self.sources:
            for file in reading.writes:
                if not file.path.endswith(".py"):
                    continue
                below_the_magic = f"\n{file.text}"
                program = Program.of([(place, below_the_magic)], cells=False)
                if not program.sources[0][1].problem:
                    programs.append(program)
        return tuple(programs)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What its imports bind, in whatever source they stand."""
        names: dict[str, str] = {}
        for _, reading in self.sources:
            names.update(reading.names)
        return names

    @cached_property
    def imported(self) -> frozenset[str]:
        """The top-level names of what it imports, also where it can do without."""
        tops = {each.top for _, reading in self.sources for each in reading.imports}
        return frozenset(filter(None, tops))

    @cached_property
    def needed(self) -> dict[str, str]:
        """What it cannot do without: {"numpy": "train.ipynb[cell 2], line 1"}, each module once."""
        needed: dict[str, str] = {}
        for place, reading in self.sources:
            for each in sorted(reading.imports, key=lambda each: each.line):
                if each.top and not each.optional:
                    needed.setdefault(each.top, f"{place}, line {each.line}")
        return needed

    @cached_property
    def calls(self) -> tuple[tuple[str, Call], ...]:
        """Its calls, each with its place, by their full names: "pandas.read_csv".

        An argument that is a name has the literal to which the program sets it, if it does so once.
        """
        found = []
        for place, reading in self.sources:
            for call in reading.calls:
                arguments = tuple(map(self._known, call.arguments))
                keywords = {key: self._known(value) for key, value in call.keywords.items()}
                name = self._full(call.name)
                known = call._replace(name=name, arguments=arguments, keywords=keywords)
                found.append((place, known))
        return tuple(found)

    def _full(self, name: str) -> str:
        """A dotted name by what the imports bind; the first part may be a call, as `Path()`."""
        first = name.partition(".")[0].removesuffix("()")
        return f"{self.names.get(first, first)}{name[len(first) :]}"

    def _known(self, argument: Any) -> Any:
        if isinstance(argument, Name):
            return self._literals.get(argument.name, NOT_LITERAL)
        return argument

    @cached_property
    def _literals(self) -> Mapping[str, Any]:
        """The names that it sets, each with its literal if it is set once, to one."""
        literals: dict[str, Any] = {}
        for _, reading in self.sources:
            for name, value in reading.bound.items():
                literals[name] = NOT_LITERAL if name in literals else value
        return literals

    @cached_property
    def exits(self) -> tuple[tuple[str, str], ...]:
        """The calls that seem to end a notebook, each with its place: "exit" and "quit".

        Cells after one still run, until the process stops in one of them, which fails the run.
        """
        called = [(place, call.name) for place, call in self.calls]
        return tuple(each for each in called if each[1] in ("exit", "quit"))

    @cached_property
    def inputs(self) -> tuple[tuple[str, Input], ...]:
        """The inputs that it names, each with its place.

        A name in braces has the literal to which the program sets it, if it does so once.
        """
        found = []
        for place, reading in self.sources:
            for each in reading.inputs:
                path = re.sub(r"\{(\w+)\}", self._filled, each.path)
                is_known = "{" not in path.partition("/")[0]  # which input it is
                if is_known:
                    found.append((place, each._replace(path=path)))
        return tuple(found)

    def _filled(self, braces: re.Match[str]) -> str:
        value = self._literals.get(braces[1])
        return value if isinstance(value, str) else braces[0]
