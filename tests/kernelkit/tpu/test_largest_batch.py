"""The search asks little, and finds the edge in steps of eight."""

import pytest

from kernelkit.tpu.largest_batch import MOST, STEP, largest

ROOM = 100_000


def search(memory, begin=16):
    """((good, bad), batches that were asked for) where a batch fits that takes `ROOM` at most."""
    asked = []

    def compiled(batch):
        asked.append(batch)
        peak = memory(batch)
        return (peak, memory(0)) if peak <= ROOM else None

    found = largest(begin, compiled, ROOM)
    assert all(batch % 8 == 0 for batch in asked)
    assert len(asked) == len(set(asked))
    return found, asked


@pytest.mark.parametrize("edge", [8, 24, 100, 512])
@pytest.mark.parametrize("fixed", [0, 40_000])
def test_the_edge_is_found_in_steps_of_eight_whatever_any_batch_takes(edge, fixed):
    found, asked = search(lambda batch: fixed + batch * (ROOM - fixed) // edge)
    assert found == (edge // 8 * 8, edge // 8 * 8 + 8)
    assert len(asked) <= 3  # of which one or two are refused, which takes seconds


@pytest.mark.parametrize("power", [0.3, 3])
def test_a_bad_estimate_ends_in_halving(power):
    found, asked = search(lambda batch: int(ROOM * (batch / 700) ** power))
    assert found == (696, 704)
    assert len(asked) <= 16


def test_nothing_fits():
    assert search(lambda batch: 2 * ROOM, begin=30) == ((0, 8), [32, 16, 8])


def test_a_batch_of_0_begins_with_the_smallest():
    assert search(lambda batch: batch * ROOM // 16, begin=0) == ((16, 24), [8, 16, 24])


def test_all_that_is_tried_fits():
    assert search(lambda batch: 0, begin=8) == ((MOST, MOST + STEP), [8, MOST])
