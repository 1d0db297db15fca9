"""Strict notebook parameters: names, types and rules are read from the `parameters` cell.

Each line of that cell is a complete declaration:

    dropout = 0.2          # [0, 1): share of the pooled features dropped before the head
    accelerator = "auto"   # auto | tpu | gpu | cpu: what to run on
    fine_tune = "none"     # none | all | last:N | block:NAME: what is trained after the head
    epochs = 0             # >= 0: epochs of fine-tuning
    network = "VGG16"      # in blossom.networks.NETWORKS | file:PATH: what looks at the photos

The literal gives the type, and the comment may begin with a rule, as `comments` reads it. Papermill
only warns about an unknown name; here it is an error before anything runs.

In other people's cells the names with a literal default are the interface. Whatever else papermill
accepts there, a computed value, an import, a magic, passes untouched and cannot be set.
"""

import ast
import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelkit.errors import NotebookError, ParameterError, nearest
from kernelkit.notebook import document
from kernelkit.notebook.interface import comments
from kernelkit.notebook.language import python, statements, syntax
from kernelkit.project import Project

Value = Any  # a plain literal: bool, int, float, str, None, or a list or dict of these

_TYPES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_COMPUTED = object()  # a default that is no plain literal


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook: its default, its comment, and what the comment allows.

    `rule` is the range or the choices, as written; empty if the comment declares none. `members`
    are those of the constant that the rule names; None if they are not looked up, and any value of
    the type is allowed.
    """

    name: str
    default: Value
    comment: str = ""
    rule: str = ""
    members: tuple[Value, ...] | None = ()

    @property
    def type(self) -> type:
        """The type of the default, which every value must have, unless the default is None."""
        return type(self.default)

    @property
    def is_not_known(self) -> bool:
        """Whether its rule names a constant, in a project that names no packages."""
        return self.members == () and bool(comments.constant_in(self.rule))

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its range, or the least and the greatest of its choices if all are numbers;
        infinite where the comment sets none."""
        return comments.ends_of(self.rule)

    def check(self, value: Value) -> Value:
        """`value` converted to the parameter's type; raises `ParameterError` if it is invalid."""
        value = self._typed(value)
        if not self.rule or self.members is None:
            return value
        if comments.is_allowed(self.rule, self.members, value):
            return value
        hint = f"it takes {self.rule}"
        if self.is_not_known:
            constant = comments.constant_in(self.rule)
            hint = f"name the package of {constant}, which its comment says, in [tool.kernelkit]"
        elif self.members:
            hint = nearest(value, [*self.members, *comments.choices_in(self.rule)])
        raise ParameterError(f"{self.name}={value!r} is not allowed: {hint}")

    def parse(self, text: str) -> Value:
        """The value of `name=text` on a command line."""
        if self.type is str:
            return self.check(text)
        if self.type is bool and text.lower() in ("true", "false"):
            return self.check(text.lower() == "true")
        try:
            value = _read(text) if self._takes_numbers() else ast.literal_eval(text)
        except syntax.NO_LITERAL:
            value = text
        return self.check(value)

    def _takes_numbers(self) -> bool:
        """Whether `inf` is surely meant as a number, and not as a text."""
        return self.type in (float, list, tuple, set, dict)

    def _typed(self, value: Value) -> Value:
        _check_plain(self.name, value)
        if self.default is None:
            return value
        if self.type is float and type(value) is int:
            value = float(value)
        if self.type is tuple and type(value) is list:  # YAML and JSON have no tuples
            value = tuple(value)
        if type(value) is not self.type:
            kind = _TYPES.get(self.type, f"a {self.type.__name__}")
            raise ParameterError(
                f"{self.name}={value!r} has the wrong type: {kind} is needed, like {self.default!r}"
            )
        return value


class Declared(dict[str, Parameter]):
    """The parameters of a cell, in order; `others` says why its other names cannot be set."""

    others: Mapping[str, str]

    def __init__(self) -> None:
        super().__init__()
        self.others = {}


def declared(cell_source: str, project: Project | None = None) -> Declared:
    """The parameters that a cell's source declares, in order: its names with literal defaults.

    `project`: the project with the constants that comments name. Without it, as for a run that is
    over, those choices are not looked up and the defaults are not checked. Raises `NotebookError`
    for a cell that is not Python, and for a constant that the project does not have, and
    `ParameterError` for a default other than None that its comment does not allow.
    """
    source, tree, problem = python.of_cell(cell_source)
    if problem:
        raise NotebookError(problem.at("the parameters cell"))
    parameters = Declared()
    others: dict[str, str] = {}
    by_line = _comments(source)
    for statement, names, value in statements.assigned(tree):
        default = _default(value) if value else _COMPUTED
        if default is _COMPUTED:
            for each in names:
                others[each] = (
                    f"line {statement.lineno} of the parameters cell computes it, and only plain "
                    "literals can be set"
                )
                parameters.pop(each, None)
            continue
        name = names[0]
        others.pop(name, None)
        comment = by_line.get(statement.end_lineno or 0, "")
        rule = comments.rule_in(comment, default)
        constant = comments.constant_in(rule)
        members = comments.members_of(constant, project) if constant else ()
        parameters[name] = Parameter(name, default, comment, rule, members)
        if project and default is not None and not parameters[name].is_not_known:
            parameters[name].check(default)
    parameters.others = others
    return parameters


def _comments(source: str) -> dict[int, str]:
    """The texts of a source's comments, by their lines."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            found[token.start[0]] = token.string.lstrip("# ")
    return found


def of_notebook(notebook: document.Node, project: Project | None = None) -> Declared:
    """The parameters of a notebook; none if no cell is tagged `parameters`.

    Of several such cells the first counts, as for papermill, which inserts the values after it: a
    name that a later one assigns again cannot be set. Raises what `declared` raises.
    """
    cells = document.parameters_cells(notebook)
    if not cells:
        return Declared()
    first, *later = cells
    parameters = declared(first.source, project)
    others = dict(parameters.others)
    for cell in later:
        for name in _names_in(cell.source):
            others[name] = (
                f"cell {cell.number}, also tagged 'parameters', assigns it later, and values are "
                f"set after the first such cell, cell {first.number}"
            )
            parameters.pop(name, None)
    parameters.others = others
    return parameters


def _names_in(cell_source: str) -> list[str]:
    """The names that a cell gives a value, in order; none if it is not Python."""
    _, tree, problem = python.of_cell(cell_source)
    if problem:
        return []
    return [name for each in statements.assigned(tree) for name in each.names]


def _read(text: str) -> Value:
    """The literal in a text, in which `inf` and `nan` are numbers, too."""

    class Numbers(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node

    return ast.literal_eval(Numbers().visit(syntax.parse(text.strip(), mode="eval")))


def _check_plain(name: str, value: Value) -> None:
    """Raise `ParameterError` if the value, or one within it, has no literal."""
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set):
        parts = [*value]
    else:
        parts = []
        if not isinstance(value, _PLAIN):
            kind = type(value).__name__
            raise ParameterError(
                f"{name}: {value} is read as a {kind}, which is not a literal: write it in quotes"
            )
        if value != value:
            raise ParameterError(f"{name}: nan is not a number: leave it out, or set None")
    for part in parts:
        _check_plain(name, part)


def _default(expression: ast.expr) -> Any:
    """The value of a plain literal, or `_COMPUTED`."""
    try:
        return ast.literal_eval(expression)
    except syntax.NO_LITERAL:
        return _COMPUTED
