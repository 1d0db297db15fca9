"""A dataset of drawn flowers in the competition's format, for runs without a download.

`petals.prepare.flowers` draws the pictures; this module makes splits and files, and caches them.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from joblib import Parallel, delayed

from petals import storage
from petals.data import shards
from petals.data.classes import CLASSES
from petals.prepare.flowers.picture import flower_jpeg
from petals.progress import ShowProgress

VERSION = 2  # raise it whenever a pixel changes: caches of another version are not used
COUNTS = {"train": 24, "val": 5, "test": 3}  # images per class; for train, the mean
# How many training images per class has, relative to the mean: real classes are uneven too.
_IMBALANCE = (0.67, 0.83, 1.0, 1.17, 1.33)
_FIRST_NUMBER = {"train": 0, "val": 1_000_000, "test": 2_000_000}  # no picture is in two splits
_FEW = 200  # pictures: starting processes takes longer than drawing them
_IDLE = 10  # seconds after which a worker without work ends


class _Picture(NamedTuple):
    id: str
    label: int
    number: int  # of the class's pictures


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
    images = "-".join(map(str, counts.values()))
    folder = Path(cache) / f"flowers-v{VERSION}-{size}px-{images}-seed0"
    draw = partial(write_dataset, size=size, counts=counts, progress=progress)
    storage.write_once(folder, draw)
    return folder


def write_dataset(
    root: Path, size: int, counts: Mapping[str, int], progress: ShowProgress | None = None
) -> None:
    """Draw a dataset: `tfrecords-jpeg-SxS/`, `sample_submission.csv` and `solution.csv`.

    Args:
        root: the folder to write to.
        size: width and height of the images in pixels; the flowers are the same at every size.
        counts: images per class in train, val and test, at least 1; for train it is the mean, and
            a class has 0.67 to 1.33 times as many.
        progress: called with (what, images done, images in total) after each image.

    The true labels of the test images are only in `solution.csv`, not in the shards.

    Raises:
        SettingError: for a size below 8.
        StorageError: if the disk is full or the folder is read-only.
    """
    splits = _plan(counts)
    jpegs = _drawn([picture for split in splits.values() for picture in split], size, progress)
    for split, pictures in splits.items():
        examples = (
            shards.Example(next(jpegs), id, shards.UNLABELLED if split == "test" else label)
            for id, label, _ in pictures
        )
        place = Path(shards.folder(root, size, split))
        shards.write_shards(place, size, len(pictures), examples)
    header, test = ("id", "label"), splits["test"]
    storage.write_csv(root / "sample_submission.csv", header, [(id, 0) for id, _, _ in test])
    storage.write_csv(root / "solution.csv", header, [(id, label) for id, label, _ in test])


def _plan(counts: Mapping[str, int]) -> dict[str, list[_Picture]]:
    """The pictures of each split, sorted by their random ids."""
    taken: set[str] = set()
    splits: dict[str, list[_Picture]] = {}
    for split, images in counts.items():
        splits[split] = []
        for label in range(len(CLASSES)):
            share = _IMBALANCE[label * 2 % 5] if split == "train" else 1.0
            for k in range(max(1, int(images * share + 0.5))):
                number = _FIRST_NUMBER[split] + k
                id = f"0/{label}/{number}"
                while len(id) != 9 or id in taken:  # nine digits, as the competition's ids have
                    id = hashlib.blake2b(id.encode(), digest_size=8).hexdigest()[:9]
                taken.add(id)
                splits[split].append(_Picture(id, label, number))
        splits[split].sort()
    return splits


def _drawn(
    pictures: Sequence[_Picture], size: int, progress: ShowProgress | None
) -> Iterator[bytes]:
    """The JPEGs of pictures, in order.

    Drawing consists of many small numpy calls that hold Python's lock, so threads do not speed it
    up. Unlike those of multiprocessing, joblib's processes do not run the user's script again.
    """
    workers = min(8, os.cpu_count() or 1) if len(pictures) > _FEW else 1
    pool = Parallel(n_jobs=workers, return_as="generator", idle_worker_timeout=_IDLE)
    jobs = (delayed(flower_jpeg)(label, number, size) for _, label, number in pictures)
    for number, jpeg in enumerate(pool(jobs), 1):
        if progress:
            progress("drawing flowers", number, len(pictures))
        yield jpeg
