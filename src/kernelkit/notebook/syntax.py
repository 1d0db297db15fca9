"""Syntax trees of Python source, also while another thread makes one."""

import ast
import functools
from collections.abc import Iterable
from typing import Any, Literal, overload

_ATTEMPTS = 5
_NO_NODES = frozenset(("ctx", "id", "attr", "kind", "type_comment"))  # fields


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
    walked: _Walked | None = tree.__dict__.get("_walked")
    if walked is None:
        walked = tree.__dict__["_walked"] = _Walked(tree)
    return walked.of(kinds) if kinds else walked.nodes


class _Walked:
    """The nodes of a tree in the order of `ast.walk`, and the positions of each kind's."""

    def __init__(self, tree: ast.AST) -> None:
        self.nodes = _walk(tree)
        self.positions: dict[type[ast.AST], list[int]] = {}
        for position, node in enumerate(self.nodes):
            self.positions.setdefault(type(node), []).append(position)

    def of(self, kinds: Iterable[type[ast.AST]]) -> list[ast.AST]:
        """The nodes of these kinds."""
        positions: list[int] = []
        for kind in kinds:
            positions += self.positions.get(kind, ())
        return [self.nodes[position] for position in sorted(positions)]


def _walk(tree: ast.AST) -> list[ast.AST]:
    """What `ast.walk` gives, without its generators, which take most of its time.

    Contexts are left out: whether a name is read or assigned.
    """
    found = [tree]
    for node in found:  # it grows
        for field in node._fields:
            value = None if field in _NO_NODES else getattr(node, field, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
    return found
