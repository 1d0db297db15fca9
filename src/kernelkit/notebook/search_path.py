"""Where Python looks for a notebook's modules at home: what its code adds to `sys.path`.

The code is not run. Paths are worked out from literals, `__file__`, the current folder and the
usual functions of `os.path` and `pathlib`; an expression that holds anything else has no value.
"""

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kernelkit.notebook import syntax

_SAME = frozenset(
    ("Path", "PurePath", "PosixPath", "as_posix", "expanduser", "expandvars", "fspath", "str")
)
_RESOLVED = frozenset(("abspath", "absolute", "normpath", "realpath", "resolve"))
_CHOSEN = frozenset(("list", "next", "reversed", "sorted", "tuple"))
NAMING = ("sys.path", "import path", "sys as ", "addsitedir")  # what code that adds a folder has
MOST = 40  # values of one expression; more are not looked at


class Added(NamedTuple):
    """A folder that code adds to `sys.path`, and whether it comes before what is there."""

    folder: Path
    first: bool


@dataclass
class Additions:
    """What a source adds to `sys.path`: folders, and whether there is one that is not known here.

    `elsewhere` is true for an expression without a value, and for a folder of a session, such as
    one below /kaggle.
    """

    folders: list[Added] = field(default_factory=list)
    elsewhere: bool = False


def may_add(source: str) -> bool:
    """Whether a source may add something to `sys.path`, so that it is worth a look."""
    return "chdir" in source or any(word in source for word in NAMING)


def additions(tree: ast.AST, here: Path, file: Path | None, top: Path) -> Additions:
    """What the code of `tree` adds to `sys.path`.

    `here` is the folder that the code runs in, `file` its own file (None for a cell), and `top`
    the folder above which nothing is looked for.
    """
    paths = _Paths(here, file, top)
    for node in syntax.nodes(tree):
        paths.learn(node)
    found = Additions()
    is_path = _search_path(tree)
    for node in syntax.nodes(tree, ast.Call, ast.AugAssign, ast.Assign):
        for expression, first in _added(node, is_path):
            values = paths.values(expression)
            folders = [Path(os.path.normpath(here / value)) for value in values]
            found.folders += [Added(folder, first) for folder in folders if folder.is_dir()]
            found.elsewhere |= not values or any(map(_is_kaggles, values))
    return found


