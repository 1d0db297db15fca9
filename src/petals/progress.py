"""Lines that say how far a long step is, at a pace a person can read."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO


class ProgressLine:
    """Lines that stay, and one that moves: written over where a person watches, else a new one."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.in_place = self.stream.isatty() or (stream is None and in_open_notebook())
        self._width = 0  # characters of the line on the screen

    def move(self, line: str) -> None:
        """Show the line until the next one comes."""
        # Jupyter goes back to the line's start and does not erase: blanks cover the old one.
        self.stream.write(f"\r{line:<{self._width}}" if self.in_place else f"{line}\n")
        self.stream.flush()
        self._width = len(line) if self.in_place else 0

    def stay(self, line: str) -> None:
        """Show the line for good, in the place of one that moved."""
        self.stream.write(f"\r{line:<{self._width}}\n" if self._width else f"{line}\n")
        self.stream.flush()
        self._width = 0


class Progress:
    """Call it with (what, done, total); it writes a line now and then, with the time left.

    In a terminal and in a notebook that a person has open, one line is written over and over; in
    a log, as papermill and Kaggle keep one, a new line comes every `every` seconds, and none for
    what is over before the first is due.
    """

    def __init__(self, every: float = 5.0, stream: TextIO | None = None) -> None:
        self._line = ProgressLine(stream)
        self.every = 0.2 if self._line.in_place else every
        self._what, self._done, self._total = "", 0, 0
        self._begun, self._before, self._told = 0.0, 0, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what` are behind us.

        Another `what` or `total`, and a `done` that goes back, begin something new with a clock of
        its own. The clock starts with the first call, so what was done by then has no rate.
        """
        now = time.monotonic()
        over = self._done >= self._total
        if over or done < self._done or (what, total) != (self._what, self._total):
            self._what, self._total = what, total
            self._begun, self._before, self._told = now, done, now
        self._done = done
        if done < total and now - self._told < self.every:
            return
        elapsed, spoken = now - self._begun, self._told > self._begun
        self._told = now
        if done < total:
            self._line.move(f"  {self._told_at(elapsed)}")
        elif self._line.in_place or spoken:
            self._line.stay(f"  {self._told_at(elapsed)}")

    def _told_at(self, elapsed: float) -> str:
        message = f"{self._what} {self._done:,} of {self._total:,}"
        if self._done == self._before or not elapsed:
            return message
        rate = (self._done - self._before) / elapsed
        left = (self._total - self._done) / rate
        return f"{message}  {rate:,.0f} a second  {time_left(left)}"


def time_left(seconds: float) -> str:
    """Seconds as `1:05 left`."""
    return f"{int(seconds // 60)}:{int(seconds % 60):02d} left"


def in_open_notebook() -> bool:
    """Whether a person has this notebook open: Jupyter's server or Kaggle's editor started it."""
    return "JPY_SESSION_NAME" in os.environ or (
        os.environ.get("KAGGLE_KERNEL_RUN_TYPE") == "Interactive"
    )
