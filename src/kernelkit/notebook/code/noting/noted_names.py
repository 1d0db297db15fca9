"""Which names code reads and sets, and what it imports."""

import ast

from kernelkit.notebook.code.noting.expressions import dotted, value_of
from kernelkit.notebook.code.noting.noting_context import ALL_NAMES, Context
from kernelkit.notebook.code.records import ANYTHING, NOT_LITERAL, Import


def name(context: Context, node: ast.Name) -> None:
    """Note a name that is read or set."""
    if isinstance(node.ctx, ast.Load):
        context.read(node.id)
        return
    value = NOT_LITERAL
    holder = context.holder
    if isinstance(holder, ast.Assign | ast.AnnAssign) and holder.value:
        value = value_of(holder.value)
    bound = context.found.bound
    bound[node.id] = NOT_LITERAL if node.id in bound else value


def attribute(context: Context, node: ast.Attribute) -> None:
    """Note an attribute by which code may read any name."""
    if node.attr in ALL_NAMES or dotted(node) == "sys.modules":
        context.read(ANYTHING)


def augmented(context: Context, node: ast.AugAssign) -> None:
    """Note that `name += 1` reads the name, too."""
    if isinstance(node.target, ast.Name):
        context.read(node.target.id)


def import_statement(context: Context, node: ast.Import) -> None:
    """Note the modules of an `import`, and the names that it binds."""
    for alias in node.names:
        module(context, node, alias.name)
        first = alias.name.partition(".")[0]
        context.found.names[alias.asname or first] = alias.name if alias.asname else first


def import_from(context: Context, node: ast.ImportFrom) -> None:
    """Note what a `from … import` may take for modules, and the names that it binds."""
    dots = "." * node.level
    for alias in node.names:
        whole = f"{node.module}.{alias.name}" if node.module else alias.name
        module(context, node, whole, node.level)
        context.found.names[alias.asname or alias.name] = f"{dots}{whole}"


def module(context: Context, node: ast.stmt | ast.expr, whole: str, level: int = 0) -> None:
    """Note that a node imports a module by its whole name."""
    top = "" if level else whole.partition(".")[0]
    if top == "__main__":
        context.read(ANYTHING)
    optional = any(isinstance(each, ast.Try | ast.TryStar) for each in context.above)
    context.found.imports.append(Import(whole, top, node.lineno, optional, level))
