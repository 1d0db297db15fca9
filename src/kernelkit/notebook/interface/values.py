"""The values of a notebook's parameters: those that are asked for, and how they are written."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from kernelkit.errors import ParameterError, nearest
from kernelkit.notebook.document import NO_PARAMETERS
from kernelkit.notebook.interface.parameters import Declared, Parameter, Value, declared

Overrides = Sequence[str] | Mapping[str, Any]  # "name=value" texts, or typed values


def resolve(parameters: Mapping[str, Parameter], overrides: Overrides) -> dict[str, Value]:
    """Check `overrides`: typed values, or `name=text` strings as on a command line.

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


def completed(parameters: Mapping[str, Parameter], given: dict[str, Value]) -> dict[str, Value]:
    """The value of every parameter: the given ones, of `resolve`, and the others' defaults."""
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    return defaults | given


def assignments(values: Mapping[str, Value]) -> str:
    """The source of a cell with these values.

    A sweep sends its values in this form and not as JSON, whose dictionaries have only texts as
    keys.
    """
    lines = [f"{name} = {source_of(value)}" for name, value in values.items()]
    return "\n".join(["# Parameters", *lines])


def values_in(cell_source: str) -> dict[str, Value]:
    """The values in the source of a cell that `assignments` wrote."""
    return {name: parameter.default for name, parameter in declared(cell_source).items()}


def source_of(value: Value) -> str:
    """The source of a value, which `ast.literal_eval` reads as the same value.

    `repr` writes an infinite number as `inf`, which is a name.
    """
    match value:
        case list():
            return f"[{', '.join(map(source_of, value))}]"
        case tuple():
            comma = "," if len(value) == 1 else ""
            return f"({', '.join(map(source_of, value))}{comma})"
        case set():
            items = sorted(map(source_of, value))  # in the same order in every process
            return f"{{{', '.join(items)}}}" if items else "set()"
        case dict():
            pairs = [f"{source_of(key)}: {source_of(item)}" for key, item in value.items()]
            return f"{{{', '.join(pairs)}}}"
    return ast.unparse(ast.Constant(value))


def for_json(values: Mapping[str, Value]) -> dict[str, Value]:
    """The values as JSON can hold them: a set, bytes or a dict with other keys as its source.

    A tuple becomes a list in JSON. An infinite number is `Infinity`, as Python reads and writes it.
    """
    held = {}
    for name, value in values.items():
        held[name] = value if _is_in_json(value) else source_of(value)
    return held


def _is_in_json(value: Value) -> bool:
    match value:
        case dict():
            return all(isinstance(key, str) and _is_in_json(value[key]) for key in value)
        case list() | tuple():
            return all(map(_is_in_json, value))
    return value is None or isinstance(value, bool | int | float | str)


def _named(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    """The parameter of this name; raises `ParameterError` if it cannot be set."""
    if name in parameters:
        return parameters[name]
    others = parameters.others if isinstance(parameters, Declared) else {}
    if name in others:
        raise ParameterError(f"{name!r} cannot be set: {others[name]}")
    if not parameters:
        raise ParameterError(f"{name!r} cannot be set: {NO_PARAMETERS}")
    raise ParameterError(f"the notebook has no parameter {name!r}: {nearest(name, parameters)}")
