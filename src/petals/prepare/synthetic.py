"""A dataset of drawn flowers in the competition's format, for runs that have no download.

`petals.prepare.flowers` draws; here are the splits, the files, and the cache that makes them once.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from petals import storage
from petals.data.classes import CLASSES
from petals.errors import SettingError, StorageError
from petals.prepare.flowers.picture import draw_flower

__all__ = ["VERSION", "draw_flower", "ensure_dataset", "write_dataset"]

VERSION = 1  # raise it whenever a pixel changes: caches of another version are not used
JPEG_QUALITY = 90
# How many training images a class has, relative to the mean: real classes are uneven too.
_IMBALANCE = (0.67, 0.83, 1.0, 1.17, 1.33)
_SHARDS = {"train": 8, "val": 4, "test": 4}
_FIRST_INDEX = {"train": 0, "val": 1_000_000, "test": 2_000_000}  # no picture is in two splits
_AT_A_TIME = 32  # images a worker, between two looks at whether anybody still wants them
_IDLE = 10  # seconds after which a worker without work ends
_ABANDONED = 3600.0  # seconds after which a half-made dataset belongs to nobody

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Picture:
    label: int
    index: int
    id: str


def write_dataset(
    root: str | Path,
    *,
    size: int = 192,
    train: int = 24,
    val: int = 5,
    test: int = 3,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Draw a dataset: `tfrecords-jpeg-SxS/`, `sample_submission.csv` and `solution.csv`.

    Args:
        root: the folder to write to; it may hold other sizes already.
        size: width and height of the images in pixels; the flowers are the same at every size.
        train, val, test: images a class; in train it is the mean, and single classes have 0.67 to
            1.33 times as many.
        seed: another seed makes other images and other ids.
        workers: processes that draw; by default one a core, at most 8.
        progress: called with (images done, images in all) after each.

    Returns:
        `root`. `solution.csv` holds the test images' true labels; no shard does.

    Raises:
        SettingError: for a count below 1, or a size or seed that nothing can be drawn with.
        StorageError: when the disk is full or the folder read-only.
    """
    from petals.data import (  # imports TensorFlow, which the drawing processes do without
        shards,
        tfrecords,
    )

    if min(train, val, test) < 1 or size < 8 or seed < 0:
        raise SettingError(
            f"cannot draw {train} train, {val} val and {test} test images a class of {size} pixels "
            f"with seed {seed}: counts start at 1, sizes at 8, seeds at 0"
        )
    root = Path(root)
    splits = _plan({"train": train, "val": val, "test": test}, seed)
    pictures = [picture for split in splits.values() for picture in split]
    images = _drawn(pictures, size, seed, workers or min(8, os.cpu_count() or 1))
    done = 0
    for split, members in splits.items():
        bounds = np.linspace(0, len(members), min(_SHARDS[split], len(members)) + 1).astype(int)
        for number, (start, stop) in enumerate(pairwise(bounds)):
            examples = []
            for picture in members[start:stop]:
                label = None if split == "test" else picture.label
                examples.append(tfrecords.Example(next(images), picture.id, label))
                done += 1
                if progress:
                    progress(done, len(pictures))
            name = shards.shard_name(number, size, len(examples))
            tfrecords.write_shard(Path(shards.folder(root, size, split)) / name, examples)
    _write_labels(root / "sample_submission.csv", splits["test"], lambda picture: 0)
    _write_labels(root / "solution.csv", splits["test"], lambda picture: picture.label)
    return root


def ensure_dataset(
    cache_root: str | Path,
    size: int = 192,
    *,
    train: int = 24,
    val: int = 5,
    test: int = 3,
    seed: int = 0,
    progress: Progress | None = None,
) -> Path:
    """The folder of such a dataset under `cache_root`; it is drawn if it is not there yet.

    It appears whole or not at all, also when several processes ask for it at the same time:
    each draws its own and the first to finish wins. Arguments and errors as in `write_dataset`.
    """
    name = f"flowers-v{VERSION}-{size}px-{train}-{val}-{test}-seed{seed}"
    target = Path(cache_root) / name
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(target)
        part = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise StorageError(
            f"cannot write to {cache_root}: {error.strerror}. Choose another folder."
        ) from error
    try:
        write_dataset(
            part, size=size, train=train, val=val, test=test, seed=seed, progress=progress
        )
        part.chmod(0o755)  # mkdtemp's folders are for their owner alone
        with suppress(OSError):  # another process was first: its folder is the same
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if not target.is_dir():
        raise StorageError(f"cannot rename the finished dataset to {target}: choose another folder")
    return target


def _clear_abandoned(target: Path) -> None:
    """Remove what a process that was killed left behind long ago."""
    for part in target.parent.glob(f".{target.name}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED:
                shutil.rmtree(part, ignore_errors=True)


def _plan(counts: dict[str, int], seed: int) -> dict[str, list[_Picture]]:
    """Which pictures make up each split, in a shuffled order that depends on the seed alone."""
    taken: set[str] = set()
    splits = {}
    for split, count in counts.items():
        members = []
        for label in range(len(CLASSES)):
            share = _IMBALANCE[label * 2 % 5] if split == "train" else 1.0
            for k in range(max(1, int(count * share + 0.5))):
                members.append(_Picture(label, _FIRST_INDEX[split] + k, ""))
        named = [_Picture(p.label, p.index, _new_id(p, seed, taken)) for p in members]
        splits[split] = sorted(named, key=lambda picture: picture.id)
    return splits


def _new_id(picture: _Picture, seed: int, taken: set[str]) -> str:
    """Nine hexadecimal characters like the competition's, not taken yet."""
    name = f"{seed}/{picture.label}/{picture.index}"
    while len(name) != 9 or name in taken:
        name = hashlib.blake2b(name.encode(), digest_size=8).hexdigest()[:9]
    taken.add(name)
    return name


def _write_labels(path: Path, pictures: Sequence[_Picture], label_of) -> None:
    rows = "".join(f"{picture.id},{label_of(picture)}\n" for picture in pictures)
    storage.write_text(path, "id,label\n" + rows)


def _jpeg(label: int, index: int, size: int, seed: int) -> bytes:
    file = io.BytesIO()
    image = Image.fromarray(draw_flower(label, index, size, seed=seed))
    image.save(file, "JPEG", quality=JPEG_QUALITY)
    return file.getvalue()


def _drawn(pictures: Sequence[_Picture], size: int, seed: int, workers: int) -> Iterator[bytes]:
    """The JPEGs of pictures, in order.

    Drawing is many small numpy calls, which hold Python's lock: threads do not speed it up.
    joblib's processes do not run the user's script once more, as those of multiprocessing do.
    """
    if len(pictures) < 200:
        workers = 1  # starting processes takes longer than drawing
    jobs = [delayed(_jpeg)(picture.label, picture.index, size, seed) for picture in pictures]
    done = 0
    try:
        with Parallel(n_jobs=workers, idle_worker_timeout=_IDLE) as pool:
            while done < len(jobs):
                images = pool(jobs[done : done + _AT_A_TIME * workers])
                done += len(images)
                yield from images
    except BrokenExecutor:  # a worker did not start or was killed: this process draws the rest
        yield from (_jpeg(*arguments) for _, arguments, _ in jobs[done:])
