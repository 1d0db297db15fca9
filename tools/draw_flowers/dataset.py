"""A set of drawn flowers in the competition's format, with a manifest of how it was made."""

import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed

from draw_flowers.picture import flower_jpeg
from petals import storage
from petals.data import records, writing
from petals.data.classes import CLASSES
from petals.errors import StorageError
from petals.progress import ShowProgress

VERSION = 2  # of the drawings: raise it whenever a pixel changes
SIZE = 112  # pixels a side
QUALITY = 60  # of the JPEGs; with SIZE and COUNTS, the set is smaller than 8 MB
COUNTS = {"train": 30, "val": 5, "test": 3}  # images per class; for train, the mean
# How many training images per class has, relative to the mean: real classes are uneven too.
_IMBALANCE = (0.67, 0.83, 1.0, 1.17, 1.33)
_FIRST_NUMBER = {"train": 0, "val": 1_000_000, "test": 2_000_000}  # no picture is in two splits
_FEW = 200  # pictures: starting processes takes longer than drawing them
_IDLE = 10  # seconds after which a worker without work ends


class _Picture(NamedTuple):
    id: str
    label: int
    number: int  # of the class's pictures


def write_dataset(
    root: Path,
    size: int,
    quality: int,
    counts: Mapping[str, int],
    progress: ShowProgress | None = None,
) -> None:
    """Draw a set: `tfrecords-jpeg-SxS/`, two tables and `manifest.json`.

    Args:
        root: the folder to make; it appears when everything is written.
        size: width and height of the images in pixels, at least 8; the flowers are the same at
            every size.
        quality: of the JPEGs, 1 to 95.
        counts: images per class in train, val and test, at least 1; for train it is the mean, and
            a class has 0.67 to 1.33 times as many.
        progress: called with (what, images done, images in total) after each image.

    The true labels of the test images are only in `solution.csv`, not in the shards;
    `sample_submission.csv` has their ids. The manifest has the command, what was drawn, the
    libraries, and the size and SHA-256 of each file.

    Raises:
        SettingError: for a size below 8.
        StorageError: if the folder exists, the disk is full, or the place is read-only.
    """
    if root.exists():
        raise StorageError(f"{root} exists already: remove it, or choose another folder")
    part = root.with_name(f".{root.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        splits = _plan(counts)
        _write_pictures(part, splits, size, quality, progress)
        header = ("id", "label")
        test = splits["test"]
        storage.write_csv(part / "sample_submission.csv", header, [(p.id, 0) for p in test])
        storage.write_csv(part / "solution.csv", header, [(p.id, p.label) for p in test])
        storage.write_json(part / "manifest.json", _manifest(part, size, quality, counts))
        part.rename(root)
    except OSError as error:
        raise storage.cannot_write(root, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


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


def _write_pictures(
    root: Path,
    splits: Mapping[str, Sequence[_Picture]],
    size: int,
    quality: int,
    progress: ShowProgress | None,
) -> None:
    pictures = [picture for split in splits.values() for picture in split]
    jpegs = _drawn(pictures, size, quality, progress)
    for split, own in splits.items():
        examples = (
            records.Example(next(jpegs), id, records.UNLABELLED if split == "test" else label)
            for id, label, _ in own
        )
        place = Path(writing.folder(root, size, split))
        writing.write_shards(place, size, len(own), examples)


def _drawn(
    pictures: Sequence[_Picture], size: int, quality: int, progress: ShowProgress | None
) -> Iterator[bytes]:
    """The JPEGs of pictures, in order.

    Drawing consists of many small numpy calls that hold Python's lock, so threads do not speed it
    up. Unlike those of multiprocessing, joblib's processes do not run the user's script again.
    """
    workers = min(8, os.cpu_count() or 1) if len(pictures) > _FEW else 1
    pool = Parallel(n_jobs=workers, return_as="generator", idle_worker_timeout=_IDLE)
    jobs = (delayed(flower_jpeg)(label, number, size, quality) for _, label, number in pictures)
    for number, jpeg in enumerate(pool(jobs), 1):
        if progress:
            progress("drawing flowers", number, len(pictures))
        yield jpeg


def _manifest(root: Path, size: int, quality: int, counts: Mapping[str, int]) -> dict[str, Any]:
    """What the set is and how it was made."""
    files = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        data = path.read_bytes()
        files[path.relative_to(root).as_posix()] = {
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    return {
        "command": f"python -m draw_flowers FOLDER --size {size} --quality {quality}",
        "drawings": VERSION,
        "image_size": size,
        "jpeg_quality": quality,
        "classes": len(CLASSES),
        "images_per_class": dict(counts),
        "libraries": {name: importlib.metadata.version(name) for name in ("numpy", "pillow")},
        "files": files,
    }
