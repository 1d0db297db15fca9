"""Time as a thing to pass in, so that a test need not wait as long as Kaggle takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


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
