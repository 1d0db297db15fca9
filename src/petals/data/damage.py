"""Which image of a split cannot be used, and why."""

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from petals.data import records
from petals.data.formats import why_not_read
from petals.data.records import Example
from petals.data.shards import Split
from petals.errors import DataError


def fault(example: Example, size: int = 0, num_classes: int = 0) -> str:
    """Why an image cannot be used, "" if it can.

    `size`: pixels a side that it must have, 0 for any shape; with 0 classes any label is right.
    """
    if num_classes and not 0 <= example.label < num_classes:
        return f"label {example.label} is not in 0..{num_classes - 1}"
    if why := why_not_read(example.image):
        return why
    try:
        height, width, _ = tf.io.decode_jpeg(example.image, channels=3).shape
    except (tf.errors.InvalidArgumentError, ValueError):
        return "its image cannot be decoded"
    if size and not height == width == size:
        return f"image of {width} x {height} pixels"
    return ""


@contextmanager
def naming_damaged_files(split: Split) -> Iterator[None]:
    """Turn tf.data's error about a bad record or image into a `DataError` that names the file.

    The files are searched only after such an error.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        for path in split.paths:
            for number, example in enumerate(records.read(path, split.features)):
                if problem := fault(example, split.record_size):
                    raise DataError(
                        f"{path}: record {number}: {problem}; make the file again, or download it "
                        "again"
                    ) from error
        raise
