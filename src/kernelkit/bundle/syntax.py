"""What of a push is not Python, found without running it."""

from __future__ import annotations

import ast
import sys
import warnings

KAGGLE = (3, 12)  # the Python of Kaggle's images


def broken(name: str, source: str) -> str:
    """What is wrong with a module's source, with `name` and the line; empty where it is Python."""
    return _broken(name, source, 0)


def broken_cell(name: str, source: str) -> str:
    """The same of a notebook's cell, which may await, call magics and run shell lines."""
    message = _broken(name, source, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not message:
        return ""
    # Takes a third of a second to import, and most cells are plain Python.
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        transformed = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    except SyntaxError:
        return message
    # IPython takes away leading empty lines and keeps all others, so that lines agree.
    taken = len(source) - len(source.lstrip("\n"))
    return _broken(name, "\n" * taken + transformed, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _broken(name: str, source: str, flags: int) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape is no error
            compile(source, name, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()
        message = f"{name}, line {error.lineno}: {error.msg}" + (f": {line[:80]}" if line else "")
    except (ValueError, RecursionError, MemoryError) as error:
        message = f"{name}: {error}"
    else:
        return ""
    if sys.version_info < KAGGLE:
        message += (
            f" (read by Python {sys.version_info.major}.{sys.version_info.minor}; Kaggle's is "
            f"{KAGGLE[0]}.{KAGGLE[1]})"
        )
    return message
