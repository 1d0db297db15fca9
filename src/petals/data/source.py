"""Where the data is: on Kaggle, in a bucket, in a local folder, or among the drawn flowers."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import tensorflow as tf

from petals.data import classes, layout, records, shards
from petals.data.records import COMPETITION as COMPETITIONS_SCHEMA
from petals.data.records import Schema
from petals.errors import DataError
from petals.kaggle import (
    SEARCH_DEPTH,
    cache_folder,
    folders_below,
    mounts,
    on_kaggle,
    repository,
)

COMPETITION = "tpu-getting-started"
EDITIONS = (COMPETITION, "flower-classification-with-tpus")  # of the same photos


@dataclass(frozen=True)
class Source:
    """A dataset: the folder that contains its record files, and how it was found.

    `features`: what its records call image, class and id.
    """

    root: str
    kind: str  # "mount" | "bucket" | "folder" | "embedded"
    features: Schema = COMPETITIONS_SCHEMA

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The classes in label order.

        They are the `known_classes`, or else 0, 1 and so on up to the largest label; labels 0 to
        103 are the competition's. Raises `DataError` as `known_classes` does, and if the labels do
        not count classes.
        """
        if self.known_classes:
            return self.known_classes
        numbers = self._numbers()
        return classes.CLASSES if len(numbers) == len(classes.CLASSES) else numbers

    @cached_property
    def known_classes(self) -> tuple[str, ...]:
        """The classes that are known without a look at the labels; () if there are none.

        They are listed in a `classes.json` in the folder, or in the folders of its sources, or are
        those of the competition or of the drawn flowers. Raises `DataError` if a list is not a JSON
        list of strings, and if sources have different ones.
        """
        if listed := self._listed_classes():
            return listed
        is_competition = any(edition in Path(self.root).parts for edition in EDITIONS)
        return classes.CLASSES if is_competition or self.kind == "embedded" else ()

    def _listed_classes(self) -> tuple[str, ...]:
        own = f"{self.root}/{classes.FILE_NAME}"
        if tf.io.gfile.exists(own):
            return classes.read(own)
        folders = {f"{self.root}/{file.source}" for file in layout.record_files(self.root)}
        paths = [f"{folder}/{classes.FILE_NAME}" for folder in sorted(folders)]
        lists = {classes.read(path): path for path in paths if tf.io.gfile.exists(path)}
        if len(lists) > 1:
            raise DataError(
                f"{' and '.join(lists.values())} differ: give each folder as a source of its own, "
                "data=FOLDER,FOLDER, so that classes are matched by name"
            )
        return next(iter(lists), ())

    def _numbers(self) -> tuple[str, ...]:
        """A name for each label from 0 to the largest that occurs."""
        labelled = [split for name, split in self.splits(1).items() if name != "test"]
        largest = max(int(split.labels_and_ids()[0].max()) for split in labelled)
        count = sum(split.count for split in labelled)
        if largest >= count:
            raise DataError(
                f"{self.root}: {count:,} photos have labels up to {largest:,}, so these do "
                "not count classes from 0: write the records again, or name another feature as in "
                "data=FOLDER?image=NAME&class=NAME&id=NAME"
            )
        return tuple(map(str, range(largest + 1)))

    @property
    def is_numbered(self) -> bool:
        """Whether the classes have no names, so that they are called by their numbers."""
        return not self.known_classes and self.class_names != classes.CLASSES

    @property
    def submitted(self) -> tuple[str, ...] | None:
        """What a submission says for each label, in label order; None for the label itself.

        These are the names of the classes if the data's `submission.json` says so, as
        tools/make_tfrecords.py writes it for classes that are numbers.
        """
        path = f"{self.root}/{classes.SUBMISSION}"
        if not tf.io.gfile.exists(path):
            return None
        says = classes.read_json(path)
        if says not in ({"label": "name"}, {"label": "position"}):
            raise DataError(f'{path} must be {{"label": "name"}} or {{"label": "position"}}')
        return self.class_names if says["label"] == "name" else None

    def splits(self, size: int, limit: int = 0) -> dict[str, shards.Split]:
        """The splits at this size, of which val and test need not exist.

        Raises `DataError` without training photos, and for test photos without ids.
        """
        files = layout.record_files(self.root)
        there = {file.split for file in files}
        if "test" in there and not self.features.id:
            raise DataError(
                f"{self.root} has test photos, and no submission is valid without their ids: name "
                "the feature that holds them, data=…&id=NAME"
            )
        return {
            name: shards.Split.of_files(self.root, files, size, name, limit, self.features)
            for name in shards.SPLITS
            if name == "train" or name in there
        }

    @property
    def name(self) -> str:
        """Its display name: for a folder or a mount, the last part of the path."""
        return "drawn flowers" if self.kind == "embedded" else Path(self.root).name

    def __str__(self) -> str:
        return f"{self.kind} {self.root}"


