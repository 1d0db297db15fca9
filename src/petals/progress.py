"""Lines that say how far a long step is, at a pace a person can read."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Call it with (what, done, total); it writes a line now and then, with the time left.

    In a terminal one line is written over and over; in a notebook or a log a new line comes
    every `every` seconds, and none for what is over before the first is due.
    """

    def __init__(self, every: float = 5.0, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.every = 0.2 if self.stream.isatty() else every
        self._what, self._begun, self._told = "", 0.0, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what` are behind us."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._begun, self._told = what, now, now
        if done < total and now - self._told < self.every:
            return
        elapsed, spoken = now - self._begun, self._told > self._begun
        self._told = now
        if self.stream.isatty():
            end = "\n" if done >= total else ""
            self.stream.write(f"\r\x1b[K  {self._line(done, total, elapsed)}{end}")
        elif done < total or spoken:
            self.stream.write(f"  {self._line(done, total, elapsed)}\n")
        self.stream.flush()

    def _line(self, done: int, total: int, elapsed: float) -> str:
        rate = done / max(elapsed, 1e-9)
        left = (total - done) / max(rate, 1e-9)
        return (
            f"{self._what} {done:,} of {total:,}  {rate:,.0f} a second  "
            f"{int(left // 60)}:{int(left % 60):02d} left"
        )
