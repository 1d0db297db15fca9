"""A few images of a split, to look at."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from petals.data.damage import fault
from petals.data.shards import Split, decoded
from petals.errors import DataError


class Sample(NamedTuple):
    """uint8 images (n, size, size, 3), and their int64 labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


def sample_of(split: Split, which: int | Sequence[int]) -> Sample:
    """The first `which` images, or those at the given positions, in that order.

    Raises `DataError` that names an image which cannot be decoded.
    """
    positions = range(min(which, split.count)) if isinstance(which, int) else which
    numbered = enumerate(islice(split.examples(), max(positions) + 1))
    chosen = {at: example for at, example in numbered if at in positions}
    for example in chosen.values():
        if problem := fault(example, split.record_size):
            raise DataError(
                f"{Path(split.paths[0]).parent}: the image with id {example.id} cannot be "
                f"shown: {problem}; make its file again, or download it again"
            )
    images = [decoded(chosen[at].image, split.record_size, split.size) for at in positions]
    return Sample(np.stack(images), np.array([chosen[at].label for at in positions]))
