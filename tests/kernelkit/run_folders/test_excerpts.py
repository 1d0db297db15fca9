"""What is too long is shown from both ends, and the rest is told of."""

import random

import pytest

from kernelkit.run_folders.excerpts import excerpt, joined


def test_a_short_text_is_whole():
    assert excerpt("petals", 6, "there") == "petals"
    assert joined(["pe", "tals"], 6, "there") == "petals"
    assert joined([], 6, "there") == ""


def test_a_long_text_names_what_is_left_out():
    message = excerpt("a" * 50 + "x" * 900 + "b" * 50, 100, "the log has them")
    assert (
        message == f"{'a' * 50}\n… 900 characters are left out here: the log has them …\n{'b' * 50}"
    )


@pytest.mark.parametrize("seed", range(30))
def test_pieces_are_shown_as_the_whole_would_be(seed):
    draw = random.Random(seed)
    parts = ["abc"[n % 3] * draw.randint(0, 40) for n in range(draw.randint(0, 60))]
    longest = 2 * draw.randint(1, 200)
    assert joined(iter(parts), longest, "there") == excerpt("".join(parts), longest, "there")
