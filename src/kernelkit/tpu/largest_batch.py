"""The largest batch that fits, searched for by compiling."""

from __future__ import annotations

from collections.abc import Callable

STEP = 8  # images for each replica: a TPU's vector registers have eight rows
MOST = 4096
GUESSES = 6  # after so many that did not settle it, the gap is halved

Tried = dict[int, int]  # bytes at peak by batch


def largest(
    begin: int,
    memory: Callable[[int], tuple[int, int] | None],
    room: int,
    most: int = MOST,
) -> tuple[int, int]:
    """(largest that fits, smallest that does not) in steps of `STEP`; 0 where there is none.

    `memory(n)` compiles a batch of n images for each replica. It gives (bytes that it takes at
    peak, bytes of these that any batch takes), or None where it does not fit a chip, which has
    `room` bytes. What a batch takes grows evenly, so the edge is estimated from the batches that
    fit; both results were compiled.
    """
    first = max(STEP, _whole(begin + STEP - 1))
    tried: Tried = {}
    good, bad, batch, times = 0, 0, first, 0
    while batch:
        used = memory(batch)
        if used is None:
            bad = batch
        else:
            good, tried[batch] = batch, used[0]
            tried.setdefault(0, used[1])
        times += 1
        batch = _next(good, bad, tried, room, most, halving=times >= GUESSES)
    return good, bad


def _next(good: int, bad: int, tried: Tried, room: int, most: int, halving: bool) -> int:
    """The next batch to try; 0 where the edge is found."""
    highest = bad - STEP if bad else _whole(most)
    if good >= highest:
        return 0
    if halving or not good:
        return _whole(good + (highest - good + STEP) // 2) or STEP
    return min(max(_estimate(tried, room), good + STEP), highest)


def _estimate(tried: Tried, room: int) -> int:
    """The batch that fills the room, by the line through the two largest that fit."""
    low, high = sorted(tried)[-2:]
    growth = (tried[high] - tried[low]) / (high - low)
    return _whole(high + int((room - tried[high]) / growth)) if growth > 0 else 2 * high


def _whole(batch: int) -> int:
    return batch // STEP * STEP
