"""What the statements of a source assign, one by one."""

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Assigned(NamedTuple):
    """What a statement assigns.

    names  the names that it gives a value, also those that it only sets in some cases
    value  the expression, if the statement assigns it to one name, which is the first of them
    """

    statement: ast.stmt
    names: tuple[str, ...]
    value: ast.expr | None


def assigned(tree: ast.Module) -> list[Assigned]:
    """What each statement of a tree assigns, in order."""
    return [
        Assigned(statement, tuple(_names_set_by(statement)), _assigned_by(statement))
        for statement in tree.body
    ]


def _assigned_by(statement: ast.stmt) -> ast.expr | None:
    """The expression that a statement assigns to one name; None of any other statement."""
    match statement:
        case ast.Assign([ast.Name()], value) | ast.AnnAssign(ast.Name(), value=value):
            return value
    return None


# Nodes whose names are no names of the code around them.
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _names_set_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value, also those that it only sets in some cases.

    What the functions, classes and comprehensions in it set are other names.
    """
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        match node:
            case ast.Name(name, ast.Store()):
                yield name
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.alias(name, asname):
                yield asname or name.partition(".")[0]
        if not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS)):
            waiting += ast.iter_child_nodes(node)
