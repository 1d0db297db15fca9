"""Lines that show the progress of a long step, at a readable pace."""

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

ShowProgress = Callable[[str, int, int], None]  # what is done, units done, units in all


class Progress:
    """Shows the progress of a step and its remaining time: call it with (what, done, total).

    In a terminal and in a notebook that a person has open, one line is overwritten. In a log, such
    as papermill's and Kaggle's, a new line follows every `every` seconds; a step that ends before
    its first line is due gets none.
    """

    def __init__(self, every: float = 5.0, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        # Jupyter's server or Kaggle's editor started the notebook that a person has open.
        opened = "JPY_SESSION_NAME" in os.environ or (
            os.environ.get("KAGGLE_KERNEL_RUN_TYPE") == "Interactive"
        )
        self.in_place = self.stream.isatty() or (stream is None and opened)
        self.every = 0.2 if self.in_place else every
        self._what = ""
        self._done = 0
        self._total = 0
        self._begun = 0.0
        self._first = 0
        self._written = 0.0
        self._width = 0  # characters of the line that will be overwritten

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of the `total` units of `what` are finished.

        A new `what` or `total`, or a smaller `done`, starts another step with its own clock. The
        clock starts with the step's first call, so the units done by then do not count in its rate.
        """
        now = time.monotonic()
        over = self._done >= self._total
        if over or done < self._done or (what, total) != (self._what, self._total):
            self._what = what
            self._total = total
            self._begun = now
            self._first = done
            self._written = now
        self._done = done
        if done < total and now - self._written < self.every:
            return
        rate = self._rate(done)
        line = f"  {what} {done:,} of {total:,}"
        if rate:
            line += f"  {rate:,.0f} a second"
        line += self.time_left(done)
        if done == total and (self.in_place or self._written > self._begun):
            self.stay(line)
        elif done < total:
            # Jupyter returns to the start of the line without erasing it: blanks cover the old one.
            self._write(f"\r{line:<{self._width}}" if self.in_place else f"{line}\n")
            self._width = len(line) if self.in_place else 0
        self._written = now

    def stay(self, line: str) -> None:
        """Print a line that is not overwritten, in place of the one that would be."""
        self._write(f"\r{line:<{self._width}}\n" if self._width else f"{line}\n")
        self._width = 0

    def time_left(self, done: int) -> str:
        """`  1:05 left` at the pace of the step so far; "" while that is unknown."""
        rate = self._rate(done)
        if not rate:
            return ""
        seconds = int((self._total - done) / rate)
        return f"  {seconds // 60}:{seconds % 60:02d} left"

    def _rate(self, done: int) -> float:
        """Units a second since the step's first call, 0 while that is unknown."""
        elapsed = time.monotonic() - self._begun
        if not self._total or not elapsed:
            return 0.0
        return (done - self._first) / elapsed

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
