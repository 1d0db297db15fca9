"""The largest batch that fits, searched for by compiling."""

from __future__ import annotations

from collections.abc import Callable

STEP = 8  # images for each replica: a TPU's vector registers have eight rows
MOST = 4096


def largest(begin: int, fits: Callable[[int], bool], most: int = MOST) -> tuple[int, int]:
    """(largest that fits, smallest that does not) in steps of `STEP`; 0 where there is none.

    `fits(n)` compiles a batch of n images for each replica. Doubles from `begin` until one does
    not fit, then halves the gap. A refusal takes seconds and a fit minutes, so few fits are asked.
    """
    step = max(STEP, -(-begin // STEP) * STEP)
    good, bad = 0, 0
    while not bad and step <= most:
        if fits(step):
            good, step = step, 2 * step
        else:
            bad = step
    if not bad:
        return good, 0
    while bad - good > STEP:
        middle = (good + bad) // 2 // STEP * STEP
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good, bad
