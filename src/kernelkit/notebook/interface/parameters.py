"""Strict notebook parameters: names, types and ranges are read from the `parameters` cell.

Each line of that cell is a complete declaration:

    dropout = 0.2          # [0, 1): share of the pooled features dropped before the head
    accelerator = "auto"   # auto | tpu | gpu | cpu: what to run on
    fine_tune = "none"     # none | all | last:N | block:NAME: what is trained after the head
    epochs = 0             # >= 0: epochs of fine-tuning
    network = "VGG16"      # in blossom.networks.NETWORKS | file:PATH: what looks at the photos

The literal gives the type. The part before the comment's first colon may give a range (such as
`[a, b]`, `[a, b)`, `> a`, `>= a`); the choices (`a | b`), in which N stands for a whole number from
1 on and a word in capitals for any text; or a constant that contains the choices
(`in package.module.NAME`, with `| a` for additional ones): a literal tuple, list, set or dict in
one of the project's packages, whose source is read without importing it. Papermill only warns about
an unknown name; here it is an error before anything runs.

In other people's cells the names with a literal default are the interface. Whatever else papermill
accepts there, a computed value, an import, a magic, passes untouched and cannot be set. Words
between `|` are choices only if the default is one of them; otherwise they are types or prose.
"""

import ast
import io
import json
import math
import operator
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelkit.errors import NotebookError, ParameterError, nearest
from kernelkit.notebook import document
from kernelkit.notebook.document import NO_PARAMETERS
from kernelkit.notebook.language import python, syntax
from kernelkit.project import Project

Value = Any  # a plain literal: bool, int, float, str, None, or a list or dict of these
# "name=value" strings, the source of a cell that `assignments` wrote, or typed values
Overrides = Sequence[str] | Mapping[str, Any]

_NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf)"
_INTERVAL = re.compile(rf"([\[(])\s*({_NUMBER})\s*,\s*({_NUMBER})\s*([\])])")
_BOUND = re.compile(rf"(>=?|<=?)\s*({_NUMBER})")
_CONSTANT = re.compile(r"in\s+(\w+(?:\.\w+)+)")
_CHOICES = re.compile(r"\S+(?: \| \S+)+")
_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_TYPES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_COMPUTED = object()  # a default that is no plain literal
# What `ast.literal_eval` raises for text that is no literal: a TypeError for a list as a key, the
# last two for what is nested too deeply.
_NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook: its default, its comment, and what the comment allows.

    `rule` is the range or the choices, as written; empty if the comment declares none. `members`
    are those of the constant that the rule names; None if they are not looked up.
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
    def ends(self) -> tuple[float, float]:
        """The ends of its range, or the least and the greatest of its choices if all are numbers;
        infinite where the comment sets none."""
        low, high = -math.inf, math.inf
        words = [word.strip() for word in self.rule.split("|")]
        if all(re.fullmatch(_NUMBER, word) for word in words):
            return min(map(float, words)), max(map(float, words))
        for sign, limit in _bounds(self.rule):
            if sign in (">", ">="):
                low = float(limit)
            else:
                high = float(limit)
        return low, high

    def check(self, value: Value) -> Value:
        """`value` converted to the parameter's type; raises `ParameterError` if it is invalid."""
        value = self._typed(value)
        if not self.rule or self.members is None:
            return value
        hint = f"it takes {self.rule}"
        if bounds := _bounds(self.rule):
            is_number = isinstance(value, int | float)  # a parameter may be a text, or None
            allowed = is_number and all(
                _COMPARE[sign](value, float(limit)) for sign, limit in bounds
            )
        else:
            words = [word.strip() for word in self.rule.split("|")]
            words = [word for word in words if not _CONSTANT.fullmatch(word)]
            allowed = value in self.members or _is_one_of(words, value)
            hint = nearest(value, [*self.members, *words]) if self.members else hint
        if not allowed:
            raise ParameterError(f"{self.name}={value!r} is not allowed: {hint}")
        return value

    def parse(self, text: str) -> Value:
        """The value of `name=text` on a command line."""
        if self.type is str:
            return self.check(text)
        if self.type is bool and text.lower() in ("true", "false"):
            return self.check(text.lower() == "true")
        try:
            value = _read(text) if self._takes_numbers() else ast.literal_eval(text)
        except _NO_LITERAL:
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
    """The parameters of a cell, in order; `others` says of its other names why none can be set."""

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
    parameters = Declared()
    if problem:
        raise NotebookError(problem.at("the parameters cell"))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    others: dict[str, str] = {}
    for statement in tree.body:
        name, expression = _name_and_expression(statement)
        default = _default(expression)
        if not name or default is _COMPUTED:
            for each in _bound(statement):
                others[each] = (
                    f"line {statement.lineno} of the parameters cell computes it, and only plain "
                    "literals can be set"
                )
                parameters.pop(each, None)
            continue
        others.pop(name, None)
        comment = comments.get(statement.end_lineno or 0, "")
        rule = _rule(comment, default)
        constant = _CONSTANT.fullmatch(rule.partition(" | ")[0])
        members = _members(project, constant[1]) if constant else ()
        parameters[name] = Parameter(name, default, comment, rule, members)
        if project and default is not None:
            parameters[name].check(default)
    parameters.others = others
    return parameters


