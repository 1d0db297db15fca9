"""Typed values of what files say: the one mechanism for settings, sweeps, metadata, ledger, runs.

A dataclass declares what a file may hold: its fields are the keys, their annotations the types, and
what has no default must be there. What runs inside a session uses it too, so it needs nothing but
the Python library. Who wrote a file decides what happens to a value of another type:

    read            people wrote it: an error says what is wrong
    read_whole      the kit wrote it, and a crash or another version changed it: None
    read_what_fits  any notebook wrote it: each key stands for itself, and what does not fit is left
    divide          its reader tells all that does not fit
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from kernelkit.errors import nearest

T = TypeVar("T")

IN_WORDS: dict[Any, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
LARGEST = {int: 2**63, float: 1e15}  # of numbers: nanoseconds since 1970 fit, and any count
ITSELF = "it"  # the name of a value that its reader names before the message


class MisfitError(ValueError):
    """A value that has not its declared type: its `name`, the `value`, and the `kinds` it takes.

    The text does not repeat the value, which may be a secret in the wrong place.
    """

    def __init__(self, name: str, value: object, kinds: Sequence[Any]) -> None:
        super().__init__(f"{name} is not {' or '.join(IN_WORDS[kind] for kind in kinds)}")
        self.name = name
        self.value = value
        self.kinds = kinds


def declared(
    default: Any = dataclasses.MISSING,
    *,
    takes: str = "",
    each: str = "",
    keys: Collection[str] = (),
    check: Callable[[Any], object] | None = None,
) -> Any:
    """A field of a dataclass with more than its type to go by.

    takes    what it takes, in words, for a reader that says so
    each     a pattern that its text, or every text in it, matches as a whole
    keys     those that its table may have; any if it names none
    check    called with the whole value; raises `ValueError` with what is wrong
    """
    metadata = {"takes": takes, "each": each, "keys": keys, "check": check}
    if isinstance(default, type):  # such as `list`, which makes a new one for each value
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def keys(cls: type) -> list[str]:
    """The keys that a dataclass declares."""
    return [*_fields(cls)]


def read(cls: type[T], given: object, name: str = ITSELF) -> T:
    """The value of a dataclass with these keys; `name` is what messages call it.

    Raises `ValueError` for a key that is not declared, with the nearest that is; for one that is
    missing; and for a value that its field does not take.
    """
    if not isinstance(given, dict):
        raise MisfitError(name, given, [dict])
    known = _fields(cls)
    refuse_others(name, given, known)
    values = {key: of_field(cls, key, value, _inside(name, key)) for key, value in given.items()}
    for key, each in known.items():
        if key not in values and _is_required(each):
            raise ValueError(f"{name} has no {key}")
    return cls(**values)


def read_whole(cls: type[T], given: object) -> T | None:
    """The value of a dataclass with these keys; None if one is missing or has another type.

    Keys that are not declared are left out: a later version may have written them.
    """
    if not isinstance(given, dict):
        return None
    known = _fields(cls)
    try:
        return read(cls, {key: value for key, value in given.items() if key in known})
    except ValueError:
        return None


def read_what_fits(cls: type[T], given: object) -> T:
    """The value of a dataclass with what fits of a file that anybody may have written.

    Each of its fields has a default, which stands for a key that is missing or has another type.
    """
    if not isinstance(given, dict):
        return cls()
    values = {}
    for key in _fields(cls).keys() & given.keys():
        kind = _hints(cls)[key]
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            values[key] = read_what_fits(kind, given[key])
            continue
        with contextlib.suppress(ValueError):
            values[key] = of_field(cls, key, given[key])
    return cls(**values)


def divide(
    cls: type, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[MisfitError]]:
    """The keys that a dataclass takes, with their values; the others; and what has another type."""
    known = _fields(cls)
    taken = {}
    others = {}
    misfits = []
    for key, value in given.items():
        if key not in known:
            others[key] = value
            continue
        try:
            taken[key] = of_field(cls, key, value, key)
        except MisfitError as misfit:
            misfits.append(misfit)
    return taken, others, misfits


def of_field(cls: type, key: str, given: object, name: str = ITSELF) -> Any:
    """The value of one field of a dataclass; raises `ValueError` for one that it does not take."""
    field = _fields(cls)[key]
    known = field.metadata.get("keys")
    if known and isinstance(given, dict):
        refuse_others(name, given, known)
    value = _typed(given, _hints(cls)[key], name, field.metadata.get("each", ""))
    check = field.metadata.get("check")
    if check:
        check(value)
    return value


def refuse_others(name: str, given: Collection[str], known: Collection[str]) -> None:
    """Raise `ValueError` for a key that is not `known`."""
    for key in given:
        if key not in known:
            raise ValueError(f"{name} has no key {key!r}: {nearest(key, list(known))}")


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The plain numbers among some values; true and false are none."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: a file's name may have bytes that are none."""
    return text.encode(errors="replace").decode() == text


def _typed(given: Any, kind: Any, name: str, each: str) -> Any:
    """A value of a JSON, TOML or YAML text as its declared type has it; raises `ValueError`."""
    if kind is Any:
        return given
    origin = get_origin(kind) or kind
    inner = get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(given, inner, name, each)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return read(kind, given, name)
    if origin in (list, tuple, Sequence):
        if not isinstance(given, list | tuple):
            raise MisfitError(name, given, [list])
        entry = inner[0] if inner else Any
        numbered = enumerate(given, 1)
        values = [_typed(one, entry, _inside(name, f"entry {n}"), each) for n, one in numbered]
        return tuple(values) if origin is tuple else values
    if origin in (dict, Mapping):
        if not isinstance(given, dict):
            raise MisfitError(name, given, [dict])
        entry = inner[1] if inner else Any
        return {key: _typed(one, entry, _inside(name, key), each) for key, one in given.items()}
    if not _is_plain(given, kind):
        raise MisfitError(name, given, [kind])
    if each and not re.fullmatch(each, given):
        raise ValueError(f"{name} is something else")
    return given


def _one_of(given: Any, kinds: Sequence[Any], name: str, each: str) -> Any:
    """A value of the first of these types that takes it."""
    for kind in kinds:
        if kind is type(None):
            if given is None:
                return None
            continue
        try:
            return _typed(given, kind, name, each)
        except MisfitError as misfit:
            if misfit.name != name:  # of the right type, with something wrong inside
                raise
    words = [get_origin(kind) or kind for kind in kinds if kind is not type(None)]
    plain: dict[Any, Any] = {Sequence: list, Mapping: dict}
    for word in words:
        if dataclasses.is_dataclass(word):
            plain[word] = dict
    raise MisfitError(name, given, [plain.get(word, word) for word in words])


def _is_plain(given: Any, kind: type) -> bool:
    """Whether a value is a text that a file can hold, a truth value or a number of usual size."""
    if kind is str:
        return isinstance(given, str) and "\0" not in given and is_unicode(given)
    if kind in (int, float):
        is_number = isinstance(given, int if kind is int else int | float)
        if not is_number or isinstance(given, bool):
            return False
        return bool(abs(given) < LARGEST[kind])  # which nan is not
    return isinstance(given, kind)


def _inside(name: str, part: str) -> str:
    return part if name == ITSELF else f"{part} of {name}"


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fields_of(cls: type) -> Mapping[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls) if field.init}


# Made once for each dataclass, and not for each key of each row of a ledger.
_fields: Callable[[type], Mapping[str, dataclasses.Field[Any]]] = functools.cache(_fields_of)
_hints: Callable[[type], Mapping[str, Any]] = functools.cache(get_type_hints)
