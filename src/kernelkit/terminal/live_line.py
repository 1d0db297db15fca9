"""Output for people: lines that stay, and one live line that changes during long work.

In a terminal the live line is overwritten in place; elsewhere, as in a CI log, it is written at
most once a minute. Diagnostics of C++ libraries are dropped. Colours and the box around a result
appear only in a terminal that supports them.
"""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import TextIO

import click

from kernelkit.terminal import safe_text

PLAIN_SECONDS = 60.0  # between two states of the live line outside a terminal
WARNINGS = frozenset({"warning", "retrying", "stopped", "set aside"})
FAILURES = frozenset({"error", "failure"})
NAME_WIDTH = 9  # columns for an event's name
LAST = 2  # parts at the end of a live line that are never cut: the rate and the time left

# `  reading 3 of 12`, `epoch 3/12  loss 0.4  0:41 left`, and the bars that tqdm draws
_PROGRESS = re.compile(r"^\s+\S.* \d[\d,]* of \d[\d,]*\s*$|\d:\d\d left\s*$|\d%\|")
_BETWEEN = re.compile(r"(?<=\S)  (?=\S)")
_COUNT = re.compile(r"(\d[\d,]*)(?:/| of )(\d[\d,]*)")
# C++ libraries, such as TensorFlow's, begin a line with its level, time, process and location.
_NOTE = re.compile(
    r"([IWE])\d{4} \S+ +\d+ \S+:\d+\]|WARNING: All log messages before absl::"
    r"|To enable the following instructions: "
)


def is_step(line: str) -> bool:
    """Whether a line shows the progress of unfinished work."""
    if not _PROGRESS.search(line):
        return False
    counts = _COUNT.findall(line)  # of epochs, and of steps within the last epoch
    return not counts or any(done != total for done, total in counts)


def note_level(line: str) -> str:
    """The level of a line that is a C++ library's diagnostic, I, W or E; "" for other lines."""
    note = _NOTE.match(line)
    return note[1] or "I" if note else ""


class LiveLine:
    """A stream whose last line is overwritten."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._in_place = stream.isatty()
        self._on_screen = False
        self._written_at = time.monotonic()

    def stay(self, *lines: str) -> None:
        """Write lines that stay."""
        self.erase()
        for line in lines:
            self._write(f"{line.rstrip()}\n")
        self.stream.flush()

    def move(self, line: str) -> None:
        """Replace the live line; the new text is cut to the width of the terminal."""
        if self._in_place:
            self.erase()
            self._write(fitted(line, _width() - 1))
            self.stream.flush()
            self._on_screen = True
        elif time.monotonic() - self._written_at >= PLAIN_SECONDS:
            self._written_at = time.monotonic()
            self.stay(line)

    def erase(self) -> None:
        """Erase the live line."""
        if self._on_screen:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._on_screen = False

    def _write(self, text: str) -> None:
        self.stream.write(safe_text.writable(text, self.stream))


class NotebookOutput(io.TextIOBase):
    """A stream that copies a notebook's output to another stream, with its steps on one line.

    Colours are kept, unless NO_COLOR is set (https://no-color.org).
    """

    def __init__(self, stream: TextIO) -> None:
        self._line = LiveLine(stream)
        self._rest = ""

    def write(self, text: str) -> int:
        """Show the complete lines; an incomplete last line waits for its end."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._show(line)
        return len(text)

    def close(self) -> None:
        """Show an incomplete last line, and erase the live line."""
        if self._rest:
            self._show(self._rest)
        self._rest = ""
        self._line.erase()

    def _show(self, line: str) -> None:
        line = safe_text.plain(line, colours=not os.environ.get("NO_COLOR"))
        if is_step(line):
            self._line.move(safe_text.plain(line))
        elif not note_level(line):
            self._line.stay(line)


def fitted(line: str, width: int) -> str:
    """The line in at most `width` characters, keeping its beginning and its end (the time left).

    Parts such as `loss 0.4`, separated by two spaces, are dropped whole, from the left.
    """
    first, *parts = _BETWEEN.split(line)
    while len(line) > width and len(parts) > LAST:
        del parts[0]
        line = "  ".join([first, *parts])
    if len(line) <= width:
        return line
    end = min(30, width // 2)
    return f"{line[: max(0, width - end - 1)]}…{line[len(line) - end :]}"[: max(0, width)]


def _width() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80


def has_colours(stream: TextIO) -> bool:
    """Whether the stream is a terminal, and its user has not disabled colours (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def label(event: str, *, coloured: bool) -> str:
    """An event's name in `NAME_WIDTH` columns: failures in red, warnings in yellow, others dim."""
    text = f"{event:<{NAME_WIDTH}}"
    if not coloured:
        return text
    if event in FAILURES:
        return click.style(text, fg="red", bold=True)
    return click.style(text, fg="yellow") if event in WARNINGS else click.style(text, dim=True)


def box(title: str, rows: Iterable[tuple[str, Sequence[str]]], *, coloured: bool) -> list[str]:
    """The lines of a box around named rows of text.

    It has no right border, so that a path or a command can be copied without one.
    """

    def edge(text: str) -> str:
        return click.style(text, fg="green") if coloured else text

    lines = [
        f"{edge('│')} {label(name if not row else '', coloured=coloured)} {text}"
        for name, texts in rows
        for row, text in enumerate(texts)
    ]
    return [edge(f"╭── {title}".rstrip()), *lines, edge("╰──")]
