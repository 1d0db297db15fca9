"""The results of checks."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """The result of one check: an `error` stops the push, a `warning` is printed."""

    level: Literal["error", "warning"]
    text: str
    check: str = ""  # the check's name, for --ignore


def error(text: str) -> Finding:
    """A finding that stops the push."""
    return Finding("error", text)


def warning(text: str) -> Finding:
    """A finding that is printed."""
    return Finding("warning", text)
