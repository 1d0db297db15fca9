"""Where the data is: on Kaggle, in a bucket, at home, or made on the spot."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from petals.data import classes, tfrecords
from petals.errors import DataError
from petals.kaggle import SEARCH_DEPTH, cache_folder, folders_below, mounts, on_kaggle
from petals.progress import Progress

COMPETITION = "tpu-getting-started"
BUCKET = "PETALS_GCS_PATH"  # gs://... that holds the competition's folders


@dataclass(frozen=True)
class Source:
    """A dataset: the folder that holds `tfrecords-jpeg-SxS`, and how it was found."""

    root: str
    kind: str  # "mount" | "bucket" | "folder" | "embedded"

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names in label order."""
        return classes.load(self.root)

    @property
    def name(self) -> str:
        """What people call it: of a folder or a mount its last part."""
        return "drawn flowers" if self.kind == "embedded" else Path(self.root).name

    def __str__(self) -> str:
        return f"{self.kind} {self.root}"


def find_source(data: str = "auto", size: int = 192, *, competition: str = COMPETITION) -> Source:
    """The data to work on.

    `data`: a folder, a `gs://` path, or a dataset "owner/slug" attached to the kernel, which must
    exist; "embedded" for the flowers that the kit draws; or "auto": the competition's mount,
    another mount (it is said which of several), a bucket, `./data`, and off Kaggle the embedded
    data, whichever comes first. On Kaggle, "auto" never falls back on the embedded data. A TPU
    node has Kaggle's bucket of a competition or dataset that is on no mount. Raises `DataError`
    that lists what there is.
    """
    if data == "embedded":
        return embedded(size)
    if data != "auto":
        return _explicit(data)
    source = _mounted(competition) or _bucket(competition)
    if source:
        return source
    if on_kaggle():
        raise DataError(
            f"the data of {competition} is not attached to this kernel. Mounted: {_listing()}. "
            f'Add "competition_sources": ["{competition}"] to kernel-metadata.json and accept '
            "the competition's rules on its page"
        )
    if _holds_records("data"):
        return Source("data", "folder")
    return embedded(size)


def find_sources(data: str = "auto", size: int = 192) -> list[Source]:
    """The sources that `data` names with commas between them, each as `find_source` takes it.

    The first is the one that is validated and submitted; others give more to train on. Raises
    `DataError` for a source that is named twice.
    """
    found = [find_source(one.strip(), size) for one in data.split(",")]
    roots = [
        Path(source.root).resolve() if source.kind != "bucket" else source.root for source in found
    ]
    if twice := [source for n, source in enumerate(found) if roots[n] in roots[:n]]:
        raise DataError(f"data names {twice[0]} twice")
    return found


def embedded(size: int) -> Source:
    """The drawn flowers, made once and kept in the cache.

    Raises `DataError` inside a kernel: what draws them stays at the desk.
    """
    try:
        from petals.prepare import synthetic
    except ModuleNotFoundError:
        raise DataError(
            "the embedded flowers are drawn at the desk and did not travel with this notebook: "
            "set data='auto' and attach the competition"
        ) from None
    progress = Progress()
    root = synthetic.ensure_dataset(
        cache_folder() / "embedded",
        size,
        progress=lambda done, total: progress("drawing flowers", done, total),
    )
    return Source(str(root), "embedded")


def _explicit(data: str) -> Source:
    if "://" in data:
        if not _holds_records(data):
            raise DataError(f"{data} holds no tfrecords-jpeg-SxS folder, or cannot be reached")
        return Source(data.rstrip("/"), "bucket")
    folder = Path(data).expanduser()
    if folder.name.startswith("tfrecords-jpeg-") and folder.is_dir():
        folder = folder.parent
    if folder.is_dir():
        if not _holds_records(folder):
            raise DataError(
                f"{folder} holds no tfrecords-jpeg-SxS folder; make one from class folders of "
                "photos with tools/make_tfrecords.py"
            )
        return Source(str(folder), "folder")
    owner, slash, slug = data.partition("/")
    if slash and "/" not in slug:
        for place in (mounts() / "datasets" / owner / slug, mounts() / slug):
            for inner in folders_below(place, SEARCH_DEPTH):
                if _holds_records(inner):
                    return Source(str(inner), "mount")
        if found := _kaggles_bucket(slug):
            return found
    raise DataError(
        f"no data at {data!r}: neither a folder nor an attached dataset. Mounted: {_listing()}"
    )


def _mounted(competition: str) -> Source | None:
    root = mounts()
    for place in (root / "competitions" / competition, root / competition):
        if _holds_records(place):
            return Source(str(place), "mount")
    found = [folder for folder in folders_below(root, SEARCH_DEPTH) if _holds_records(folder)]
    if not found:
        return None
    own = [folder for folder in found if competition in folder.relative_to(root).parts]
    taken, *others = own or found
    if others:
        print(
            f"of {len(others) + 1} attached folders with photos data=auto takes {taken}; to take "
            f"another ({', '.join(map(str, others))}), set data=FOLDER"
        )
    return Source(str(taken), "mount")


def _bucket(competition: str) -> Source | None:
    configured = os.environ.get(BUCKET)
    if configured:
        return _explicit(configured)
    return _kaggles_bucket(competition)


def _kaggles_bucket(name: str) -> Source | None:
    """Kaggle's copy of a competition or dataset, by its slug, where the session needs one."""
    # A TPU node reads from a bucket alone; a TPU VM ("local") reads its own mounts.
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
        return bool(tfrecords.sizes(folder))
    except (tf.errors.OpError, OSError):
        return False


def _listing() -> str:
    folders = [str(f.relative_to(mounts())) for f in folders_below(mounts(), 3) if f != mounts()]
    return ", ".join(folders[:20]) or f"nothing under {mounts()}"
