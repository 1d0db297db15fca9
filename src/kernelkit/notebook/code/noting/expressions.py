"""What a single statement or expression says by itself, as far as its literals and names tell."""

import ast
from collections.abc import Collection, Iterator
from typing import Any

from kernelkit.notebook.code.records import NOT_LITERAL, Name
from kernelkit.notebook.language import syntax


def names_certainly_set_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value whenever it runs.

    What a `with` holds is none of them, since `contextlib.suppress` ends it early.
    """
    targets: list[ast.expr] = []
    match statement:
        case ast.Assign(assigned):
            targets += assigned
        case ast.AnnAssign(annotated, _, ast.expr()):
            targets.append(annotated)
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.Import(names) | ast.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name.partition(".")[0]
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def dotted(node: ast.AST) -> str:
    """The dotted name of an expression, such as "a.b().c"; empty if it has none.

    It has `()` after what is called, and begins with `?` if what it belongs to has no name.
    """
    parts: list[str] = []  # from the last
    while True:  # and no function that calls itself: hundreds of calls may be joined in one line
        match node:
            case ast.Attribute(owner, name):
                parts.append(f".{name}")
                node = owner
            case ast.Call(function):
                parts.append("()")
                node = function
            case _:
                break
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif parts:
        parts.append("?")
    return "".join(reversed(parts))


def value_of(node: ast.AST) -> Any:
    """The value of a literal; `NOT_LITERAL` of any other expression."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Subscript(ast.Constant(str(text)), ast.Slice(ast.Constant(1), None)):
            return text[1:]  # as `document.literal` writes a text
        case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.UnaryOp():
            try:
                return ast.literal_eval(node)
            except syntax.NO_LITERAL:
                return NOT_LITERAL
    return NOT_LITERAL


def argument_of(node: ast.AST, parameters: Collection[str]) -> Any:
    """The value of a literal, or a `Name`; `NOT_LITERAL` of any other expression.

    `parameters`: those of the functions around it, each of which has many values.
    """
    if isinstance(node, ast.Name):
        return NOT_LITERAL if node.id in parameters else Name(node.id)
    return value_of(node)


def text_of(node: ast.AST) -> str:
    """The text of a literal, with `{}` for what an f-string puts into it; empty for no text."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(text_of(each) or "{}" for each in values)
    return ""


def text_with_names(node: ast.JoinedStr, parameters: Collection[str]) -> str:
    """The text of an f-string, with `{name}` for a name in it and `{}` for all else.

    `parameters`: those of the functions around it, each of which has many values.
    """
    parts = []
    for each in node.values:
        match each:
            case ast.FormattedValue(ast.Name(name), conversion=-1, format_spec=None) if (
                name not in parameters
            ):
                parts.append(f"{{{name}}}")
            case _:
                parts.append(text_of(each) or "{}")
    return "".join(parts)


def names_below(node: ast.AST) -> set[str]:
    """The names and attributes below a node."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute):
            found.add(each.attr)
    return found
