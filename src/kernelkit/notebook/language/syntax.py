"""Syntax trees of Python source, also while another thread makes one."""

from __future__ import annotations

import ast
from typing import Literal, overload

# What parsing or compiling a source raises that is not Python: a ValueError for null characters,
# the last two for what is nested too deeply.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
# What `ast.literal_eval` raises for what is no literal: a TypeError for a list as a key.
NO_LITERAL = (*UNREADABLE, TypeError)

_ATTEMPTS = 5


@overload
def parse(source: str, mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parse(source: str, mode: Literal["eval"]) -> ast.Expression: ...
def parse(source: str, mode: str = "exec") -> ast.AST:
    """The syntax tree of a source, as `ast.parse` returns and raises it.

    Python 3.11 counts the depth of the trees that it builds once for all threads
    (python/cpython#106905). If another thread builds one at the same time, as the page of a sweep
    does when it reads NumPy's files, valid source may end in a `SystemError`. It is parsed again.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return ast.parse(source, mode=mode)
        except SystemError:
            continue
    return ast.parse(source, mode=mode)
