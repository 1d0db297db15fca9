"""Asking again: bounded, with growing pauses, and as late as `Retry-After` says.

The clock is passed in, so that a test need not wait as long as Kaggle takes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kernelkit.kaggle_api.failures import Failure

T = TypeVar("T")

TOLD = 30.0  # seconds of silence that need an explanation


@dataclass(frozen=True)
class Clock:
    """A clock that runs `speed` times as fast as the wall's; all times are seconds of its own."""

    speed: float = 1.0
    _sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic() * self.speed

    def sleep(self, seconds: float) -> None:
        """Wait; a negative time is none."""
        self._sleep(max(0.0, seconds) / self.speed)

    def wall(self, seconds: float) -> float:
        """How long `seconds` of this clock are on the wall's."""
        return seconds / self.speed


REAL = Clock()


@dataclass(frozen=True)
class Retries:
    """How often and how late a request that may be repeated is repeated.

    Pauses double from `first` to `longest` seconds with up to a quarter of jitter, so that
    many clients do not come back together. `patience` bounds the sum of the pauses. `tell` is
    told of each pause of `TOLD` seconds and more, with the failure that it follows.
    """

    attempts: int = 8
    first: float = 2.0
    longest: float = 60.0
    patience: float = 600.0
    clock: Clock = field(default=REAL)
    tell: Callable[[Failure, float], None] | None = None

    def pause(self, attempt: int, failure: Failure) -> float:
        """Seconds to wait after failed attempt number `attempt`, counted from 1."""
        grown = min(self.longest, self.first * 2.0 ** (attempt - 1))
        jittered = grown * random.uniform(1.0, 1.25)
        return max(jittered, failure.retry_after or 0.0)

    def call(self, ask: Callable[[], T], until: float | None = None) -> T:
        """What `ask` returns, asked again while it raises a `Failure` that may pass.

        `until` is a time of the clock past which no further pause is begun. Raises the last
        `Failure`.
        """
        end = self.clock.now() + self.patience
        end = end if until is None else min(end, until)
        attempt = 1
        while True:
            try:
                return ask()
            except Failure as failure:
                if not failure.is_transient or attempt >= self.attempts:
                    raise
                self.rest(failure, self.pause(attempt, failure), end)
                attempt += 1

    def rest(self, failure: Failure, seconds: float, end: float) -> None:
        """Pause for that long after `failure`; raises it where the pause would pass `end`."""
        if self.clock.now() + seconds > end:
            raise failure
        if self.tell and seconds >= TOLD:
            self.tell(failure, seconds)
        self.clock.sleep(seconds)
