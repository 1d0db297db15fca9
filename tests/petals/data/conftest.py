"""Pictures of drawn flowers, and splits of them."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def drawn():
    """200 drawn flowers of the repository."""
    from petals.data.samples import sample_of
    from petals.data.shards import Split
    from petals.prepare.drawn_flowers import FOLDER

    split = Split.find(str(FOLDER), 112, "val")
    return [Image.fromarray(pixels) for pixels in sample_of(split, 200).images]


@pytest.fixture
def picture(drawn):
    """Gives the flower of a number as a JPEG, the same picture in any size and quality."""

    def picture(number, quality=90, brighter=0, size=64, mirrored=False):
        image = drawn[number].resize((size, size), Image.Resampling.BICUBIC)
        pixels = (np.asarray(image).astype(int) + brighter).clip(0, 255).astype(np.uint8)
        buffer = io.BytesIO()
        image = Image.fromarray(pixels[:, ::-1] if mirrored else pixels)
        image.save(buffer, "JPEG", quality=quality)
        return buffer.getvalue()

    return picture


@pytest.fixture
def write_split():
    """Writes a split of one shard from (JPEG, id, label) rows."""
    from petals.data import records, shards, writing

    def write(root, split, rows, size=64):
        folder = Path(writing.folder(root, size, split))
        examples = [records.Example(*row) for row in rows]
        writing.write_shard(folder / writing.shard_name(0, size, len(examples)), examples)
        return shards.Split.find(str(root), size, split)

    return write


@pytest.fixture
def flip():
    """Damages a file: the bits of the byte in its middle."""

    def flip(path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)

    return flip
