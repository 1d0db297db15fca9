"""The search asks little, and finds the edge in steps of eight."""

import pytest

from kernelkit.tpu.largest_batch import largest


@pytest.mark.parametrize("edge", [8, 16, 24, 40, 100, 512])
def test_the_edge_is_found_in_steps_of_eight(edge):
    asked = []

    def fits(batch):
        asked.append(batch)
        return batch <= edge

    good, bad = largest(16, fits)
    assert (good, bad) == (edge // 8 * 8, edge // 8 * 8 + 8)
    assert all(batch % 8 == 0 for batch in asked)
    assert len(asked) == len(set(asked)) <= 14


def test_nothing_fits():
    assert largest(30, lambda batch: False) == (0, 8)


def test_all_that_is_tried_fits():
    assert largest(8, lambda batch: True, most=64) == (64, 0)
