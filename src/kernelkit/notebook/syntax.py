"""Syntax trees of Python source, also while another thread makes one."""

import ast
import functools
from typing import Any, Literal, overload

_ATTEMPTS = 5


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
    """The nodes of a tree as `ast.walk` gives them, or only those of these kinds.

    They are kept with the tree, since the checks of a push go through each a dozen times.
    """
    kept: dict[tuple[type[ast.AST], ...], list[ast.AST]] = tree.__dict__.setdefault("_kept", {})
    if () not in kept:
        kept[()] = _walked(tree)
    if kinds not in kept:
        kept[kinds] = [node for node in kept[()] if isinstance(node, kinds)]
    return kept[kinds]


def _walked(tree: ast.AST) -> list[ast.AST]:
    """What `ast.walk` gives, without its generators, which take most of its time."""
    found = [tree]
    for node in found:  # it grows
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
    return found
