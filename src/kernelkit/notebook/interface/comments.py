"""The rule in a parameter's comment, which every value must obey.

The part of a comment before its first `: ` may be

- a range: `[a, b]`, `[a, b)`, `> a`, `>= a` and the like;
- choices, `a | b`, where `N`, alone or after a colon, stands for a whole number from 1 on. FILE
  or PATH, and any other word in capitals after a colon (`block:NAME`), stand for any text;
- a constant that holds the choices, `in package.module.NAME`, with `| a` for additional ones: a
  literal tuple, list, set or dict in one of the project's packages, whose source is read without
  importing it.

Words between `|` are choices only if the default is one of them; otherwise they are types or prose.
"""

import ast
import math
import operator
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kernelkit.errors import NotebookError
from kernelkit.notebook.language import statements, syntax
from kernelkit.project import Project

NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf)"
_INTERVAL = re.compile(rf"([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])")
_BOUND = re.compile(rf"(>=?|<=?)\s*({NUMBER})")
_CONSTANT = re.compile(r"in\s+(\w+(?:\.\w+)+)")
_CHOICES = re.compile(r"\S+(?: \| \S+)+")
_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_ANY_TEXT = ("FILE", "PATH")


def rule_in(comment: str, default: Any) -> str:
    """The range or the choices at the beginning of a comment; empty if it declares none."""
    rule = re.split(r":\s", comment + " ", maxsplit=1)[0].strip()
    if constant_in(rule) or _bounds(rule):
        return rule
    if default is None or not _CHOICES.fullmatch(rule):
        return ""
    return rule if _is_one_of(_words(rule), default) else ""


def constant_in(rule: str) -> str:
    """The constant that a rule names, as `package.module.NAME`; empty if it names none."""
    named = _CONSTANT.fullmatch(rule.partition(" | ")[0])
    return named[1] if named else ""


def members_of(constant: str, project: Project | None) -> tuple[Any, ...] | None:
    """The elements of a tuple, list or set, or the keys of a dict, called `package.module.NAME`.

    They are read from the source, without importing it or the libraries that it imports. None
    outside any project, as in a session, where the values are already checked; empty in a project
    without packages, where only the choices beside the constant can be checked.

    Raises `NotebookError` unless one of the project's packages assigns the name such a literal, and
    `PreflightError` for a package that has no folder.
    """
    if project is None:
        return None
    if not project.packages:
        return () if project.is_configured else None
    package, *path, name = constant.split(".")
    if package not in project.packages:
        raise NotebookError(
            f"{constant}: {package} is not one of packages in [tool.kernelkit], which has "
            f"{', '.join(project.packages)}"
        )
    file = _file_of(project.package_folder(package).joinpath(*path))
    if file is None:
        raise NotebookError(f"{constant}: there is no module {'.'.join([package, *path])}")
    members = _elements(file, name)
    if not members:
        raise NotebookError(
            f"{constant}: {project.name(file)} must assign {name} a tuple, list, set or dict of "
            "plain literals"
        )
    return members


def _file_of(place: Path) -> Path | None:
    """The file of the package or the module at a path without an ending."""
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _elements(file: Path, name: str) -> tuple[Any, ...]:
    """The elements of the literal that a module assigns a name last; none without one."""
    try:
        tree = syntax.parse(file.read_text("utf-8-sig"))
        assigned = statements.assigned(tree)
        values = [each.value for each in assigned if each.value and each.names[0] == name]
        match values:
            case [*_, ast.Dict(keys=elements)]:
                # A key of `{**others}` is None, which is no literal.
                return tuple(ast.literal_eval(each or ast.Name("")) for each in elements)
            case [*_, ast.Tuple(elements) | ast.List(elements) | ast.Set(elements)]:
                return tuple(map(ast.literal_eval, elements))
    except syntax.NO_LITERAL:
        pass
    return ()


def ends_of(rule: str) -> tuple[float, float]:
    """The ends of a range, or the least and the greatest of choices that are all numbers; infinite
    where the rule sets none."""
    words = _words(rule)
    if all(re.fullmatch(NUMBER, word) for word in words):
        numbers = [float(word) for word in words]
        return min(numbers), max(numbers)
    low, high = -math.inf, math.inf
    for sign, limit in _bounds(rule):
        if sign in (">", ">="):
            low = limit
        else:
            high = limit
    return low, high


def is_allowed(rule: str, members: Sequence[Any], value: Any) -> bool:
    """Whether a value obeys a rule; `members`: those of the constant that it names."""
    bounds = _bounds(rule)
    if bounds:
        # A parameter whose default is None may get a text.
        is_number = isinstance(value, int | float)
        return is_number and all(_COMPARE[sign](value, limit) for sign, limit in bounds)
    return value in members or _is_one_of(choices_in(rule), value)


def choices_in(rule: str) -> list[str]:
    """The choices that a rule lists, without a constant that holds others."""
    return [word for word in _words(rule) if not _CONSTANT.fullmatch(word)]


def _words(rule: str) -> list[str]:
    return [word.strip() for word in rule.split("|")]


def _bounds(rule: str) -> list[tuple[str, float]]:
    """The comparisons in a range; none if the rule lists choices."""
    if interval := _INTERVAL.fullmatch(rule):
        opens, low, high, closes = interval.groups()
        above = ">=" if opens == "[" else ">"
        below = "<=" if closes == "]" else "<"
        return [(above, float(low)), (below, float(high))]
    if bound := _BOUND.fullmatch(rule):
        return [(bound[1], float(bound[2]))]
    return []


def _is_one_of(choices: Iterable[str], value: Any) -> bool:
    """Whether a value is one of these choices, as a number or as a text."""
    for choice in choices:
        if re.fullmatch(NUMBER, choice) and value == float(choice):
            return True
        if _fits(choice, str(value)):
            return True
    return False


def _fits(choice: str, text: str) -> bool:
    """Whether a text is a choice, or what its last word stands for."""
    prefix, colon, last = choice.rpartition(":")
    if last == "N":
        pattern = r"[1-9]\d*"
    elif last in _ANY_TEXT or (colon and last.isupper()):
        pattern = r".+"
    else:
        return text == choice
    return re.fullmatch(re.escape(prefix + colon) + pattern, text) is not None
