"""Constants of a project's modules, read from their source and never imported.

A parameter's comment may name one, and what the constant holds are the values that the parameter
takes: the desk finds a misspelt value without the libraries that the module imports.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.project import Project


def members(project: Project, name: str) -> tuple[Any, ...] | None:
    """The elements of a tuple, list or set, or the keys of a dict, called `package.module.NAME`.

    They must be literals; the values of a dict need not be. None where the notebook is in no
    project, as in a session: there the desk has looked already. Raises `NotebookError` where the
    project has no such constant.
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
        raise NotebookError(f"{name}: {project.name(file)} assigns no {constant}")
    return _literals(expression, name, project.name(file))


def _file(folder: Path, path: list[str]) -> Path | None:
    place = folder.joinpath(*path)
    candidates = [place / "__init__.py", *([place.with_suffix(".py")] if path else [])]
    return next((file for file in candidates if file.is_file()), None)


def _assigned(file: Path, constant: str) -> ast.expr | None:
    """What the module's last line that assigns this name gives it."""
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
            raise NotebookError(
                f"{name} in {file} is no tuple, list, set or dict that is written out"
            )
    try:
        return tuple(ast.literal_eval(member) for member in members)
    except ValueError:
        raise NotebookError(f"{name} in {file} holds more than plain literals") from None
