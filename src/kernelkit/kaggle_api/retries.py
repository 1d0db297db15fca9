"""Asking again: bounded, with growing pauses, and as late as `Retry-After` says."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kernelkit.kaggle_api.clock import REAL, Clock
from kernelkit.kaggle_api.failures import Failure

T = TypeVar("T")


@dataclass(frozen=True)
class Retries:
    """How often and how late a request that may be repeated is repeated.

    Pauses double from `first` to `longest` seconds with up to a quarter of jitter, so that
    many clients do not come back together. `patience` bounds the sum of the pauses.
    """

    attempts: int = 8
    first: float = 2.0
    longest: float = 60.0
    patience: float = 600.0
    clock: Clock = field(default=REAL)

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
                pause = self.pause(attempt, failure)
                late = self.clock.now() + pause > end
                if not failure.is_transient or attempt >= self.attempts or late:
                    raise
                self.clock.sleep(pause)
                attempt += 1
