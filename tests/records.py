"""Small datasets in the competition's format: noisy pictures, one colour a class."""

import io
import itertools
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"blue": (40, 60, 220), "red": (220, 50, 40), "yellow": (230, 210, 40)}


def jpeg(number, size):
    """The picture of this number, the same at every size; its class is the number modulo 3."""
    noise = np.random.default_rng(number).integers(-60, 60, (16, 16, 3))
    pixels = (noise + np.array([*COLOURS.values()][number % 3])).clip(0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((size, size)).save(buffer, "JPEG")
    return buffer.getvalue()


def write_dataset(root, size, counts):
    """Write pictures 0, 1, ...: `counts` has those of each shard by split.

    An id is the picture's number in nine hexadecimal digits; the labels of the test split are
    unknown. Returns the ids in the last shard.
    """
    from petals import storage
    from petals.data import classes, records, writing

    numbers, ids = itertools.count(), []
    for split, in_shards in counts.items():
        for place, count in enumerate(in_shards):
            ids = [f"{number:09x}" for number in itertools.islice(numbers, count)]
            examples = (
                records.Example(
                    jpeg(int(id_, 16), size),
                    id_,
                    records.UNLABELLED if split == "test" else int(id_, 16) % 3,
                )
                for id_ in ids
            )
            name = writing.shard_name(place, size, count)
            writing.write_shard(Path(writing.folder(root, size, split)) / name, examples)
    storage.write_json(root / classes.FILE_NAME, [*COLOURS])
    return ids
