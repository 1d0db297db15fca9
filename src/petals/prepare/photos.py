"""The photos for a dataset: found with their classes, and identified by their bytes.

The rule for folders, which `RULE` says: a folder for each class, or such folders below train, val
and test. An archive's folder may be around them, and a split's may be within it under the same name
(`train/train/CLASS`). Everything else is refused by `_refusal`, and a table gives the labels of
photos that lie otherwise.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from petals.data import photo_files
from petals.data.layout import split_of
from petals.data.photo_files import PhotoError
from petals.data.records import UNLABELLED
from petals.data.shards import SPLITS
from petals.errors import DataError, listed
from petals.junk import is_junk
from petals.prepare import class_names, label_tables
from petals.prepare.request import is_archive

MOST_SHOWN = 20  # bad rows of a CSV
NO_CLASS = "not directly in a class folder, so it has no class"
PACKED = "an archive, which is not unpacked, so its photos are not used"
RULE = (
    "Photos are read from a folder for each class (CLASS/*.jpg), and from such folders in train, "
    "val and test (train/CLASS/*.jpg); otherwise a table names the class of each (--labels)"
)


class PhotoFile(NamedTuple):
    """A file, the position of its class, and the split that its folder names ("" for none)."""

    path: Path
    label: int
    split: str = ""


@dataclass
class FoundPhotos:
    """The photos of a dataset.

    names       the classes in label order
    files       the photos with their classes
    left_out    why photos are not among them, by their paths
    notes       how the folders were read, a line for each thing that is not plain
    own_labels  whether a submission holds the names of the classes, and not their positions
    """

    names: list[str]
    files: list[PhotoFile] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    own_labels: bool = False


@dataclass(frozen=True)
class Photo:
    """A photo, identified by the hash of its bytes.

    `label`: the position of its class; `split`: the one that its folder names, "" for none.
    """

    path: Path
    label: int
    digest: str  # 32 hexadecimal digits
    split: str = ""

    @classmethod
    def read(cls, path: Path, label: int, split: str = "") -> Photo:
        """Read and hash a file; raises `PhotoError`."""
        try:
            data = path.read_bytes()
        except OSError as error:
            if path.is_symlink() and not path.exists():
                raise PhotoError(f"a link to {path.readlink()}, which is not there") from None
            raise PhotoError(f"cannot be read ({error.strerror})") from None
        return cls(path, label, hashlib.blake2b(data, digest_size=16).hexdigest(), split)

    @property
    def id(self) -> str:
        """Nine hexadecimal digits, as the competition's ids are."""
        return self.digest[:9]

    @property
    def position(self) -> float:
        """A number in [0, 1) that depends only on the content and decides the split."""
        return int(self.digest[16:], 16) / 16**16


def in_class_folders(folder: Path, leave_out: Path | None) -> FoundPhotos:
    """The classes and photos in the folders below `folder`, except in the folder `leave_out`.

    Test photos may lie in `test` without class folders; what only `test` has is no class. Raises
    `DataError` for folders that are not as the rule says.
    """
    root = _entered(folder, leave_out)
    folders = _holding(_folders(root, leave_out))
    splits = [path for path in folders if split_of(path.name)]
    if not folders or len(splits) not in (0, len(folders)):
        raise _refusal(root, folders)
    found = FoundPhotos([])
    places = []  # (folder, class, split)
    for path in folders:
        if not splits:
            places.append((path, path.name, ""))
            continue
        split = split_of(path.name)
        inner = _inner(path)
        with_classes = _holding(_folders(inner))
        if not with_classes and split != "test":
            raise _refusal(root, folders)
        if not with_classes:
            places.append((inner, "", split))
        places += [(each, each.name, split) for each in with_classes]
    labelled = [path for path, name, _ in places if name]
    if not labelled or not all(map(_photos, labelled)):
        raise _refusal(root, folders)
    if root != folder:
        found.notes.append(f"the photos are read from {root}, the only folder in {folder}")
    learnt = {class_names.normalised(name) for _, name, split in places if name and split != "test"}
    for name in learnt:
        if class_names.has_unprintable(name):
            raise DataError(f"{root} has the class folder {name!r}: give it a name in plain text")
    found.names = class_names.in_order(learnt)
    position = {name: label for label, name in enumerate(found.names)}
    for path, name, split in places:
        label = position.get(class_names.normalised(name), UNLABELLED)
        found.files += [PhotoFile(file, label, split) for file in _files_in(path)]
    counts = Counter(file.split for file in found.files)
    if splits:
        of_splits = ", ".join(f"{counts[split]:,} {split}" for split in SPLITS)
        found.notes.append(f"{root}: the folders name the splits: {of_splits}")
    used = {file.path for file in found.files}
    unused = [path for path in _photos_below(folder, leave_out) if path not in used]
    found.left_out = {str(path): NO_CLASS for path in unused}
    found.left_out |= {str(path): PACKED for path in _visible(root) if is_archive(path)}
    return found


