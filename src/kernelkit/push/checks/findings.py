"""The results of checks."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """The result of one check: an `error` stops the push; what it attached by itself or a
    `warning` is printed."""

    level: Literal["attached", "error", "warning"]
    text: str
    check: str = ""  # the check's name, for --ignore


def error(text: str) -> Finding:
    """A finding that stops the push."""
    return Finding("error", text)


def warning(text: str) -> Finding:
    """A finding that is printed."""
    return Finding("warning", text)


def attached(text: str) -> Finding:
    """A source that the push attaches by itself; it is printed."""
    return Finding("attached", text)
