"""Where the data is: on Kaggle, in a bucket, in a local folder, or among the drawn flowers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import tensorflow as tf

from petals.data import classes, conversion, layout, record_survey, schema, shards
from petals.data.layout import RecordFile
from petals.errors import DataError
from petals.kaggle import (
    SEARCH_DEPTH,
    cache_folder,
    folders_below,
    mounts,
    on_kaggle,
    repository,
    tpu_node,
)
from petals.progress import Progress

COMPETITION = "tpu-getting-started"
EDITIONS = (COMPETITION, "flower-classification-with-tpus")  # of the same photos
COUNTS = {"train": 12_753, "val": 3_712, "test": 7_382}  # the competition's photos


@dataclass(frozen=True)
class Source:
    """A dataset: the folder that contains `tfrecords-jpeg-SxS`, and how it was found.

    `origin`: where the records were before they were converted, "" if they were not.
    """

    root: str
    kind: str  # "mount" | "bucket" | "folder" | "embedded"
    origin: str = ""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes in label order: the data's own list if it has one, else the competition's.

        Raises `DataError` if the list exists but is not a JSON list of strings, and if there is
        none and the data is not the competition's.
        """
        path = f"{self.root}/{classes.FILE_NAME}"
        if tf.io.gfile.exists(path):
            return classes.read(path)
        if self.names_classes:
            return classes.CLASSES
        raise DataError(
            f"{self.root} has no {classes.FILE_NAME}, the list of its classes in label order: "
            "write one, or name the data as data=FOLDER, which then calls them by their numbers"
        )

    @property
    def names_classes(self) -> bool:
        """Whether `class_names` is known."""
        listed = tf.io.gfile.exists(f"{self.root}/{classes.FILE_NAME}")
        return listed or self.kind == "embedded" or is_competition(self.root)

    @property
    def submitted(self) -> tuple[str, ...] | None:
        """What a submission says for each label, in label order; None for the label itself.

        The data's `submission.json` says it: the names of the classes, as of a CSV whose labels
        are numbers, or a list of labels, as of records whose numbers have names beside them.
        """
        path = f"{self.root}/{classes.SUBMISSION}"
        if not tf.io.gfile.exists(path):
            return None
        says = classes.read_json(path)
        label = says.get("label") if isinstance(says, dict) else None
        if label == "position":
            return None
        names = self.class_names
        if label == "name":
            return names
        if isinstance(label, list) and len(label) == len(names):
            return tuple(map(str, label))
        raise DataError(
            f'{path} must be {{"label": "name"}}, {{"label": "position"}}, or {{"label": […]}} '
            f"with what a submission holds for each of the {len(names)} classes"
        )

    @property
    def is_numbered(self) -> bool:
        """Whether the data names no classes, so that they are called by their numbers."""
        own = self.submitted
        numbers = own is not None and all(label.isdecimal() for label in own)
        return bool(self.origin) and numbers and own == self.class_names

    def splits(self, size: int, limit: int = 0) -> dict[str, shards.Split]:
        """The splits at this size, of which val and test need not exist."""
        return {
            name: shards.Split.find(self.root, size, name, limit)
            for name in shards.SPLITS
            if name == "train" or shards.best_records(self.root, size, name)
        }

    @property
    def name(self) -> str:
        """Its display name: for a folder or a mount, the last part of the path."""
        if self.kind == "embedded":
            return "drawn flowers"
        return Path(self.origin or self.root).name

    def __str__(self) -> str:
        place = self.origin or self.root
        return f"{self.kind} {place}"


def find_source(data: str = "auto", size: int = 192) -> Source:
    """The data to work on.

    `data`: a folder, a `gs://` path, or a dataset "owner/slug" attached to the kernel, which must
    exist; "embedded" for the drawn flowers of the repository; or "auto", which takes the first of:
    the competition's mount, another mount (where there are several, it prints which), `data/` in
    the repository, and the drawn flowers. On Kaggle, "auto" takes only mounts. A TPU node
    (`TPU_NAME`) reads Kaggle's bucket of a competition or dataset that is not mounted.

    Records of another layout or schema are converted once, to images of `size`, and it prints how
    they were read. `data?image=NAME&class=NAME&id=NAME` names features that cannot be guessed.

    Raises `DataError` that lists what is mounted, or says what cannot be read.
    """
    data, columns = _columns(data)
    source = _found(data, size)
    if source.kind == "embedded":
        return source
    return _readable(source, size, columns)


def _columns(data: str) -> tuple[str, dict[str, str]]:
    """The place, and the names of features after its question mark."""
    place, question, query = data.partition("?")
    columns = dict(parse_qsl(query))
    if question and (not columns or any(name not in schema.COLUMNS for name in columns)):
        raise DataError(f"data={data}: name features as in {place}?image=NAME&class=NAME&id=NAME")
    return place, columns


def _found(data: str, size: int) -> Source:
    """Where the data is, before anything is read."""
    if data == "embedded":
        return embedded(size)
    if data != "auto":
        return _explicit(data)
    if source := _mounted() or _kaggles_bucket(COMPETITION):
        return source
    if on_kaggle():
        raise DataError(
            f"the data of {COMPETITION} is not attached to this kernel. Mounted: {_listing()}. "
            f'Add "competition_sources": ["{COMPETITION}"] to kernel-metadata.json and accept '
            "the competition's rules on its page"
        )
    local = os.path.relpath(repository() / "data")
    return Source(local, "folder") if _holds_records(local) else embedded(size)