def of_notebook(notebook: document.Node, project: Project | None = None) -> Declared:
    """The parameters of a notebook; none if no cell is tagged `parameters`.

    Of several such cells the first counts, as for papermill, which inserts the values after it: a
    name that a later one assigns again cannot be set. Raises what `declared` raises.
    """
    cells = document.parameters_cells(notebook)
    if not cells:
        return Declared()
    first, *later = cells
    parameters = declared(cells[first], project)
    others = dict(parameters.others)
    for number in later:
        for name in assigned(cells[number]):
            others[name] = (
                f"cell {number}, also tagged 'parameters', assigns it later, and values are set "
                f"after the first such cell, cell {first}"
            )
            parameters.pop(name, None)
    parameters.others = others
    return parameters


def assigned(cell_source: str) -> list[str]:
    """The names that a cell gives a value, in order; none if it is not Python."""
    _, tree, problem = python.of_cell(cell_source)
    if problem:
        return []
    return list(dict.fromkeys(name for statement in tree.body for name in _bound(statement)))


def resolve(
    parameters: Mapping[str, Parameter], overrides: Mapping[str, Value] | Iterable[str]
) -> dict[str, Value]:
    """Check `overrides`: typed values, `name=text` strings, or the source of a cell with values.

    Returns only the given names, with typed values. Raises a one-line `ParameterError` that names
    the nearest valid name.
    """
    if isinstance(overrides, str):
        overrides = {name: p.default for name, p in declared(overrides).items()}
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


def completed(parameters: Mapping[str, Parameter], given: dict[str, Value]) -> dict[str, Value]:
    """The value of every parameter: the given ones, of `resolve`, and the others' defaults."""
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    return defaults | given


def assignments(values: Mapping[str, Value]) -> str:
    """The source of a cell with these values, as `resolve` takes it; JSON has only text as keys."""
    lines = [f"{name} = {literal(value)}" for name, value in values.items()]
    return "\n".join(["# Parameters", *lines])


def literal(value: Value) -> str:
    """The source of a value, which `ast.literal_eval` reads as the same value.

    `repr` writes an infinite number as `inf`, which is a name.
    """
    match value:
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case tuple():
            comma = "," if len(value) == 1 else ""
            return f"({', '.join(map(literal, value))}{comma})"
        case set():
            items = sorted(map(literal, value))  # in the same order in every process
            return f"{{{', '.join(items)}}}" if items else "set()"
        case dict():
            pairs = [f"{literal(key)}: {literal(item)}" for key, item in value.items()]
            return f"{{{', '.join(pairs)}}}"
    return ast.unparse(ast.Constant(value))


