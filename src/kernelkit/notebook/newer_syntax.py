"""Source in the syntax of Kaggle's Python, rewritten for an older Python at the desk.

Python 3.12 allows any expression in the braces of an f-string (PEP 701), `type` statements and
type parameters (PEP 695), and Python 3.13 defaults of those (PEP 696). What is rewritten has the
same numbers of lines, and is only read, never run.
"""

import contextlib
import re
import sys
import warnings
from typing import NamedTuple

from kernelkit.notebook import syntax

_TYPE = re.compile(
    r"^([ \t]*)type[ \t]+(\w+)[ \t]*(?:\[(.{1,500}?)\])?(?=\s*=[^=])", re.MULTILINE | re.DOTALL
)
_TYPE_PARAMETERS = re.compile(r"\b((?:def|class)\s+\w+)\[(.{1,500}?)\](?=\s*[(:])", re.DOTALL)
_DEFAULT = re.compile(r"\b(?:def|class|type)\s+\w+\[[^\]]*[^=]=[^=]")
# A comment, or where a literal begins, with its prefix; in the braces of an f-string also what
# may end an expression.
_COMMENT_OR_LITERAL = r"#[^\n]*|(?<!\w)(\w*)('''|\"\"\"|'|\")"
_BEGINS = re.compile(_COMMENT_OR_LITERAL)
_IN_BRACES = re.compile(rf"{_COMMENT_OR_LITERAL}|[(){{}}\[\]:]|!(?!=)")
_BRACE = re.compile(r"[{}]")
_PREFIXES = ("f", "fr", "rf")
_DEEPEST = 20  # braces within those of others; people write two or three


class _UnreadableError(Exception):
    """A text that is wrong in a newer Python, too."""


class _Field(NamedTuple):
    """Braces in an f-string: where they begin and end, and the expression in them."""

    start: int
    end: int
    expression: str


def rewritten(source: str) -> str:
    """The source for this Python; what is wrong in a newer one, too, stays wrong."""
    if sys.version_info < (3, 13):
        source = _TYPE_PARAMETERS.sub(lambda match: match[1] + _lines(match[2]), source)
    if sys.version_info < (3, 12):
        source = _TYPE.sub(lambda match: match[1] + match[2] + _lines(match[3] or ""), source)
        with contextlib.suppress(_UnreadableError):
            source = _with_plain_braces(source)
    return source


def needs_3_13(source: str) -> bool:
    """Whether a source gives type parameters a default."""
    return bool(_DEFAULT.search(source))


def _with_plain_braces(source: str) -> str:
    """The source with 0 in the braces of the f-strings that this Python cannot read."""
    parts = []
    position = 0
    while match := _BEGINS.search(source, position):
        parts.append(source[position : match.start()])
        fields, position = _literal(source, match)
        literal = source[match.start() : position]
        if not fields or _is_expression(literal):
            parts.append(literal)
            continue
        start = match.start()
        for field in fields:
            if not _is_expression(_with_plain_braces(field.expression)):
                raise _UnreadableError
            parts += [source[start : field.start], "{0}"]
            parts.append(_lines(source[field.start : field.end]))
            start = field.end
        parts.append(source[start:position])
    return "".join([*parts, source[position:]])


def _lines(text: str) -> str:
    """As many ends of lines as the text has, which continue the line before."""
    return "\\\n" * text.count("\n")


def _is_expression(text: str) -> bool:
    """Whether this Python reads a text as an expression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is no error
        try:
            syntax.parse(f"({text}\n)", mode="eval")
        except (SyntaxError, ValueError):
            return False
    return bool(text.strip())


def _literal(source: str, begins: re.Match[str], depth: int = 0) -> tuple[list[_Field], int]:
    """The fields of a literal or a comment, none if it is no f-string, and where it ends.

    `depth`: in how many braces it lies.
    """
    prefix, quotes = begins[1], begins[2]
    fields: list[_Field] = []
    position = begins.end()
    if quotes is None:
        return fields, position
    is_f_string = prefix.lower() in _PREFIXES
    while not source.startswith(quotes, position):
        if position >= len(source):
            raise _UnreadableError
        if is_f_string and source[position] == "{" and source[position + 1 :][:1] != "{":
            fields.append(_field(source, position, depth + 1))
            position = fields[-1].end
        elif is_f_string and source.startswith("\\N{", position) and len(prefix) == 1:
            position = source.find("}", position) + 1 or len(source)
        elif is_f_string and source.startswith(("\\{", "\\}"), position):
            position += 1  # a backslash of its own
        else:
            is_pair = source[position] == "\\" or source.startswith(("{{", "}}"), position)
            position += 2 if is_pair else 1
    return fields, position + len(quotes)


def _field(source: str, start: int, depth: int) -> _Field:
    """The field of an f-string whose brace opens at `start`, the `depth`-th within others."""
    if depth > _DEEPEST:
        raise _UnreadableError
    opened = 0  # brackets
    position = start + 1
    while match := _IN_BRACES.search(source, position):
        mark = match[0]
        position = match.end()
        if mark.startswith("#"):
            continue
        if match[2]:
            _, position = _literal(source, match, depth)
        elif mark in "([{":
            opened += 1
        elif opened:
            opened -= 1 if mark in ")]}" else 0
        else:  # the end, a conversion or a format
            if mark == "!" and source[position : position + 1] not in ("a", "r", "s"):
                raise _UnreadableError
            expression = source[start + 1 : match.start()].strip()
            expression = re.sub(r"(?<![=!<>])=$", "", expression)  # as in f"{x = }"
            return _Field(start, _end_of_format(source, match.start(), depth), expression)
    raise _UnreadableError


def _end_of_format(source: str, position: int, depth: int) -> int:
    """Where a field ends whose expression ends at a position; its format may hold fields."""
    while match := _BRACE.search(source, position):
        if match[0] == "}":
            return match.end()
        position = _field(source, match.start(), depth + 1).end
    raise _UnreadableError
