"""What a check has to say before a push."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing found: an `error` stops the push, a `warning` is printed."""

    level: Literal["error", "warning"]
    text: str


def error(text: str) -> Finding:
    """A finding that stops the push."""
    return Finding("error", text)


def warning(text: str) -> Finding:
    """A finding that is printed."""
    return Finding("warning", text)
