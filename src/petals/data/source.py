"""Where the data is: on Kaggle, in a bucket, in a local folder, or among the drawn flowers."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from petals.data import classes, shards
from petals.errors import DataError
from petals.kaggle import SEARCH_DEPTH, cache_folder, folders_below, mounts, on_kaggle, repository
from petals.progress import Progress

COMPETITION = "tpu-getting-started"


@dataclass(frozen=True)
class Source:
    """A dataset: the folder that contains `tfrecords-jpeg-SxS`, and how it was found."""

    root: str
    kind: str  # "mount" | "bucket" | "folder" | "embedded"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes in label order: the data's own list if it has one, else the competition's.

        Raises `DataError` if the list exists but is not a JSON list of strings.
        """
        path = f"{self.root}/{classes.FILE_NAME}"
        if not tf.io.gfile.exists(path):
            return classes.CLASSES
        try:
            with tf.io.gfile.GFile(path, "rb") as file:  # of bytes, a byte order mark is skipped
                names = json.loads(file.read())
        except ValueError:
            names = None
        if not (names and isinstance(names, list) and all(isinstance(n, str) for n in names)):
            raise DataError(f"{path} must be a JSON list of class names in label order")
        return tuple(names)

    def splits(self, size: int, limit: int = 0) -> dict[str, shards.Split]:
        """The splits at this size, of which val and test need not exist."""
        return {
            name: shards.Split.find(self.root, size, name, limit)
            for name in shards.SPLITS
            if name == "train" or shards.shard_paths(self.root, size, name)
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
    the repository, and the drawn flowers. On Kaggle, "auto" takes only mounts. A TPU node reads
    Kaggle's bucket of a competition or dataset that is not mounted. Raises `DataError` that lists
    what is mounted.
    """
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
    is_bucket, folder = "://" in data, Path(data).expanduser()
    if folder.name.startswith("tfrecords-jpeg-"):
        folder = folder.parent
    if is_bucket or folder.is_dir():
        root = data.rstrip("/") if is_bucket else str(folder)
        if not _holds_records(root):
            raise DataError(
                f"{root} holds no tfrecords-jpeg-SxS folder, or cannot be reached; make one from "
                "class folders of photos with tools/make_tfrecords.py"
            )
        return Source(root, "bucket" if is_bucket else "folder")
    owner, slash, slug = data.partition("/")
    if slash and "/" not in slug:
        for place in (mounts() / "datasets" / owner / slug, mounts() / slug):
            for inner in folders_below(place, SEARCH_DEPTH):
                if _holds_records(inner):
                    return Source(str(inner), "mount")
        if bucket := _kaggles_bucket(slug):
            return bucket
    raise DataError(
        f"no data at {data!r}: neither a folder nor an attached dataset. Mounted: {_listing()}"
    )


def _mounted() -> Source | None:
    root = mounts()
    folders = [folder for folder in folders_below(root, SEARCH_DEPTH) if _holds_records(folder)]
    own = [folder for folder in folders if COMPETITION in folder.relative_to(root).parts]
    if own or not folders:
        return Source(str(own[0]), "mount") if own else None
    if others := folders[1:]:
        print(f"data=auto takes {folders[0]}; for {' or '.join(map(str, others))} set data=FOLDER")
    return Source(str(folders[0]), "mount")


def _kaggles_bucket(name: str) -> Source | None:
    """Kaggle's copy of a competition or dataset, by its slug, where the session needs one."""
    # A TPU node reads only from a bucket; a TPU VM ("local") reads its own mounts.
    if os.environ.get("TPU_NAME", "local") == "local":
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


def _holds_records(folder: str | Path) -> bool:
    try:
        return bool(shards.sizes(folder))
    except (tf.errors.OpError, OSError):
        return False


def _listing() -> str:
    folders = [str(f.relative_to(mounts())) for f in folders_below(mounts(), 3) if f != mounts()]
    return ", ".join(folders[:20]) or f"nothing under {mounts()}"
