"""Strict notebook parameters: names, types and ranges are read from the `parameters` cell.

Each line of that cell is a complete declaration:

    dropout = 0.2          # [0, 1): share of the pooled features dropped before the head
    accelerator = "auto"   # auto | tpu | gpu | cpu: what to run on
    fine_tune = "none"     # none | all | last:N | block:NAME: what is trained after the head
    epochs = 0             # >= 0: epochs of fine-tuning
    network = "VGG16"      # in blossom.networks.NETWORKS | file:PATH: what looks at the photos

The literal gives the type. The part before the comment's first colon may give a range (`[a, b]`,
`[a, b)`, `> a`, `>= a`); the choices (`a | b`), in which N stands for a whole number and a word in
capitals for any text; or a constant that contains the choices (`in package.module.NAME`, with `| a`
for additional ones): a literal tuple, list, set or dict in one of the project's packages, whose
source is read without importing it. Papermill only warns about an unknown name; here it is an error
before anything runs.
"""

from __future__ import annotations

import ast
import io
import json
import math
import operator
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelkit.errors import NotebookError, ParameterError, choice_of, nearest
from kernelkit.notebooks import constants
from kernelkit.project import Project

Value = Any  # a plain literal: bool, int, float, str, None, or a list or dict of these

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)"
_INTERVAL = re.compile(rf"([\[(])\s*({_NUMBER})\s*,\s*({_NUMBER})\s*([\])])")
_BOUND = re.compile(rf"(>=?|<=?)\s*({_NUMBER})")
_CONSTANT = re.compile(r"in\s+(\w+(?:\.\w+)+)")
_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_IN_WORDS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook: its default and its comment.

    `choices` are those of the constant that the comment names, or None.
    """

    name: str
    default: Value
    comment: str = ""
    choices: tuple[Value, ...] | None = None

    @property
    def type(self) -> type:
        """The type of the default, which every value must have."""
        return type(self.default)

    @property
    def rule(self) -> str:
        """The range or the choices, as written; empty if the comment declares none."""
        head = re.split(r":\s", self.comment + " ", maxsplit=1)[0].strip()
        return head if _bounds(head) or " | " in head or _CONSTANT.fullmatch(head) else ""

    @property
    def constant(self) -> str:
        """The constant with the choices, `package.module.NAME`; empty if there is none."""
        named = _CONSTANT.fullmatch(self.rule.split(" | ")[0])
        return named[1] if named else ""

    def check(self, value: Value) -> Value:
        """`value` converted to the parameter's type; raises `ParameterError` if it is invalid."""
        value = self._typed(value)
        others = self.rule.split(" | ")[1:] if self.constant else []
        if any(_fits(choice.strip(), str(value)) for choice in others):
            return value
        if self.choices is not None and value not in self.choices:
            hint = nearest(value, [*self.choices, *others])
            raise ParameterError(f"{self.name}={value!r} is not allowed: {hint}")
        if self.rule and not self.constant and not _allowed(self.rule, value):
            limits = [f"{_IN_WORDS[sign]} {limit}" for sign, limit in _bounds(self.rule)]
            words = " and ".join(limits) or choice_of(map(str.strip, self.rule.split("|")))
            raise ParameterError(f"{self.name}={value!r} is not allowed: it takes {words}")
        return value

    def parse(self, text: str) -> Value:
        """The value of `name=text` on a command line."""
        if self.type is str:
            return self.check(text)
        if self.type is bool and text.lower() in ("true", "false"):
            return self.check(text.lower() == "true")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            try:
                value = json.loads(text)
            except ValueError:
                value = text
        return self.check(value)

    def _typed(self, value: Value) -> Value:
        if self.default is None:
            return value
        if self.type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.type:
            names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
            kind = names.get(self.type, f"a {self.type.__name__}")
            raise ParameterError(
                f"{self.name}={value!r} has the wrong type: {kind} is needed, like {self.default!r}"
            )
        if isinstance(value, float) and math.isnan(value):
            raise ParameterError(f"{self.name} is not a number")
        return value


