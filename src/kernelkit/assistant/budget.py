"""What an assistant may spend, given once when its server starts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from kernelkit.errors import CapacityError


@dataclass
class Budget:
    """Session hours, pushes and submissions that are left; nothing is allowed by default."""

    hours: float = 0.0
    pushes: int = 0
    submissions: int = 0

    @contextlib.contextmanager
    def spending(
        self, *, hours: float = 0.0, pushes: int = 0, submissions: int = 0
    ) -> Iterator[list[bool]]:
        """Take this off before the block; raises `CapacityError` where too little is left.

        The block appends False to the list where it knows that nothing was spent; then the sum is
        given back.
        """
        needed = {"hours": hours, "pushes": pushes, "submissions": submissions}
        for name, sum_needed in needed.items():
            if not 0 <= sum_needed <= getattr(self, name):  # NaN is neither
                raise CapacityError(
                    f"the budget has {getattr(self, name):g} {name} left and this takes "
                    f"{sum_needed:g}: ask the person who started the server (kernelkit mcp "
                    f"--{name})"
                )
        self._add(needed, -1)
        spent: list[bool] = []
        yield spent
        if False in spent:
            self._add(needed, 1)

    def _add(self, sums: dict[str, float], sign: int) -> None:
        for name, value in sums.items():
            setattr(self, name, getattr(self, name) + sign * value)