def find_source(data: str = "auto", size: int = 192) -> Source:
    """The data to work on.

    `data`: a folder, a `gs://` path, or a dataset "owner/slug" attached to the kernel, which must
    exist; "embedded" for the drawn flowers of the repository; or "auto", which takes the first of:
    the competition's mount, another mount (where there are several, it prints which), `data/` in
    the repository, and the drawn flowers. On Kaggle, "auto" takes only mounts.

    Records have the competition's features, or those that are named: `data?image=NAME&class=NAME`
    with `&id=NAME` where they have one.

    Raises `DataError` that lists what is mounted, or says what the first record has instead.
    """
    place, question, query = data.partition("?")
    source = _found(place, size)
    if question:
        source = replace(source, features=Schema.named(place, query))
    first = {file.split: file.path for file in layout.record_files(source.root)}
    for path in first.values():
        next(records.read(path, source.features), None)
    return source


def _found(data: str, size: int) -> Source:
    """Where the data is, before anything is read."""
    if data == "embedded":
        return embedded(size)
    if data != "auto":
        return _explicit(data)
    if source := _mounted():
        return source
    if on_kaggle():
        raise DataError(
            f"the data of {COMPETITION} is not attached to this kernel. Mounted: {_listing()}. "
            f'Add "competition_sources": ["{COMPETITION}"] to kernel-metadata.json and accept '
            "the competition's rules on its page"
        )
    local = os.path.relpath(repository() / "data")
    return Source(local, "folder") if _holds_records(local) else embedded(size)


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
    root = drawn_flowers.at_size(cache_folder() / "embedded", size)
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
            if place.is_dir() and _holds_records(str(place)):
                return Source(str(place), "mount")
    raise DataError(
        f"no data at {data!r}: neither a folder nor an attached dataset. Mounted: {_listing()}"
    )


def _mounted() -> Source | None:
    """The competition's mount, else the first mount with folders of sizes."""
    root = mounts()
    folders = [folder for folder in folders_below(root, SEARCH_DEPTH) if layout.sizes(folder)]
    own = [folder for folder in folders if COMPETITION in folder.relative_to(root).parts]
    if own:
        return Source(str(own[0]), "mount")
    places = list(dict.fromkeys(map(_mount_of, folders)))
    if not places:
        return None
    first, *others = places
    if others:
        print(f"data=auto takes {first}; for {' or '.join(map(str, others))} set data=FOLDER")
    return Source(str(first), "mount")


def _mount_of(folder: Path) -> Path:
    """The mount that a folder is in: datasets/OWNER/SLUG, KIND/SLUG of others, or SLUG."""
    parts = folder.relative_to(mounts()).parts
    depth = {"datasets": 3, "competitions": 2, "notebooks": 2}.get(parts[0], 1) if parts else 0
    return mounts().joinpath(*parts[:depth])


def _holds_records(folder: str) -> bool:
    try:
        return bool(layout.record_files(folder))
    except (tf.errors.OpError, OSError):
        return False


def _listing() -> str:
    folders = [str(f.relative_to(mounts())) for f in folders_below(mounts(), 3) if f != mounts()]
    return ", ".join(folders[:20]) or f"nothing under {mounts()}"
