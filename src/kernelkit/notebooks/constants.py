"""Constants in a project's modules, read from the source without importing it.

A parameter's comment may name a constant that contains the parameter's valid values. So a misspelt
value is found locally, without the libraries that the module imports.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.project import Project


def members(project: Project, name: str) -> tuple[Any, ...] | None:
    """The elements of a tuple, list or set, or the keys of a dict, called `package.module.NAME`.

    They must be literals, except for the values of a dict. None if the notebook is in no project,
    as in a session, where the values are already checked. Raises `NotebookError` if the project has
    no such constant.
    """
    if not project.packages:
        return None
    package, *path, constant = name.split(".")
    if package not in project.packages:
        raise NotebookError(
            f"{name}: {package} is not among the packages of [tool.kernelkit], "
            f"{', '.join(project.packages)}"
        )
    file = _file(project.package_folder(package), path)
    if file is None:
        raise NotebookError(f"{name}: there is no module {'.'.join([package, *path])}")
    expression = _assigned(file, constant)
    if expression is None:
        raise NotebookError(f"{name}: {project.name(file)} does not assign {constant}")
    return _literals(expression, name, project.name(file))


def _file(folder: Path, path: list[str]) -> Path | None:
    place = folder.joinpath(*path)
    candidates = [place / "__init__.py", *([place.with_suffix(".py")] if path else [])]
    return next((file for file in candidates if file.is_file()), None)


def _assigned(file: Path, constant: str) -> ast.expr | None:
    """The expression in the module's last assignment to this name."""
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except SyntaxError as error:
        raise NotebookError(f"{file}, line {error.lineno}: {error.msg}") from None
    for statement in reversed(body):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name == constant:
                return value
    return None


def _literals(expression: ast.expr, name: str, file: str) -> tuple[Any, ...]:
    match expression:
        case ast.Tuple(elts=value) | ast.List(elts=value) | ast.Set(elts=value):
            members = list(value)
        case ast.Dict(keys=keys) if None not in keys:
            members = [key for key in keys if key is not None]
        case _:
            raise NotebookError(f"{name} in {file} is not a literal tuple, list, set or dict")
    try:
        return tuple(ast.literal_eval(member) for member in members)
    except ValueError:
        raise NotebookError(f"{name} in {file} contains more than plain literals") from None
