"""The drawn flowers of the repository, in the competition's format, for runs without a download.

`drawn_flowers/` holds 3,947 pictures of 104 kinds once, in one size; `tools/draw_flowers` drew
them. This module gives them in any other size.
"""

import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from PIL import Image

from petals import storage
from petals.data import layout, records, shards, writing
from petals.data.shards import Split
from petals.errors import DataError, SettingError
from petals.progress import Progress

FOLDER = Path(__file__).parents[3] / "drawn_flowers"
MANIFEST = "manifest.json"  # how the set was made, and the hashes of its files
TABLES = ("sample_submission.csv", "solution.csv")
SMALLEST = 8  # pixels
QUALITY = 90  # of the JPEGs of another size


def at_size(cache: Path, size: int) -> Path:
    """The folder of the drawn flowers at `size` pixels a side.

    This is the repository's own folder if it has that size, otherwise a copy below `cache`, which
    is made once, with lines about its progress. If several processes call this, one makes the copy
    and the others wait.

    Raises:
        DataError: if the repository's folder is missing or damaged.
        SettingError: for a size below 8.
        StorageError: if the disk is full or the cache is read-only.
    """
    if size < SMALLEST:
        raise SettingError(f"image_size={size}: the drawn flowers have {SMALLEST} pixels or more")
    try:
        manifest = (FOLDER / MANIFEST).read_bytes()
    except OSError:
        raise DataError(
            f"there are no drawn flowers in {FOLDER}: only a checkout of the repository has them. "
            "Restore that folder (git checkout), or set data to a folder of your own"
        ) from None
    if size in layout.sizes(FOLDER):
        return FOLDER
    version = hashlib.sha256(manifest).hexdigest()[:9]
    folder = cache / f"drawn-flowers-{version}-{size}px"
    storage.write_once(folder, partial(_write_resized, size=size))
    return folder


def _write_resized(root: Path, size: int) -> None:
    """Write the set to `root` with pictures of another size."""
    own = max(layout.sizes(FOLDER))
    splits = {name: Split.find(str(FOLDER), own, name) for name in shards.SPLITS}
    total = sum(split.count for split in splits.values())
    done = 0
    progress = Progress()
    for name, split in splits.items():
        place = Path(writing.folder(root, size, name))
        writing.write_shards(place, size, split.count, _resized(split, size, progress, done, total))
        done += split.count
    for table in TABLES:
        shutil.copyfile(FOLDER / table, root / table)


def _resized(
    split: Split, size: int, progress: Progress, done: int, total: int
) -> Iterator[records.Example]:
    """The examples of a split in order; `done` images of `total` came before them."""
    examples = list(split.examples())
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Pillow's work leaves Python's lock free
        jpegs = pool.map(partial(_resized_jpeg, size=size), [e.image for e in examples])
        for number, (example, jpeg) in enumerate(zip(examples, jpegs, strict=True), done + 1):
            progress("resizing the drawn flowers", number, total)
            yield records.Example(jpeg, example.id, example.label)


def _resized_jpeg(jpeg: bytes, size: int) -> bytes:
    file = io.BytesIO()
    with Image.open(io.BytesIO(jpeg)) as picture:
        resized = picture.resize((size, size), Image.Resampling.BICUBIC)
    resized.save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
