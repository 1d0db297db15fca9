"""When a failed request is repeated.

A limited number of times, with growing pauses, and not before the time in `Retry-After`. The clock
is passed in, so that a test need not wait as long as Kaggle takes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kernelkit.kaggle.transport.failures import Failure

T = TypeVar("T")

LONG_PAUSE = 30.0  # seconds of silence after which the user is told why


@dataclass(frozen=True)
class Clock:
    """A clock that runs `speed` times as fast as wall time; all times are its own seconds."""

    speed: float = 1.0

    def now(self) -> float:
        """Seconds since a fixed moment; never goes back."""
        return time.monotonic() * self.speed

    def sleep(self, seconds: float) -> None:
        """Wait; a negative time counts as zero."""
        time.sleep(max(0.0, seconds) / self.speed)

    def wall(self, seconds: float) -> float:
        """`seconds` of this clock as wall time."""
        return seconds / self.speed


REAL = Clock()


@dataclass(frozen=True)
class Retries:
    """How often, and after which pauses, a repeatable request is repeated.

    Pauses double from `first` to `longest` seconds with up to a quarter of jitter, so that
    many clients do not retry at the same moment. `patience` bounds the sum of the pauses. `tell` is
    called for each pause of `LONG_PAUSE` seconds and more, with the failure before the pause.
    """

    attempts: int = 8
    first: float = 2.0
    longest: float = 60.0
    patience: float = 600.0
    clock: Clock = REAL
    tell: Callable[[Failure, float], None] | None = None

    def pause(self, attempt: int, failure: Failure) -> float:
        """Seconds to wait after failed attempt number `attempt`, counted from 1."""
        grown = min(self.longest, self.first * 2.0 ** (attempt - 1))
        jittered = grown * random.uniform(1.0, 1.25)
        return max(jittered, failure.retry_after or 0.0)

    def rest(self, failure: Failure, seconds: float, before: float = 0.0) -> None:
        """Pause this long after `failure`, or raise it if that exceeds `patience`.

        `before`: the seconds of the pauses before this one.
        """
        if before + seconds > self.patience:
            raise failure
        if self.tell and seconds >= LONG_PAUSE:
            self.tell(failure, seconds)
        self.clock.sleep(seconds)

    def call(self, ask: Callable[[], T], until: float | None = None) -> T:
        """The result of `ask`, which is called again while it raises a transient `Failure`.

        `until` is a time of the clock after which no further pause begins. Raises the last
        `Failure`.
        """
        attempt = 1
        paused = 0.0
        while True:
            try:
                return ask()
            except Failure as failure:
                if not failure.is_transient or attempt >= self.attempts:
                    raise
                pause = self.pause(attempt, failure)
                if until is not None and self.clock.now() + pause > until:
                    raise
                self.rest(failure, pause, paused)
                paused += pause
                attempt += 1