def for_json(values: Mapping[str, Value]) -> dict[str, Value]:
    """The values as JSON can hold them: a set, bytes or a dict with other keys as its source."""
    held = {}
    for name, value in values.items():
        try:
            json.dumps(value, sort_keys=True)
            held[name] = value
        except TypeError:
            held[name] = literal(value)
    return held


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


def _named(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    if name in parameters:
        return parameters[name]
    others = parameters.others if isinstance(parameters, Declared) else {}
    if name in others:
        raise ParameterError(f"{name!r} cannot be set: {others[name]}")
    if not parameters:
        raise ParameterError(f"{name!r} cannot be set: {NO_PARAMETERS}")
    raise ParameterError(f"the notebook has no parameter {name!r}: {nearest(name, parameters)}")


def _name_and_expression(statement: ast.stmt) -> tuple[str, ast.expr]:
    """The name and the expression of an assignment; otherwise a name that nothing has."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            return name, value
    return "", ast.Name("")


def _default(expression: ast.expr) -> Any:
    """The value of a plain literal, or `_COMPUTED`."""
    try:
        return ast.literal_eval(expression)
    except _NO_LITERAL:
        return _COMPUTED


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value, also by importing it."""
    for node in ast.walk(statement):
        match node:
            case ast.Name(name, ast.Store()) | ast.FunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.alias(name, asname):
                yield asname or name.partition(".")[0]


def _rule(comment: str, default: Value) -> str:
    """The range or the choices at the beginning of a comment; empty if it declares none."""
    rule = re.split(r":\s", comment + " ", maxsplit=1)[0].strip()
    if _CONSTANT.fullmatch(rule.partition(" | ")[0]) or _bounds(rule):
        return rule
    is_choice = default is not None and _is_one_of(rule.split(" | "), default)
    return rule if is_choice and _CHOICES.fullmatch(rule) else ""


def _members(project: Project | None, name: str) -> tuple[Value, ...] | None:
    """The elements of a tuple, list or set, or the keys of a dict, called `package.module.NAME`.

    They are read from the source, without importing it or the libraries that it imports. None if
    the notebook is in no project, as in a session, where the values are already checked. Raises
    `NotebookError` unless the project assigns the name such a literal.
    """
    if project is None or not project.packages:
        return None
    package, *path, constant = name.split(".")
    place = project.package_folder(package).joinpath(*path)
    candidates = [place / "__init__.py"]
    if path:
        candidates.append(place.with_suffix(".py"))
    file = next((each for each in candidates if each.is_file()), None)
    if file is None:
        raise NotebookError(f"{name}: there is no module {'.'.join([package, *path])}")
    try:
        body = syntax.parse(file.read_text("utf-8-sig")).body
        assigned: Any = dict(map(_name_and_expression, body))[constant]  # the last one counts
        elements = assigned.keys if isinstance(assigned, ast.Dict) else assigned.elts
        members = tuple(map(ast.literal_eval, elements))
    except (*_NO_LITERAL, LookupError, AttributeError):
        members = ()
    if not members:
        raise NotebookError(
            f"{name}: {project.name(file)} must assign {constant} a tuple, list, set or dict of "
            "plain literals"
        )
    return members


def _bounds(rule: str) -> list[tuple[str, str]]:
    """The comparisons in a range; none if the rule lists choices."""
    if interval := _INTERVAL.fullmatch(rule):
        opens, low, high, closes = interval.groups()
        return [(">=" if opens == "[" else ">", low), ("<=" if closes == "]" else "<", high)]
    bound = _BOUND.fullmatch(rule)
    return [(bound[1], bound[2])] if bound else []


def _is_one_of(choices: Iterable[str], value: Value) -> bool:
    """Whether a value is one of these choices, as a number or as a text."""
    numbers = [float(word) for word in choices if re.fullmatch(_NUMBER, word)]
    return value in numbers or any(_fits(word, str(value)) for word in choices)


def _fits(choice: str, text: str) -> bool:
    prefix, colon, last = choice.rpartition(":")
    if last.isupper():
        pattern = r"[1-9]\d*" if last == "N" else r".+"
        return re.fullmatch(re.escape(prefix + colon) + pattern, text) is not None
    return text == choice