def declared(cell_source: str, project: Project | None = None) -> dict[str, Parameter]:
    """The parameters that a cell's source declares, in order.

    `project`: the project with the constants that comments name; without it, those choices are not
    looked up. Raises `NotebookError` for anything in the cell that is not `name = literal`, and for
    a constant that the project does not have.
    """
    try:
        body = ast.parse(cell_source).body
    except SyntaxError as error:
        raise NotebookError(f"the parameters cell is not Python: {error}") from None
    tokens = tokenize.generate_tokens(io.StringIO(cell_source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    parameters: dict[str, Parameter] = {}
    for statement in body:
        name, default = _literal(statement)
        if name in parameters:
            raise NotebookError(f"the parameters cell assigns {name} twice")
        parameter = Parameter(name, default, comments.get(statement.end_lineno or 0, ""))
        if project and parameter.constant:
            choices = constants.members(project, parameter.constant)
            parameter = replace(parameter, choices=choices)
        parameters[name] = parameter
    return parameters


def check_offers(
    values: Mapping[str, Value], offers: Mapping[str, Mapping[str, Sequence[Value]]]
) -> None:
    """Check values against the choices that a project's inputs allow (`Project.offers`).

    Raises `ParameterError` for a value that is not one of them.
    """
    for pair, choices in offers.items():
        name, _, value = pair.partition("=")
        if name not in values or str(values[name]) != value:
            continue
        for other, allowed in choices.items():
            if other in values and values[other] not in allowed:
                raise ParameterError(
                    f"{other}={values[other]!r} is not what {pair} offers "
                    f"({choice_of(allowed)}): {nearest(values[other], allowed)}"
                )


def resolve(
    parameters: Mapping[str, Parameter], overrides: Mapping[str, Value] | Iterable[str]
) -> dict[str, Value]:
    """Check `overrides`: a mapping of typed values, or `name=text` strings.

    Returns only the given names, with typed values. Raises a one-line `ParameterError` that names
    the nearest valid name.
    """
    if isinstance(overrides, Mapping):
        return {name: _named(parameters, name).check(value) for name, value in overrides.items()}
    values: dict[str, Value] = {}
    for pair in overrides:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ParameterError(f"-p {pair}: write it as name=value")
        parameter = _named(parameters, name.strip())
        if parameter.name in values:
            raise ParameterError(f"{parameter.name} is given twice")
        values[parameter.name] = parameter.parse(text)
    return values


def _named(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    if name in parameters:
        return parameters[name]
    if not parameters:
        raise ParameterError(
            f"{name!r} cannot be set: the notebook has no cell tagged 'parameters'"
        )
    raise ParameterError(f"the notebook has no parameter {name!r}: {nearest(name, parameters)}")


def _literal(statement: ast.stmt) -> tuple[str, Value]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            raise NotebookError(
                f"line {statement.lineno} of the parameters cell is not `name = literal`"
            )
    try:
        return name, ast.literal_eval(value)
    except ValueError:
        raise NotebookError(
            f"the value of {name} in the parameters cell is not a plain literal"
        ) from None


def _bounds(rule: str) -> list[tuple[str, str]]:
    """The comparisons in a range; none if the rule lists choices."""
    if interval := _INTERVAL.fullmatch(rule):
        opens, low, high, closes = interval.groups()
        return [(">=" if opens == "[" else ">", low), ("<=" if closes == "]" else "<", high)]
    bound = _BOUND.fullmatch(rule)
    return [(bound[1], bound[2])] if bound else []


def _allowed(rule: str, value: Value) -> bool:
    if bounds := _bounds(rule):
        return all(_COMPARE[sign](value, float(limit)) for sign, limit in bounds)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return any(_fits(choice.strip(), text) for choice in rule.split("|"))


def _fits(choice: str, text: str) -> bool:
    prefix, colon, last = choice.rpartition(":")
    if last.isupper():
        pattern = r"[1-9]\d*" if last == "N" else r".+"
        return re.fullmatch(re.escape(prefix + colon) + pattern, text) is not None
    return text == choice
