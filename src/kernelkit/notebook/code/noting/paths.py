"""The path that an expression gives, by which code says where its own modules lie."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kernelkit.notebook.code.records import Place

# Functions and methods that return the path that they get.
SAME = {"Path", "PurePath", "str", "fspath", "as_posix"}
SAME |= {"abspath", "absolute", "normpath", "realpath", "resolve"}


def place_of(node: ast.AST, known: Mapping[str, Place]) -> Place | None:
    """The path that an expression gives.

    None unless it is made only of literals, `__file__`, the current folder and names whose path is
    `known`.
    """
    match node:
        case ast.Constant(str(text)):
            return Place(False, text)
        case ast.Name("__file__"):
            return Place(True, "__file__")
        case ast.Name(name):
            return known.get(name)
        case ast.Call(ast.Attribute(_, "getcwd" | "cwd")):
            return Place(False, ".")
        case ast.BinOp(left, ast.Div(), right):
            return _joined([left, right], known)
        case ast.Call(ast.Attribute(_, "join"), [_, *_] as parts):
            return _joined(parts, known)
        case ast.Attribute(path, "parent") | ast.Call(ast.Attribute(_, "dirname"), [path]):
            place = place_of(path, known)
            return place and place.above(1)
        case ast.Subscript(ast.Attribute(path, "parents"), ast.Constant(int(number))):
            place = place_of(path, known)
            return place and place.above(number + 1)
        case ast.Call(ast.Name(name) | ast.Attribute(_, name), [path]) if name in SAME:
            return place_of(path, known)
        case ast.Call(ast.Attribute(path, name), []) if name in SAME:
            return place_of(path, known)
    return None


def _joined(parts: Sequence[ast.expr], known: Mapping[str, Place]) -> Place | None:
    places = [place_of(part, known) for part in parts]
    first, *others = places
    if first is None:
        return None
    paths = []
    for place in others:
        if place is None or place.by_file:
            return None
        paths.append(place.path)
    return first.below(*paths)