def _refusal(root: Path, folders: Sequence[Path]) -> DataError:
    """Why the folders below `root` are not as the rule says, and what they nearly are."""
    archives = [path.name for path in _visible(root) if is_archive(path)]
    splits = [path for path in folders if split_of(path.name)]
    others = [path for path in folders if path not in splits]
    without = [path for path in folders if not _photos(path)]
    if not folders and archives:
        nearly = f"it holds archives ({listed(archives)}): unpack them first"
    elif not folders:
        nearly = "it holds no folders with photos: put the photos of each class in one"
    elif splits and others:
        nearly = (
            f"it is nearly such splits, but {listed([path.name for path in others])} is none: call "
            "it so, or move it away"
        )
    elif splits:
        nearly = (
            f"it is nearly such splits, but not all of {listed([path.name for path in splits])} "
            "hold class folders with photos"
        )
    else:
        nearly = (
            f"it is nearly class folders, but {listed([path.name for path in without])} holds "
            "folders and no photos of its own: move the photos up; or, if these are splits, call "
            "them train, val and test"
        )
    return DataError(f"{root} cannot be read: {nearly}. {RULE}")


def _entered(folder: Path, leave_out: Path | None) -> Path:
    """The folder inside the folders of an archive: down to the first with several, or splits."""
    root = folder
    while True:
        folders = _holding(_folders(root, leave_out))
        if len(folders) != 1 or split_of(folders[0].name) or not _folders(folders[0], leave_out):
            return root
        root = folders[0]


def _inner(split: Path) -> Path:
    """The folder of the same name in the folder of a split, if it is all there: `train/train`."""
    folders = _holding(_folders(split))
    same = len(folders) == 1 and folders[0].name == split.name
    return _inner(folders[0]) if same else split


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if not is_junk(path.name))


def _folders(folder: Path, leave_out: Path | None = None) -> list[Path]:
    """The folders in a folder, without junk."""
    other = leave_out and leave_out.resolve()
    here = folder.resolve()
    result = []
    for path in _visible(folder):
        if not path.is_dir() or path.resolve() == other:
            continue
        if path.is_symlink() and here.is_relative_to(path.resolve()):  # a circle
            continue
        result.append(path)
    return result


def _photos(folder: Path) -> list[Path]:
    """The files directly in a folder that are called like photos, also links to missing ones."""
    return [path for path in _visible(folder) if photo_files.is_photo(path)]


def _holding(folders: Sequence[Path]) -> list[Path]:
    """Those of the folders that hold photos, at any depth."""
    return [path for path in folders if _photos(path) or _holding(_folders(path))]


def _files_in(folder: Path) -> list[Path]:
    """The files directly in a folder, without junk; of links to missing files, the photos."""
    return [path for path in _visible(folder) if path.is_file() or photo_files.is_photo(path)]


def _photos_below(folder: Path, leave_out: Path | None) -> list[Path]:
    """The photos at any depth of a folder, without those in the folder `leave_out`."""
    other = leave_out and leave_out.resolve()
    return [
        path
        for path in photo_files.photos_below(folder)
        if other is None or not path.resolve().is_relative_to(other)
    ]


def in_test_folder(folder: Path, labelled: Sequence[PhotoFile]) -> list[PhotoFile]:
    """The files at any depth in a folder of test photos, except for those that have a label.

    Raises `DataError` if there are none.
    """
    with_label = {file.path.resolve() for file in labelled}
    paths = [
        path
        for path in photo_files.files_below(folder)
        if (path.is_file() or photo_files.is_photo(path)) and path.resolve() not in with_label
    ]
    if not paths:
        raise DataError(f"no files without a label in {folder}: put the test photos there")
    return [PhotoFile(path, UNLABELLED, "test") for path in paths]


def in_csv(
    table: Path,
    folder: Path,
    leave_out: Path | None = None,
    columns: label_tables.Columns = label_tables.USUAL,
) -> FoundPhotos:
    """The classes and the files listed in a CSV in UTF-8, as `label_tables` reads it.

    Files are relative to `folder`, with or without their ending; its other photos are left out,
    except those in the folder `leave_out`. Labels are names or numbers; numbers keep their order. A
    submission holds the CSV's own labels. Raises `DataError`, with a line for each of the first bad
    rows.
    """
    photos = _photos_below(folder, leave_out)
    without_ending: dict[Path, list[Path]] = {}
    for path in photos:
        without_ending.setdefault(path.with_suffix(""), []).append(path)
    labels: dict[Path, str] = {}
    problems = []
    rows = label_tables.read(table, columns)
    for file, label in rows:
        exact = folder / file
        is_there = os.path.isfile(exact)  # noqa: PTH113 - False for a name that no file can have
        paths = [exact] if is_there else without_ending.get(exact, [])
        path = paths[0] if len(paths) == 1 else exact
        if len(paths) > 1:
            shown = listed([str(each.relative_to(folder)) for each in paths])
            problems.append(f"{file!r} can be any of {shown}")
        elif not paths:
            problems.append(f"no file {file!r} in {folder}")
        elif path in labels:
            problems.append(f"{file!r} is listed twice")
        elif not label or class_names.has_unprintable(label):
            problems.append(f"{file!r} has the label {label!r}")
        labels[path] = class_names.normalised(label)
    if problems:
        head = f"{table}: {len(problems)} of {len(rows)} rows are wrong; nothing was written"
        raise DataError("\n  ".join([head, *problems[:MOST_SHOWN]]))
    found = FoundPhotos(class_names.in_order(set(labels.values())), own_labels=True)
    position = {name: label for label, name in enumerate(found.names)}
    found.files = [PhotoFile(path, position[label]) for path, label in labels.items()]
    found.left_out = {str(p): f"not listed in {table}" for p in photos if p not in labels}
    return found
