"""A dataset of drawn flowers in the competition's format, for runs without a download.

`petals.prepare.flowers` draws the pictures; this module makes splits and files, and caches them.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from petals import storage
from petals.data.classes import CLASSES
from petals.errors import SettingError
from petals.prepare.flowers.picture import draw_flower
from petals.progress import ShowProgress

VERSION = 1  # raise it whenever a pixel changes: caches of another version are not used
JPEG_QUALITY = 90
COUNTS = {"train": 24, "val": 5, "test": 3}  # images per class; for train, the mean
# How many training images per class has, relative to the mean: real classes are uneven too.
_IMBALANCE = (0.67, 0.83, 1.0, 1.17, 1.33)
_SHARDS = {"train": 8, "val": 4, "test": 4}
_FIRST_INDEX = {"train": 0, "val": 1_000_000, "test": 2_000_000}  # no picture is in two splits
_AT_A_TIME = 32  # images per worker and batch, so that an interruption takes effect soon
_IDLE = 10  # seconds after which a worker without work ends


@dataclass(frozen=True, order=True)
class _Picture:
    id: str
    label: int
    index: int


def ensure_dataset(
    cache: str | Path,
    size: int = 192,
    counts: Mapping[str, int] = COUNTS,
    progress: ShowProgress | None = None,
) -> Path:
    """The folder of the dataset below `cache`; draws the dataset if it does not exist yet.

    If several processes call this, one draws and the others wait. Arguments and errors are those of
    `write_dataset`.
    """
    images = "-".join(str(counts[split]) for split in _SHARDS)
    folder = Path(cache) / f"flowers-v{VERSION}-{size}px-{images}-seed0"
    draw = partial(write_dataset, size=size, counts=counts, progress=progress)
    storage.write_once(folder, draw)
    return folder


def write_dataset(
    root: str | Path,
    size: int = 192,
    counts: Mapping[str, int] = COUNTS,
    workers: int | None = None,
    progress: ShowProgress | None = None,
) -> None:
    """Draw a dataset: `tfrecords-jpeg-SxS/`, `sample_submission.csv` and `solution.csv`.

    Args:
        root: the folder to write to.
        size: width and height of the images in pixels; the flowers are the same at every size.
        counts: images per class in train, val and test; for train it is the mean, and a class has
            0.67 to 1.33 times as many.
        workers: processes that draw; by default one per core, at most 8.
        progress: called with (what, images done, images in total) after each image.

    The true labels of the test images are only in `solution.csv`, not in the shards.

    Raises:
        SettingError: for a count below 1, or a size below 8.
        StorageError: if the disk is full or the folder is read-only.
    """
    if min(counts.values()) < 1 or size < 8:
        raise SettingError(
            f"cannot draw {dict(counts)} images per class of {size} pixels: counts start at 1, "
            "sizes at 8"
        )
    root, splits = Path(root), _plan(counts)
    pictures = [picture for split in splits.values() for picture in split]
    images = _drawn(pictures, size, workers or min(8, os.cpu_count() or 1))
    numbers = count(1)

    def image() -> bytes:
        jpeg = next(images)
        if progress:
            progress("drawing flowers", next(numbers), len(pictures))
        return jpeg

    for split, members in splits.items():
        _write_shards(root, size, split, members, image)
    _write_labels(root / "sample_submission.csv", splits["test"], lambda picture: 0)
    _write_labels(root / "solution.csv", splits["test"], lambda picture: picture.label)


def _write_shards(
    root: Path, size: int, split: str, pictures: Sequence[_Picture], image: Callable[[], bytes]
) -> None:
    # These import TensorFlow, which the drawing processes do without.
    from petals.data import shards, tfrecords

    folder = Path(shards.folder(root, size, split))
    bounds = np.linspace(0, len(pictures), min(_SHARDS[split], len(pictures)) + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(bounds)):
        labelled = split != "test"
        tfrecords.write_shard(
            folder / shards.shard_name(number, size, int(stop - start)),
            (
                tfrecords.Example(image(), picture.id, picture.label if labelled else None)
                for picture in pictures[start:stop]
            ),
        )


def _plan(counts: Mapping[str, int]) -> dict[str, list[_Picture]]:
    """The pictures of each split, sorted by their random ids."""
    taken: set[str] = set()
    splits: dict[str, list[_Picture]] = {}
    for split, images in counts.items():
        splits[split] = []
        for label in range(len(CLASSES)):
            share = _IMBALANCE[label * 2 % 5] if split == "train" else 1.0
            for k in range(max(1, int(images * share + 0.5))):
                index = _FIRST_INDEX[split] + k
                id = f"0/{label}/{index}"
                while len(id) != 9 or id in taken:  # nine digits, as the competition's ids have
                    id = hashlib.blake2b(id.encode(), digest_size=8).hexdigest()[:9]
                taken.add(id)
                splits[split].append(_Picture(id, label, index))
        splits[split].sort()
    return splits


def _write_labels(
    path: Path, pictures: Sequence[_Picture], label_of: Callable[[_Picture], int]
) -> None:
    rows = [(picture.id, label_of(picture)) for picture in pictures]
    storage.write_csv(path, ("id", "label"), rows)


def _jpeg(label: int, index: int, size: int) -> bytes:
    file = io.BytesIO()
    image = Image.fromarray(draw_flower(label, index, size))
    image.save(file, "JPEG", quality=JPEG_QUALITY)
    return file.getvalue()


def _drawn(pictures: Sequence[_Picture], size: int, workers: int) -> Iterator[bytes]:
    """The JPEGs of pictures, in order.

    Drawing consists of many small numpy calls that hold Python's lock, so threads do not speed it
    up. Unlike those of multiprocessing, joblib's processes do not run the user's script again.
    """
    if len(pictures) < 200:
        workers = 1  # starting processes takes longer than drawing
    jobs = [delayed(_jpeg)(picture.label, picture.index, size) for picture in pictures]
    done = 0
    try:
        with Parallel(n_jobs=workers, idle_worker_timeout=_IDLE) as pool:
            while done < len(jobs):
                images = pool(jobs[done : done + _AT_A_TIME * workers])
                done += len(images)
                yield from images
    except BrokenExecutor:  # a worker did not start or was killed: this process draws the rest
        yield from (_jpeg(*arguments) for _, arguments, _ in jobs[done:])
