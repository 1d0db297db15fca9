"""Convert photos with their classes to a dataset in the competition's format."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import cpu_count
from pathlib import Path
from typing import Any

from petals import storage
from petals.data import classes, photo_files, records, writing
from petals.data.photo_files import PhotoError
from petals.data.records import UNLABELLED
from petals.data.shards import SPLITS
from petals.data.writing import SHARD
from petals.errors import DataError
from petals.prepare import class_names, photos
from petals.prepare.label_tables import Columns
from petals.prepare.photos import Photo
from petals.prepare.request import IngestSettings, check_folders
from petals.progress import ShowProgress

SHARDS = 16  # files per split, as the competition has; more for large datasets
FEWEST_IN_A_SHARD = 64
MANIFEST = "manifest.json"
TEST_IDS = "test_photos.csv"
LEFT_OUT = "left_out.csv"
MOST_LEFT_OUT = 40  # files that are named in the summary; the CSV has all
SHARD_FILES = "tfrecords-jpeg-*/*/*.tfrec"  # below the output
STAGED = ".new"  # below the output: complete shards of a call that has not finished
FINISHED = "left_out.json"  # beside each of these: why photos are left out of it


@dataclass
class Summary:
    """The counts of an ingest: `images` by split and label, and why files were `left_out`.

    `notes`: how the folders were read; `own_labels`: whether a submission holds the names of the
    classes, and not their positions.
    """

    output: Path
    class_names: list[str]
    images: dict[str, Counter[int]] = field(
        default_factory=lambda: {split: Counter() for split in SPLITS}
    )
    left_out: dict[str, str] = field(default_factory=dict)
    shards_written: int = 0
    notes: list[str] = field(default_factory=list)
    own_labels: bool = False

    def __str__(self) -> str:
        counts = ", ".join(f"{n.total():,} {split}" for split, n in self.images.items())
        megabytes = [path.stat().st_size / 1e6 for path in self.output.glob(SHARD_FILES)]
        photos_of = sum(self.images.values(), Counter[int]())
        ranked = sorted((photos_of[i], name) for i, name in enumerate(self.class_names))
        fewest, rare = ranked[0]
        most, common = ranked[-1]
        lines = [
            *self.notes,
            f"{self.output}: {len(self.class_names)} classes, {counts}",
            f"{writing.described(megabytes)}, {self.shards_written} of them new",
            f"fewest photos: {rare} ({fewest:,}); most: {common} ({most:,})",
        ]
        shown = sorted(self.left_out.items())[:MOST_LEFT_OUT]
        lines += [f"left out: {path}: {why}" for path, why in shown]
        if len(self.left_out) > len(shown):
            more = len(self.left_out) - len(shown)
            lines.append(f"left out: {more:,} more files, see {self.output / LEFT_OUT}")
        for split in ("train", "val"):
            present = self.images[split]
            absent = [n for i, n in enumerate(self.class_names) if not present[i]]
            if absent and present:
                named = ", ".join(absent[:MOST_LEFT_OUT])
                more = len(absent) - MOST_LEFT_OUT
                if more > 0:
                    named += f" and {more:,} more"
                lines.append(f"no photo in {split}, so add some: {named}")
        if not self.images["val"]:
            lines.append("no val photos: train with validation=fold:1/5, or with validation=none")
        if not self.images["test"]:
            lines.append("no test photos: a run writes no submission")
        elif self.own_labels:
            lines.append(f"a submission holds the data's own labels, such as {self.class_names[0]}")
        else:
            last = len(self.class_names) - 1
            lines.append(
                f"a submission holds positions: 0 for {self.class_names[0]} to {last} for "
                f"{self.class_names[last]}"
            )
        return "\n".join(lines)


def make_tfrecords(
    folder: Path,
    output: Path,
    *,
    labels: Path | None = None,
    file_column: str = "",
    label_column: str = "",
    test_photos: Path | None = None,
    progress: ShowProgress | None = None,
    **settings: Any,
) -> Summary:
    """Write `output/tfrecords-jpeg-SxS/{train,val,test}` from photos in class folders.

    The class folders are in `folder`, or in its folders `train`, `val` and `test`, which are then
    the splits; without `val`, that is cut from `train`. See `petals.prepare.photos`.

    `labels`: a CSV in UTF-8 that names the photos (relative to `folder`) and their labels, in the
    columns `file_column` and `label_column`; see `petals.prepare.label_tables.read`.
    `test_photos`: a folder of photos without labels, which become the test split; their ids in a
    submission are in `output/test_photos.csv`, and labelled photos with the same bytes are left
    out. `output/left_out.csv` names all photos that are not used. `settings`: the fields of
    `IngestSettings`.

    Unless a folder names it, a photo's split depends only on a hash of its content, not
    on the size, the machine or other photos. Existing shards with the same photos are kept. The
    dataset changes only when all shards are written, which takes room for both; after an
    interruption, the next call goes on.

    Raises `SettingError`, `StorageError` if the output cannot be written, and `DataError` for a
    folder without usable photos and, before anything is written, for folders that are not as the
    rule says, for photos of one class, and for bad rows of the CSV.
    """
    made = IngestSettings(**settings)
    check_folders(folder, output, labels, test_photos)
    if labels is None:
        found = photos.in_class_folders(folder, test_photos)
    else:
        columns = Columns(file_column, label_column)
        found = photos.in_csv(labels, folder, test_photos, columns)
    files = found.files
    if test_photos:
        files = [*photos.in_test_folder(test_photos, files), *files]
    if len(found.names) == 1:
        raise DataError(
            f"all photos in {folder} are of one class ({found.names[0]}): there is nothing to tell "
            "apart. Add a folder of photos for each other class"
        )
    # The split that comes first here keeps a photo that is in two of them.
    files = sorted(files, key=lambda file: ("test", "val", "train", "").index(file.split))
    given = {file.split for file in files}
    if given & {"train", "val"}:  # folders of splits: the test split is theirs, or there is none
        made = replace(made, test=0.0, val=0.0 if "val" in given else made.val)
    elif "test" in given:
        made = replace(made, test=0.0)
    summary = Summary(
        output,
        found.names,
        left_out=found.left_out,
        notes=found.notes,
        own_labels=found.own_labels or class_names.are_numbers(found.names),
    )
    with ThreadPoolExecutor(cpu_count()) as pool:
        ingest = _Ingest(made, summary, pool, progress or (lambda what, done, total: None))
        try:
            photos_read = ingest.read(files)
            ingest.write(photos_read)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    _write_test_ids([test_photos or folder, folder], photos_read, summary)
    left_out = sorted(summary.left_out.items())
    storage.write_csv(output / LEFT_OUT, ("file", "why"), left_out)
    return summary


@dataclass(frozen=True)
class _Shard:
    split: str
    number: int
    photos: tuple[Photo, ...]

    def key(self, settings: IngestSettings) -> str:
        contents = [f"{photo.digest}{photo.label}" for photo in self.photos]
        parts = [photo_files.JPEG_QUALITY, settings.sizes, self.split, self.number, *contents]
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class _Ingest:
    """One call of `make_tfrecords`.

    Pillow releases Python's lock while it decodes, resizes and encodes, so a pool of threads uses
    all cores and nothing has to be copied between processes.
    """

    settings: IngestSettings
    summary: Summary
    pool: ThreadPoolExecutor
    progress: ShowProgress

    def read(self, files: Sequence[photos.PhotoFile]) -> list[Photo]:
        """The photos in all files that can be read."""
        photos_read = []
        jobs = [self.pool.submit(Photo.read, *file) for file in files]
        for number, (file, job) in enumerate(zip(files, jobs, strict=True), 1):
            try:
                photos_read.append(job.result())
            except PhotoError as error:
                self.summary.left_out[str(file.path)] = str(error)
            self.progress("reading", number, len(files))
        return photos_read

    def _plan(self, photos_read: Sequence[Photo]) -> list[_Shard]:
        """The shards: the first photo of each content, in the order of their hashes."""
        first: dict[str, Photo] = {}
        for photo in photos_read:
            same = first.setdefault(photo.digest, photo)
            if same is not photo:
                other = " of ANOTHER class" if same.label not in (photo.label, UNLABELLED) else ""
                self.summary.left_out[str(photo.path)] = f"same bytes as {same.path}{other}"
        val, test = self.settings.val, self.settings.test
        splits: dict[str, list[Photo]] = {split: [] for split in SPLITS}
        for _, photo in sorted(first.items()):
            if photo.split in ("test", "val"):
                split = photo.split
            elif photo.position < test:
                split = "test"
            elif photo.position < test + val:
                split = "val"
            else:
                split = "train"
            splits[split].append(photo)
        plan = []
        for split, members in splits.items():
            count = max(min(SHARDS, len(members) // FEWEST_IN_A_SHARD), -(-len(members) // SHARD))
            plan += [_Shard(split, n, tuple(members[n::count])) for n in range(count)]
        return plan

    def write(self, photos_read: Sequence[Photo]) -> None:
        """Write the shards that are not in the manifest beside the others; then replace these.

        An interruption thus leaves the dataset as it was, and the next call finds the new shards.
        """
        summary = self.summary
        plan = self._plan(photos_read)
        output = self.summary.output
        before = {}  # [key, why photos are left out] of each shard
        with suppress(OSError, ValueError):
            before = json.loads((output / MANIFEST).read_text("utf-8"))
        manifest = {}
        current = dict[Path, Path]()  # where each file of the dataset is now
        total = sum(len(shard.photos) for shard in plan)
        done = 0
        for shard in plan:
            name = f"{shard.split}-{shard.number}"
            key = shard.key(self.settings)
            last_key, left_out = before.get(name, ("", {}))
            place = output
            paths = self._paths(shard, left_out)
            if last_key != key or not all((output / path).is_file() for path in paths):
                place = output / STAGED / key
                left_out = self._write_shard(shard, place, done, total)
            current |= {output / path: place / path for path in self._paths(shard, left_out)}
            done += len(shard.photos)
            self.progress("writing", done, total)
            for photo in shard.photos:
                if photo.digest in left_out:
                    summary.left_out[str(photo.path)] = left_out[photo.digest]
                else:
                    summary.images[shard.split][photo.label] += 1
            manifest[name] = key, left_out
        if not current:
            reasons = [f"{path}: {why}" for path, why in summary.left_out.items()]
            raise DataError("\n  ".join(["no usable photo was found", *reasons[:5]]))
        self._refuse_no_task()
        # In this order, labels fit their names even if the process is killed in between.
        for path in {*output.glob(SHARD_FILES)} - {*current.values()}:
            path.unlink()
        storage.write_json(output / classes.FILE_NAME, summary.class_names)
        submitted = "name" if summary.own_labels else "position"
        storage.write_json(output / classes.SUBMISSION, {"label": submitted})
        storage.write_json(output / MANIFEST, manifest)
        for finished in output.glob(f"{STAGED}/*/{FINISHED}"):
            finished.unlink()  # if the process is killed, a shard may have moved in one size only
        for target, path in current.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        shutil.rmtree(output / STAGED, ignore_errors=True)

    def _refuse_no_task(self) -> None:
        """Raise `DataError` if there is nothing to tell apart, whichever photos are trained on.

        Folds are made of the photos of both train and val.
        """
        counts = self.summary.images["train"] + self.summary.images["val"]
        labels = [label for label, count in counts.items() if count]
        if len(labels) > 1:
            return
        what = "all photos are in the test split"
        if labels:
            name = self.summary.class_names[labels[0]]
            what = f"all {counts.total():,} photos outside the test split are of one class ({name})"
        reasons = [f"{path}: {why}" for path, why in self.summary.left_out.items()]
        raise DataError("\n  ".join([f"{what}: add photos, or lower --test", *reasons[:5]]))

    def _paths(self, shard: _Shard, left_out: Mapping[str, str]) -> list[Path]:
        """The files of a shard below the dataset's folder, one a size."""
        count = len(shard.photos) - len(left_out)
        return [
            Path(
                writing.folder(".", size, shard.split),
                writing.shard_name(shard.number, size, count),
            )
            for size in self.settings.sizes
            if count
        ]

    def _write_shard(self, shard: _Shard, place: Path, done: int, total: int) -> dict[str, str]:
        """Write a shard in each size below `place`, unless an earlier call finished it.

        Returns why photos are left out, by their digests. The photos are decoded, resized and
        encoded on all cores.
        """
        finished = place / FINISHED
        if finished.is_file():
            return json.loads(finished.read_text("utf-8"))
        good = []
        left_out = {}
        in_test = shard.split == "test"
        jobs = [self.pool.submit(encode, photo.path, self.settings.sizes) for photo in shard.photos]
        for number, (photo, job) in enumerate(zip(shard.photos, jobs, strict=True), done + 1):
            try:
                good.append((photo.id, UNLABELLED if in_test else photo.label, job.result()))
            except PhotoError as error:
                left_out[photo.digest] = str(error)
            self.progress("writing", number, total)
        for size, path in enumerate(self._paths(shard, left_out)):
            examples = (records.Example(jpegs[size], id_, label) for id_, label, jpegs in good)
            writing.write_shard(place / path, examples)
            self.summary.shards_written += 1
        if good:
            storage.write_json(finished, left_out)
        return left_out


def encode(path: Path, sizes: Sequence[int]) -> list[bytes]:
    """The photo as a JPEG in each size (pixels). Raises `PhotoError`."""
    return [photo_files.jpeg(square) for square in photo_files.squares(path, sizes)]


def _write_test_ids(
    folders: Sequence[Path], photos_read: Sequence[Photo], summary: Summary
) -> None:
    """Write the ids of the photos that a folder or a table puts into test to `TEST_IDS`.

    Their files are named from the first of the folders that they are in.
    """
    own = [photo for photo in photos_read if photo.split == "test"]
    if not own:
        (summary.output / TEST_IDS).unlink(missing_ok=True)
        return
    used = {photo.digest for photo in own if str(photo.path) not in summary.left_out}
    rows = []
    for photo in own:
        if photo.digest in used:
            inside = [folder for folder in folders if photo.path.is_relative_to(folder)]
            name = photo.path.relative_to(inside[0]) if inside else photo.path
            rows.append((photo.id, name.as_posix()))
    storage.write_csv(summary.output / TEST_IDS, ("id", "file"), rows)