def _added(node: ast.AST, is_path: Callable[[ast.expr], bool]) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions whose values a statement adds to `sys.path`, which `is_path` knows."""
    match node:
        case ast.Call(ast.Attribute(owner, "append"), [value]) if is_path(owner):
            yield value, False
        case ast.Call(ast.Attribute(owner, "insert"), [position, value]) if is_path(owner):
            yield value, isinstance(position, ast.Constant) and position.value == 0
        case ast.Call(ast.Attribute(owner, "extend"), [values]) if is_path(owner):
            yield from ((value, False) for value in _elements(values))
        case ast.AugAssign(target, ast.Add(), values) if is_path(target):
            yield from ((value, False) for value in _elements(values))
        case ast.Assign([target], ast.BinOp(left, ast.Add(), right)) if is_path(target):
            yield from ((value, True) for value in _elements(left) if not is_path(left))
            yield from ((value, False) for value in _elements(right) if not is_path(right))
        case ast.Assign([ast.Subscript(target)], values) if is_path(target):
            yield from ((value, True) for value in _elements(values))
        case ast.Call(ast.Attribute(_, "addsitedir") | ast.Name("addsitedir"), [value, *_]):
            yield value, False
        case ast.Call(ast.Attribute(ast.Name("os"), "chdir"), [value]):
            yield value, True


def _search_path(tree: ast.AST) -> Callable[[ast.expr], bool]:
    """Tells whether an expression of this code is `sys.path`, under whatever name."""
    modules = {"sys"}
    own = set[str]()
    for node in syntax.nodes(tree, ast.Import, ast.ImportFrom):
        for alias in node.names:
            if isinstance(node, ast.Import) and alias.name == "sys":
                modules.add(alias.asname or "sys")
            elif isinstance(node, ast.ImportFrom) and (node.module, alias.name) == ("sys", "path"):
                own.add(alias.asname or "path")

    def is_path(node: ast.expr) -> bool:
        match node:
            case ast.Attribute(ast.Name(name), "path"):
                return name in modules
            case ast.Name(name):
                return name in own
        return False

    return is_path


def _is_kaggles(path: str) -> bool:
    return path.startswith(("/kaggle", "../input"))


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]


class _Paths:
    """The paths that expressions of one source may have, by what it assigns to names."""

    def __init__(self, here: Path, file: Path | None, top: Path) -> None:
        self.here = here
        self.top = top
        self.names: dict[str, list[str]] = {}
        if file:
            self.names["__file__"] = [str(file)]

    def learn(self, node: ast.AST) -> None:
        """Remember what a statement or a loop assigns to a name."""
        match node:
            case ast.Assign([ast.Name(name)], ast.Attribute(ast.Name(again), "parent")) if (
                name == again
            ):  # a search upwards, in a loop
                self._remember(name, self._above(self.names.get(name, [])))
            case (
                ast.Assign([ast.Name(name)], value)
                | ast.AnnAssign(ast.Name(name), _, ast.expr() as value)
                | ast.For(ast.Name(name), value)
                | ast.comprehension(ast.Name(name), value)
            ):
                self._remember(name, self.values(value))

    def _remember(self, name: str, values: list[str]) -> None:
        known = self.names.setdefault(name, [])
        known += [value for value in values if value not in known]

    def values(self, node: ast.expr) -> list[str]:
        """The paths that an expression may have; none if it is not known."""
        return list(dict.fromkeys(self._values(node)))[:MOST]

    def _values(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Constant(str(text)):
                yield text
            case ast.Name(name):
                yield from self.names.get(name, [])
            case ast.JoinedStr(parts):
                yield from self._joined(parts, "")
            case ast.FormattedValue(value) | ast.Starred(value) | ast.NamedExpr(_, value):
                yield from self._values(value)
            case ast.BinOp(left, ast.Div(), right):
                yield from self._joined([left, right], os.sep)
            case ast.BinOp(left, ast.Add(), right):
                yield from self._joined([left, right], "")
            case ast.IfExp(_, first, second):
                yield from self._values(first)
                yield from self._values(second)
            case ast.BoolOp(values=parts) | ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
                for part in parts:
                    yield from self._values(part)
            case ast.ListComp(element, loops) | ast.GeneratorExp(element, loops):
                for loop in loops:
                    self.learn(loop)
                yield from self._values(element)
            case ast.Attribute(value, "parent"):
                yield from map(os.path.dirname, self._values(value))
            case ast.Attribute(value, "parents"):
                yield from self._above(list(self._values(value)))
            case ast.Subscript(ast.Attribute(value, "parents"), ast.Constant(int(steps))):
                for path in self._values(value):
                    above = [str(parent) for parent in Path(path).parents]
                    yield from above[steps : steps + 1]
            case ast.Call():
                yield from self._called(node)

    def _called(self, node: ast.Call) -> Iterator[str]:
        name = ""
        owner = None
        if isinstance(node.func, ast.Attribute):
            name, owner = node.func.attr, node.func.value
        elif isinstance(node.func, ast.Name):
            name = node.func.id
        # A function takes the path as its argument, a method is the path's own.
        arguments: list[ast.expr] = list(node.args)
        if name in ("getcwd", "cwd"):
            yield str(self.here)
        elif name in ("join", "Path", "PurePath") and arguments:
            yield from self._joined(arguments, os.sep)
        elif name == "joinpath" and owner:
            yield from self._joined([owner, *arguments], os.sep)
        elif name == "dirname" and arguments:
            yield from map(os.path.dirname, self._values(arguments[0]))
        elif name in _RESOLVED:
            value = arguments[0] if arguments else owner
            paths = self._values(value) if value else iter(())
            yield from (os.path.normpath(self.here / path) for path in paths)
        elif name in _SAME | _CHOSEN:
            value = arguments[0] if arguments else owner
            yield from self._values(value) if value else iter(())

    def _joined(self, parts: list[ast.expr], between: str) -> Iterator[str]:
        joined = [""]
        for number, part in enumerate(parts):
            values = self.values(part)
            if between and number:
                joined = [str(Path(a, b)) for a in joined for b in values]
            else:
                joined = [f"{a}{b}" for a in joined for b in values]
        yield from joined[:MOST]

    def _above(self, paths: list[str]) -> list[str]:
        """The folders above these paths, up to the repository's."""
        above: list[str] = []
        for path in paths:
            whole = Path(os.path.normpath(self.here / path))
            parents = [parent for parent in whole.parents if parent.is_relative_to(self.top)]
            above += map(str, parents)
        return [*paths, *above]
