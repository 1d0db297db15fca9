"""Convert photos with their classes to a dataset in the competition's format."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import Any

from PIL import Image

from petals import storage
from petals.data import classes, shards, tfrecords
from petals.errors import SettingError
from petals.prepare import ingest_files, photos
from petals.prepare.ingest_files import Summary, advise
from petals.prepare.photos import Photo
from petals.progress import ShowProgress

SHARDS = 16  # files per split, as the competition has
FEWEST_IN_A_SHARD = 64
MANIFEST = "manifest.json"
TEST_SHARE = 0.2

Encode = Callable[[Path, Sequence[int]], tuple[dict[int, bytes], list[str]]]


@dataclass(frozen=True, kw_only=True)
class IngestSettings:
    """How photos are converted to TFRecords.

    sizes   sides in pixels, each from 8 to 4096: every split is written in each size
    val     expected share of each class for validation
    test    expected share of each class for the test split; by default 0.2, and 0 if photos
            without labels are the test split
    fit     "crop" or "squash": how a photo is made square
    shards  files per split; 0 = a number that suits the data

    Raises `SettingError` for a value out of range.
    """

    sizes: Sequence[int] = (192,)
    val: float = 0.2
    test: float | None = None
    fit: str = "crop"
    shards: int = 0

    def __post_init__(self) -> None:
        sizes, test = self.sizes, self.test or 0
        if not sizes or any(not 8 <= size <= 4096 for size in sizes):
            raise SettingError(f"sizes {list(sizes)}: give one or more from 8 to 4096 pixels")
        if self.val < 0 or test < 0 or self.val + test >= 1:
            raise SettingError(
                f"val {self.val} and test {test}: shares of the photos, less than 1 in sum"
            )
        if self.fit not in ("crop", "squash"):
            raise SettingError(f"fit {self.fit!r}: crop or squash")
        if self.shards < 0:
            raise SettingError(f"shards {self.shards}: a number of files, or 0 for as many as suit")


def make_tfrecords(
    folder: str | Path,
    output: str | Path,
    *,
    labels: str | Path | None = None,
    test_photos: str | Path | None = None,
    progress: ShowProgress | None = None,
    **settings: Any,
) -> Summary:
    """Write `output/tfrecords-jpeg-SxS/{train,val,test}` from `folder/CLASS/PHOTO`.

    `labels`: a CSV in UTF-8 that names the photos in `file` (relative to `folder`) and `label`.
    `test_photos`: a folder of photos without labels, which become the test split; their ids in a
    submission are in `output/test_photos.csv`, and labelled photos with the same bytes are left
    out. `settings`: the fields of `IngestSettings`.

    A photo's split depends only on a hash of its content, not on the size, the machine or other
    photos. Existing shards with the same photos are kept, as after an interruption.

    Raises `SettingError`, `StorageError` if the output cannot be written, and `DataError` for a
    folder without usable photos and, before anything is written, for bad lines of the CSV.
    """
    folder, output, made = Path(folder), Path(output), IngestSettings(**settings)
    unlabelled = None if test_photos is None else Path(test_photos)
    if made.test and unlabelled:
        raise SettingError(
            f"test {made.test}: the test photos are the whole test split: leave test out"
        )
    if made.test is None:
        made = replace(made, test=0.0 if unlabelled else TEST_SHARE)
    say = progress or (lambda what, done, total: None)
    if labels is None:
        leave_out = (output, unlabelled) if unlabelled else (output,)
        names, files = ingest_files.in_class_folders(folder, leave_out)
    else:
        names, files = ingest_files.in_csv(Path(labels), folder)
    if unlabelled:  # first, so that these are kept if a labelled photo is the same
        files = [*ingest_files.in_test_folder(unlabelled, files), *files]
    summary = Summary(output, names)
    with _any_image_size(), ThreadPoolExecutor(cpu_count()) as pool:
        try:
            readable = ingest_files.hash_all(files, pool, say, summary)
            splits = _split(ingest_files.unique(readable, summary), made)
            _write_all(_plan(splits, made.shards), output, made, pool, say, summary)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    ingest_files.write_test_ids(output, unlabelled, readable, summary)
    summary.advice = advise(summary, made.sizes)
    return summary


@contextmanager
def _any_image_size() -> Iterator[None]:
    # Pillow's own limit raises while opening, before the reduced decoding that makes large
    # photos harmless; photo_files.TOO_LARGE takes its place.
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def _split(members: list[Photo], settings: IngestSettings) -> dict[str, list[Photo]]:
    val, test = settings.val, settings.test or 0.0

    def side(photo: Photo) -> str:
        if photo.label == photos.UNLABELLED or photo.position < test:
            return "test"
        return "val" if photo.position < test + val else "train"

    splits: dict[str, list[Photo]] = {split: [] for split in shards.SPLITS}
    for photo in members:
        splits[side(photo)].append(photo)
    return splits


@dataclass(frozen=True)
class _Shard:
    split: str
    number: int
    photos: tuple[Photo, ...]

    def key(self, fit: str) -> str:
        parts = [photos.JPEG_QUALITY, fit, self.split, self.number]
        parts += [f"{p.digest}{p.label}" for p in self.photos]
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _plan(splits: dict[str, list[Photo]], shards: int) -> list[_Shard]:
    plan = []
    for split, members in splits.items():
        count = shards or max(1, min(SHARDS, len(members) // FEWEST_IN_A_SHARD))
        parts = [tuple(members[i::count]) for i in range(count)]
        plan += [_Shard(split, i, part) for i, part in enumerate(parts) if part]
    return plan


def _write_all(
    plan: list[_Shard],
    output: Path,
    settings: IngestSettings,
    pool: ThreadPoolExecutor,
    say: ShowProgress,
    summary: Summary,
) -> None:
    """Write the shards that are not in the manifest, and add each to it once it is complete."""
    before, after = _manifest(output), {}
    sizes, encode = settings.sizes, partial(photos.encode, fit=settings.fit)
    total, done = sum(len(shard.photos) for shard in plan), 0
    for shard in plan:
        key = shard.key(settings.fit)
        entry = before.get(key, {"files": {}})
        missing = [s for s in sizes if not (output / entry["files"].get(str(s), "-")).is_file()]
        if missing and len(shard.photos) > len(entry.get("left_out", ())):

            def tick(n: int, done: int = done) -> None:
                say("writing", done + n, total)

            files = entry["files"]
            entry = _write_shard(shard, output, missing, encode, pool, tick)
            entry["files"] = {**files, **entry["files"]}
            summary.shards_written += len(missing)
        summary.shards_kept += len(sizes) - len(missing)
        after[key] = entry
        done += len(shard.photos)
        say("writing", done, total)
        summary.add(shard.split, entry)
        storage.write_json(output / MANIFEST, {**before, **after})
    _remove_stale(output, after)
    storage.write_json(output / MANIFEST, after)
    storage.write_json(output / classes.FILE_NAME, summary.class_names)


def _write_shard(
    shard: _Shard,
    output: Path,
    sizes: Sequence[int],
    encode: Encode,
    pool: ThreadPoolExecutor,
    tick: Callable[[int], None],
) -> dict:
    """Decode, resize and encode a shard's photos on all cores, then write it in each size."""
    good: list[tuple[Photo, dict[int, bytes]]] = []
    kinds: Counter[str] = Counter()
    left_out: dict[str, str] = {}
    results = pool.map(lambda p: photos.attempt(encode, p.path, sizes), shard.photos)
    for done, (photo, result) in enumerate(zip(shard.photos, results, strict=True), 1):
        if isinstance(result, str):
            left_out[str(photo.path)] = result
        else:
            good.append((photo, result[0]))
            kinds.update(result[1])
        tick(done)
    files = {}
    for size in sizes if good else ():
        name = shards.shard_name(shard.number, size, len(good))
        path = Path(shards.folder(output, size, shard.split)) / name
        labelled = shard.split != "test"
        tfrecords.write_shard(
            path,
            (
                tfrecords.Example(jpegs[size], photo.id, photo.label if labelled else None)
                for photo, jpegs in good
            ),
        )
        files[str(size)] = str(path.relative_to(output))
    labels = Counter(photo.label for photo, _ in good)
    return {"files": files, "labels": labels, "kinds": kinds, "left_out": left_out}


def _manifest(output: Path) -> dict[str, dict]:
    try:
        return json.loads((output / MANIFEST).read_text())
    except (OSError, ValueError):
        return {}


def _remove_stale(output: Path, entries: dict[str, dict]) -> None:
    # Shards of an earlier call with other photos would otherwise be read along with these.
    current = {output / name for entry in entries.values() for name in entry["files"].values()}
    for path in output.glob("tfrecords-jpeg-*/*/*.tfrec"):
        if path not in current:
            path.unlink()
