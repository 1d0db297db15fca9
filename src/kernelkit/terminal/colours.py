"""Colours and the box at the end of a command, for a terminal that has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TextIO

import click

WARNINGS = frozenset({"warning", "retrying", "stopped", "set aside"})
FAILURES = frozenset({"error", "failure"})
WIDTH = 9  # columns for an event's name


def wanted(stream: TextIO) -> bool:
    """Whether the stream is a terminal whose user has not refused colours (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def label(event: str, *, coloured: bool) -> str:
    """An event's name in `WIDTH` columns: failures red, warnings yellow, the others dim."""
    text = f"{event:<{WIDTH}}"
    if not coloured:
        return text
    if event in FAILURES:
        return click.style(text, fg="red", bold=True)
    return click.style(text, fg="yellow") if event in WARNINGS else click.style(text, dim=True)


def box(title: str, rows: Iterable[tuple[str, Sequence[str]]], *, coloured: bool) -> list[str]:
    """The lines of a box around named rows of text.

    It is open to the right, so that a path or a command in it is copied without a border.
    """

    def edge(text: str) -> str:
        return click.style(text, fg="green") if coloured else text

    lines = [
        f"{edge('│')} {label(name if not row else '', coloured=coloured)} {text}"
        for name, texts in rows
        for row, text in enumerate(texts)
    ]
    return [edge(f"╭── {title}".rstrip()), *lines, edge("╰──")]