def _readable(source: Source, size: int, columns: Mapping[str, str]) -> Source:
    """The source itself if its records are in the competition's format, else a converted one."""
    files = layout.record_files(source.root)
    if not files:  # folders of sizes without any file, of which `Split` tells
        return source
    own = conversion.chosen(files, size)
    if not columns and _is_standard(source, own):
        return source
    folder = conversion.converted(source.root, own, size, columns, cache_folder(), Progress())
    print(*conversion.notes(folder), sep="\n")
    return Source(str(folder), source.kind, source.root)


def _is_standard(source: Source, files: list[RecordFile]) -> bool:
    """Whether the files have the competition's layout and schema, and their classes have names."""
    root = source.root.rstrip("/")
    for file in files:
        place = f"{root}/tfrecords-jpeg-{file.size}x{file.size}/{file.split}/"
        if not file.path.startswith(place) or "/" in file.path[len(place) :]:
            return False
        if not shards.is_shard(file.path):
            return False
    if not source.names_classes:
        return False
    peeked = {file.split: file for file in files}.values() if "://" in root else files
    return all(record_survey.has_schema(file) for file in peeked)


def is_competition(root: str) -> bool:
    """Whether the data is the competition's: by its path, or by its numbers of photos."""
    if any(edition in Path(root).parts for edition in EDITIONS):
        return True
    for size in shards.sizes(root):
        paths = {split: shards.shard_paths(root, size, split) for split in COUNTS}
        if {split: sum(map(shards.shard_count, paths[split])) for split in COUNTS} == COUNTS:
            return True
    return False


def embedded(size: int) -> Source:
    """The drawn flowers of the repository, in another size from a copy in the cache.

    Raises `DataError` inside a kernel: they are not pushed.
    """
    try:
        from petals.prepare import drawn_flowers
    except ModuleNotFoundError:
        raise DataError(
            "the embedded flowers stay at the desk, since they are not pushed: "
            "set data='auto' and attach the competition"
        ) from None
    root = drawn_flowers.at_size(cache_folder() / "embedded", size, Progress())
    return Source(str(root), "embedded")


def _explicit(data: str) -> Source:
    is_bucket = "://" in data
    folder = Path(data).expanduser()
    if layout.SIZE_FOLDER.match(folder.name):
        folder = folder.parent
    if is_bucket or folder.is_dir():
        root = data.rstrip("/") if is_bucket else str(folder)
        if not _holds_records(root):
            raise DataError(
                f"{root} holds no tfrecords-jpeg-SxS folder and no TFRecord files, or cannot be "
                "reached; make them from folders of photos with tools/make_tfrecords.py"
            )
        return Source(root, "bucket" if is_bucket else "folder")
    owner, slash, slug = data.partition("/")
    if slash and "/" not in slug:
        for place in (mounts() / "datasets" / owner / slug, mounts() / slug):
            if root := _root_of_records(place):
                return Source(root, "mount")
        if bucket := _kaggles_bucket(slug):
            return bucket
    raise DataError(
        f"no data at {data!r}: neither a folder nor an attached dataset. Mounted: {_listing()}"
    )


def _root_of_records(place: Path) -> str:
    """The folder below `place` that contains all folders with records; "" if there are none."""
    folders = [str(folder) for folder in folders_below(place, SEARCH_DEPTH) if shards.sizes(folder)]
    if not folders:
        folders = [str(place)] if place.is_dir() and layout.record_files(str(place)) else []
    return os.path.commonpath(folders) if folders else ""


def _mounted() -> Source | None:
    """The competition's mount, else the first mount with records."""
    root = mounts()
    folders = [folder for folder in folders_below(root, SEARCH_DEPTH) if shards.sizes(folder)]
    own = [folder for folder in folders if COMPETITION in folder.relative_to(root).parts]
    if own:
        return Source(str(own[0]), "mount")
    places = dict.fromkeys(_mount_of(folder) for folder in folders)
    found = [_root_of_records(place) for place in places]
    if not found:
        return None
    first, *others = found
    if others:
        print(f"data=auto takes {first}; for {' or '.join(others)} set data=FOLDER")
    return Source(first, "mount")


def _mount_of(folder: Path) -> Path:
    """The mount that a folder is in: datasets/OWNER/SLUG, KIND/SLUG of others, or SLUG."""
    parts = folder.relative_to(mounts()).parts
    depth = {"datasets": 3, "competitions": 2, "notebooks": 2}.get(parts[0], 1) if parts else 0
    return mounts().joinpath(*parts[:depth])


def _kaggles_bucket(name: str) -> Source | None:
    """Kaggle's copy of a competition or dataset, by its slug, where the session needs one."""
    # A TPU node reads only from a bucket; a TPU VM reads its own mounts.
    if not tpu_node():
        return None
    try:
        from kaggle_datasets import KaggleDatasets
    except ImportError:
        return None
    try:
        path = str(KaggleDatasets().get_gcs_path(name))
    except Exception as error:  # Kaggle's client raises kinds of its own, and urllib's
        raise DataError(
            f"Kaggle gave no bucket for {name} ({type(error).__name__}: {error}), which a TPU node "
            "needs: attach it to the kernel, or set data to a gs:// path"
        ) from None
    return Source(path.rstrip("/"), "bucket") if _holds_records(path) else None


def _holds_records(folder: str) -> bool:
    try:
        return bool(shards.sizes(folder) or layout.record_files(folder))
    except (tf.errors.OpError, OSError):
        return False


def _listing() -> str:
    folders = [str(f.relative_to(mounts())) for f in folders_below(mounts(), 3) if f != mounts()]
    return ", ".join(folders[:20]) or f"nothing under {mounts()}"
