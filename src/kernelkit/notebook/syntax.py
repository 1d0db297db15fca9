"""Syntax trees of Python source, also while another thread makes one."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, overload

_ATTEMPTS = 5
# Fields that hold no node, or one that nobody asks for: contexts, and operators.
_NO_NODES = frozenset(("ctx", "op", "ops", "id", "attr", "arg", "module", "level", "asname"))
_NO_NODES |= {"kind", "type_comment", "conversion", "is_async", "simple"}
_LEAVES = frozenset((ast.Name, ast.Constant, ast.alias))  # most nodes, which hold no others


@overload
def parse(source: str, place: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parse(source: str, place: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def parse(source: str, place: str = "<unknown>", mode: str = "exec") -> ast.AST:
    """The syntax tree of a source, as `ast.parse` returns and raises it.

    Python 3.11 counts the depth of the trees that it builds once for all threads
    (python/cpython#106905). If another thread builds one at the same time, as the page of a sweep
    does when it reads NumPy's files, a right source may end in a `SystemError`. It is parsed again.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return ast.parse(source, place, mode)
        except SystemError:
            continue
    return ast.parse(source, place, mode)


@functools.lru_cache(maxsize=512)
def kept(source: str) -> ast.Module:
    """The same tree for everybody who asks for a source's, so nobody may change it."""
    return parse(source)


def nodes(tree: ast.AST, *kinds: type[ast.AST]) -> list[Any]:
    """The nodes of a tree as `ast.walk` gives them, or only those of these very kinds.

    They are kept with the tree, since the checks of a push go through each a dozen times.
    """
    walked = _walked(tree)
    return walked.of(kinds) if kinds else walked.nodes


def holding(tree: ast.AST, kind: type[ast.AST], is_wanted: Callable[[Any], bool]) -> set[ast.AST]:
    """The nodes of a tree that are a wanted node of this kind, or have one below them."""
    walked = _walked(tree)
    found: set[int] = set()
    for position in walked.positions[kind]:
        if is_wanted(walked.nodes[position]):
            while position not in found:
                found.add(position)
                position = walked.parents[position]
    return {walked.nodes[position] for position in found}


def placed(
    tree: ast.AST, is_wanted: Callable[[Any], object], *kinds: type[ast.AST]
) -> Iterator[tuple[Any, list[ast.AST]]]:
    """The wanted nodes of these kinds, each with the nodes above it, the nearest first."""
    walked = _walked(tree)
    for position in walked.positions_of(kinds):
        node = walked.nodes[position]
        if is_wanted(node):
            yield node, walked.above(position)


def _walked(tree: ast.AST) -> _Walked:
    walked: _Walked | None = tree.__dict__.get("_walked")
    if walked is None:
        walked = tree.__dict__["_walked"] = _Walked(tree)
    return walked


class _Walked:
    """The nodes of a tree in the order of `ast.walk`, and the positions of each kind's.

    `parents` has the position of the node above each; the tree is its own parent. Contexts and
    operators are left out. `ast.walk` takes longer, most of it for its generators.
    """

    def __init__(self, tree: ast.AST) -> None:
        self.nodes = [tree]
        self.parents = [0]
        self.positions: defaultdict[type[ast.AST], list[int]] = defaultdict(list)
        nodes = self.nodes
        parents = self.parents
        for position, node in enumerate(nodes):  # it grows
            self.positions[node.__class__].append(position)
            if node.__class__ in _LEAVES:
                continue
            for field in node._fields:
                value = None if field in _NO_NODES else getattr(node, field, None)
                if value.__class__ is list:
                    nodes += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST):
                    nodes.append(value)
            parents += [position] * (len(nodes) - len(parents))

    def of(self, kinds: Iterable[type[ast.AST]]) -> list[ast.AST]:
        """The nodes of these kinds."""
        return [self.nodes[position] for position in self.positions_of(kinds)]

    def positions_of(self, kinds: Iterable[type[ast.AST]]) -> list[int]:
        """The positions of the nodes of these kinds, in order."""
        positions: list[int] = []
        for kind in kinds:
            positions += self.positions.get(kind, ())
        return sorted(positions)

    def above(self, position: int) -> list[ast.AST]:
        """The nodes above the one at a position, the nearest first."""
        above = []
        while position:
            position = self.parents[position]
            above.append(self.nodes[position])
        return above
