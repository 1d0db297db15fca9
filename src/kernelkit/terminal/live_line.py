"""The last line of a terminal, overwritten in place, and what is laid out to fit one.

A CI log gets the same line each half minute.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Self, TextIO

from kernelkit.terminal import safe_text

PLAIN_SECONDS = 30.0  # between two states of the live line outside a terminal
TICK_SECONDS = 1.0  # between two states of the live line of `ticking`


class LiveLine:
    """A stream whose last line is overwritten.

    A process has one terminal, to which several of these may write: from other threads, or to
    stderr. Each first erases the live line that stands there.
    """

    _lock = threading.RLock()
    _standing: ClassVar[Self | None] = None  # whose live line is on the terminal

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._in_place = stream.isatty()
        self._written_at = time.monotonic()

    def stay(self, *lines: str) -> None:
        """Write lines that stay."""
        with self._lock:
            self.erase()
            for line in lines:
                self.write(f"{line.rstrip()}\n")

    def due(self) -> bool:
        """Whether `move` would write now."""
        return self._in_place or time.monotonic() - self._written_at >= PLAIN_SECONDS

    def move(self, line: str, *shorter: str) -> None:
        """Replace the live line by the first of the given ones that fits the terminal's width.

        If none fits, the last one is cut. Outside a terminal it is the first one, when it is due.
        """
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            fitting = [each for each in (line, *shorter) if len(each) <= width]
            text = fitting[0] if fitting else fitted((line, *shorter)[-1], width)
            with self._lock:
                self.erase()
                self.write(text)
                LiveLine._standing = self
        elif self.due():
            self._written_at = time.monotonic()
            self.stay(line)

    def erase(self) -> None:
        """Erase the live line."""
        with self._lock:
            standing = LiveLine._standing
            # Of another stream that is no longer the process's, nothing is on the terminal.
            if standing and (standing is self or standing.stream in (sys.stdout, sys.stderr)):
                standing.write("\r\x1b[K")
                LiveLine._standing = None

    def write(self, text: str) -> None:
        """Write text as far as the stream's encoding has it.

        If that fails (`| head -1`, a full disk), the command continues silently.
        """
        try:
            self.stream.write(safe_text.writable(text, self.stream))
            self.stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())


def fitted(line: str, width: int) -> str:
    """The line in at most `width` characters: its beginning, and its end with the time left."""
    half = (width - 1) // 2
    return line if len(line) <= width else f"{line[:half]}…{line[len(line) - half :]}"


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, its columns as wide as they need to be; each row is one line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


@contextmanager
def ticking(line: LiveLine, state: Callable[[], Sequence[str]]) -> Iterator[None]:
    """During a block, show a state on a live line each second, or half minute outside a terminal.

    `state` gives the line, and shorter ones for narrow terminals (`LiveLine.move`).
    """
    over = threading.Event()

    def tick() -> None:
        while not over.wait(TICK_SECONDS):
            if line.due():
                line.move(*state())

    ticker = threading.Thread(target=tick)
    try:
        ticker.start()  # a signal may arrive in it, and the process would wait for it for ever
        yield
    finally:
        over.set()
        if ticker.is_alive():
            ticker.join()
        line.erase()


@contextmanager
def working(what: str, line: LiveLine | None = None) -> Iterator[None]:
    """During a block, show what the command does and how long it has taken.

    `line`: by default one on stderr where stdout is not a terminal, so that a file gets the output
    alone.
    """
    state = so_far(what)
    line = line or LiveLine(sys.stdout if sys.stdout.isatty() else sys.stderr)
    line.move(what)
    with ticking(line, lambda: (state(), what)):
        yield


def so_far(what: str) -> Callable[[], str]:
    """A state for a live line: what the command does, and how long it has taken from now on."""
    begun = time.monotonic()
    return lambda: f"{what}: {time.monotonic() - begun:.0f} s"


def with_step(state: str, step: str) -> tuple[str, str, str]:
    """A state with the step that it is at, then in shorter forms: the step matters more."""
    step = step.strip()
    return f"{state}: {step}", f"{state.partition(',')[0]}: {step}", step
