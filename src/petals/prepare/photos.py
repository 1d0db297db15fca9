"""The photos for a dataset: found with their classes, and identified by their bytes.

`in_class_folders` reads the layouts that people have: a folder for each class; such folders below
folders of splits (`train/CLASS`), or above them (`CLASS/train`); and any of these inside the folder
of an archive. Of a tree that can be read in two ways it names both.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from petals.data import classes, photo_files
from petals.data.layout import names_no_class, split_of
from petals.data.photo_files import PhotoError
from petals.data.shards import SPLITS, UNLABELLED
from petals.errors import DataError, listed
from petals.junk import is_junk
from petals.prepare import label_tables
from petals.prepare.request import is_archive

MOST_SHOWN = 20  # bad rows of a CSV
NO_CLASS = "beside the class folders, so it has no class"
NO_LABEL = "in a folder beside the splits that has no class folders, so it has no class"
PACKED = "an archive, which is not unpacked, so its photos are not used"


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

    @property
    def has_splits(self) -> bool:
        """Whether the folders name splits."""
        return any(file.split for file in self.files)


@dataclass(frozen=True)
class Photo:
    """A photo, identified by the hash of its bytes.

    `label`: the position of its class; `split`: the one that its folder names, "" for none;
    `peak`: the kind of its values and the largest, as `petals.data.photo_files.peak` gives them.
    """

    path: Path
    label: int
    digest: str  # 32 hexadecimal digits
    split: str = ""
    peak: tuple[str, float] = ("", 0.0)

    @classmethod
    def read(cls, path: Path, label: int, split: str = "") -> Photo:
        """Read and hash a file; raises `PhotoError`."""
        try:
            data = path.read_bytes()
        except OSError as error:
            if path.is_symlink() and not path.exists():
                raise PhotoError(f"a link to {path.readlink()}, which is not there") from None
            raise PhotoError(f"cannot be read ({error.strerror})") from None
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        return cls(path, label, digest, split, photo_files.peak(io.BytesIO(data)))

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

    Raises `DataError` if there are no class folders, and if the folders can be read in two ways.
    """
    found = FoundPhotos([])
    root = _entered(folder, leave_out, found)
    folders = _holding(_folders(root, leave_out))
    if not folders:
        archives = sorted(path.name for path in _visible(root) if is_archive(path))
        if archives:
            raise DataError(f"{root} contains archives ({listed(archives)}): unpack them first")
        raise DataError(
            f"{root} contains no class folders: put the photos of each class in a folder of its "
            "own, or give a CSV of labels"
        )
    places = _by_split(root, folders, found)
    if places is None:
        places = _splits_in_classes(folders) or [(path, path.name, "") for path in folders]
        _loose(root, found)
    _refuse_nested(root, [path for path, _, _ in places])
    _refuse_kinds_of_files(root, [name for _, name, _ in places if name])
    _note_empty([root, *{path.parent for path, _, _ in places}], leave_out, found)
    found.left_out |= {str(path): PACKED for path in _visible(root) if is_archive(path)}
    places = _without_classes_of_test(places, found)
    _refuse_names(root, places)
    names = {path: classes.normalised(name) for path, name, _ in places if name}
    found.names = classes.in_order(set(names.values()))
    position = {name: label for label, name in enumerate(found.names)}
    for path, _, split in places:
        label = position[names[path]] if path in names else UNLABELLED
        found.files += [PhotoFile(file, label, split) for file in _files(path)]
    for parent in {path.parent for path, name, split in places if split and name}:
        _loose(parent, found)
    if found.has_splits:
        counts = Counter(file.split for file in found.files)
        of_splits = ", ".join(f"{counts[split]:,} {split}" for split in SPLITS)
        found.notes.append(f"{root}: the folders name the splits: {of_splits}")
    _note_equal_names([name for _, name, _ in places if name], found)
    found.notes += classes.said_of_alike(found.names)
    return found


def _entered(folder: Path, leave_out: Path | None, found: FoundPhotos) -> Path:
    """The folder inside the folders of an archive: down to the first with several folders."""
    root = folder
    while True:
        folders = _holding(_folders(root, leave_out))
        if len(folders) != 1 or not _folders(folders[0], leave_out):
            break
        _loose(root, found)
        root = folders[0]
    if root != folder:
        found.notes.append(f"the photos are read from {root}, the only folder in {folder}")
    return root


def _by_split(
    root: Path, folders: Sequence[Path], found: FoundPhotos
) -> list[tuple[Path, str, str]] | None:
    """(folder, class, split) if `folders` are splits with class folders in them, else None.

    A folder of test photos may have none; its class is "".
    """
    splits = {_inner(path, found): _split(path) for path in folders if _split(path)}
    with_classes = [path for path in splits if _folders(path)]
    if not with_classes:
        if len(splits) == len(folders) > 1:
            named = listed([path.name for path in folders])
            raise DataError(
                f"{root} holds {named}: as splits they have no class folders in them, and as "
                "classes they are called like splits. Put the photos of each class in a folder of "
                "its own, or give a CSV of labels"
            )
        return None
    others = [_only_inner(path) for path in folders if not _split(path)]
    unlabelled = [path.name for path in splits if path not in with_classes]
    if others and _have_equal_classes(with_classes) and not any(map(_holds_folders, others)):
        for path in others:
            found.left_out |= {str(file): NO_LABEL for file in _files(path)}
        others = []
    if others or any(split_of(name) != "test" for name in unlabelled):
        none = listed([path.name for path in others] + unlabelled)
        as_splits = listed([path.name for path in with_classes])
        as_classes = listed([path.name for path in folders])
        raise DataError(
            f"{root} can be read in two ways: as splits ({as_splits}) with classes in them, of "
            f"which {none} is none; or as the classes {as_classes}. Call splits train, val and "
            "test, give the folder of one reading, or give a CSV of labels"
        )
    places = [
        (path, path.name, splits[split])
        for split in with_classes
        for path in _holding(_folders(split))
    ]
    return places + [(path, "", "test") for path in splits if path not in with_classes]


def _have_equal_classes(splits: Sequence[Path]) -> bool:
    """Whether folders of at least two different splits hold folders of the same names."""
    names = {frozenset(path.name for path in _folders(split)) for split in splits}
    return len(names) == 1 and len(set(map(_split, splits))) > 1


def _only_inner(folder: Path) -> Path:
    """The folder inside folders of the same name, `pred/pred`; the folder itself without such."""
    inner = _folders(folder)
    if len(inner) == 1 and inner[0].name == folder.name and not _photos(folder):
        return _only_inner(inner[0])
    return folder


def _holds_folders(folder: Path) -> bool:
    return bool(_folders(folder))


def _without_classes_of_test(
    places: Sequence[tuple[Path, str, str]], found: FoundPhotos
) -> list[tuple[Path, str, str]]:
    """The places, in which a folder of the test split alone is no class: `test/unknown`."""
    learnt = {classes.normalised(name) for _, name, split in places if split != "test"}
    result = []
    for path, name, split in places:
        if name and learnt and classes.normalised(name) not in learnt:
            found.notes.append(f"{path}: only test photos, so it is not a class")
            name = ""
        result.append((path, name, split))
    return result


def _splits_in_classes(folders: Sequence[Path]) -> list[tuple[Path, str, str]]:
    """(folder, class, split) if every class folder holds folders of splits alone, else nothing."""
    places = []
    for path in folders:
        inside = _folders(path)
        if _photos(path) or not inside or not all(map(_split, inside)):
            return []
        places += [(split, path.name, _split(split)) for split in inside]
    return places


def _refuse_nested(root: Path, places: Sequence[Path]) -> None:
    """Raise `DataError` if classes hold folders with photos, and none themselves."""
    nested = [path for path in places if not _photos(path) and _folders_with_photos(path)]
    if nested:
        outer = listed([path.name for path in places])
        names = [[path.name for path in _folders_with_photos(place)] for place in nested]
        inner = listed(sorted({name for own in names for name in own}))
        like_splits = ""
        if len(names) > 1 and all(own == names[0] for own in names):
            like_splits = "; if these are splits, call them train, val and test"
        raise DataError(
            f"{root} can be read in two ways: as {len(places):,} classes ({outer}), or as those "
            f"inside them ({inner}). For the first, move the photos up into these folders; for the "
            f"second, move the inner folders up; or give a CSV of labels{like_splits}"
        )


def _refuse_kinds_of_files(root: Path, names: Sequence[str]) -> None:
    """Raise `DataError` if no folder is called like something that photos show."""
    if names and all(map(names_no_class, names)):
        raise DataError(
            f"{root} holds {listed(sorted(set(names)))}, which are names of kinds of files, not "
            "of classes: put the photos of each class in a folder of its own, or give a CSV of "
            "labels"
        )


def _refuse_names(root: Path, places: Sequence[tuple[Path, str, str]]) -> None:
    """Raise `DataError` for names of classes that cannot be shown, or that splits write otherwise.

    These are `classes.alike`, and no split has both of them: train/Rose and val/rose.
    """
    splits: dict[str, set[str]] = {}
    for path, name, split in places:
        if name and classes.has_unprintable(name):
            raise DataError(f"{path.parent} has the folder {name!r}: give it a name in plain text")
        if name:
            splits.setdefault(classes.normalised(name), set()).add(split)
    for names in classes.alike(splits):
        in_splits = [split for name in names for split in splits[name]]
        if len(set(in_splits)) == len(in_splits):
            written = " and ".join(f"{name} ({', '.join(sorted(splits[name]))})" for name in names)
            raise DataError(
                f"{root} writes what looks like one class in different ways: {written}. Give it "
                "one name in all splits"
            )


def _note_equal_names(names: Sequence[str], found: FoundPhotos) -> None:
    """Say which folders are one class because their names differ only in Unicode's form."""
    written: dict[str, set[str]] = {}
    for name in names:
        written.setdefault(classes.normalised(name), set()).add(name)
    for name, forms in written.items():
        if len(forms) > 1:
            found.notes.append(f"{name}: {len(forms)} folders with this name are one class")


def _loose(folder: Path, found: FoundPhotos) -> None:
    found.left_out |= {str(path): NO_CLASS for path in _photos(folder)}


def _split(folder: Path) -> str:
    return split_of(folder.name)


def _inner(folder: Path, found: FoundPhotos) -> Path:
    """The folder of the same split that is all there is in a folder of a split: `train/train`."""
    while True:
        folders = _holding(_folders(folder))
        same = len(folders) == 1 and _split(folders[0]) == _split(folder)
        if not same or not (_folders(folders[0]) or _photos(folders[0])):
            return folder
        _loose(folder, found)
        folder = folders[0]


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


def _folders_with_photos(folder: Path) -> list[Path]:
    return [path for path in _folders(folder) if _photos(path) or _folders_with_photos(path)]


def _holding(folders: Sequence[Path]) -> list[Path]:
    """Those of the folders that hold photos; all of them if no file is called like a photo."""
    return [path for path in folders if _photos(path) or _folders_with_photos(path)] or [*folders]


def _note_empty(parents: Sequence[Path], leave_out: Path | None, found: FoundPhotos) -> None:
    """Say which folders beside the others hold no photo and are no class therefore."""
    for parent in dict.fromkeys(parents):
        folders = _folders(parent, leave_out)
        holding = _holding(folders)
        found.notes += [
            f"{path}: a folder without photos, so it is not a class"
            for path in folders
            if path not in holding
        ]


def _files(folder: Path) -> list[Path]:
    """The files at any depth of a folder, without junk; of links to missing files, the photos."""
    return [
        path
        for path in photo_files.files_below(folder)
        if path.is_file() or photo_files.is_photo(path)
    ]


def in_test_folder(folder: Path, labelled: Sequence[PhotoFile]) -> list[PhotoFile]:
    """The files at any depth in a folder of test photos, except for those that have a label.

    Raises `DataError` if there are none.
    """
    with_label = {file.path.resolve() for file in labelled}
    paths = [path for path in _files(folder) if path.resolve() not in with_label]
    if not paths:
        raise DataError(f"no files without a label in {folder}: put the test photos there")
    return [PhotoFile(path, UNLABELLED, "test") for path in paths]


def in_csv(table: Path, folder: Path, leave_out: Path | None = None) -> FoundPhotos:
    """The classes and the files listed in a CSV in UTF-8, as `label_tables` reads it.

    Files are relative to `folder`; its other photos are left out, except those in the folder
    `leave_out`. Labels are names or numbers; numbers keep their order. A row of the test split
    needs none, and one that no other split has is no class. A submission holds the CSV's own
    labels. Raises `DataError`, with a line for each of the first bad rows.
    """
    files_below = _files(folder)
    names = label_tables.PhotoNames(folder, files_below, leave_out)
    labelled = label_tables.read(table, names)
    labels: dict[Path, str] = {}
    splits: dict[Path, str] = {}
    problems = []
    for row in labelled.rows:
        paths = names.find(row.file)
        path = paths[0] if paths else folder / row.file
        if len(paths) > 1:
            shown = listed([str(each.relative_to(folder)) for each in paths])
            problems.append(f"{row.file!r} can be any of {shown}")
        elif path in labels:
            problems.append(f"{row.file!r} is listed twice")
        elif not paths:
            problems.append(f"no file {row.file!r} in {folder}")
        elif row.too_long:
            problems.append(f"{row.file!r} has the label {row.label!r} and more")
        elif classes.has_unprintable(row.label) or not (row.label or row.split == "test"):
            problems.append(f"{row.file!r} has the label {row.label!r}")
        labels[path] = classes.normalised(row.label)
        splits[path] = row.split
    if not labelled.rows:
        raise DataError(f"{table} lists no photos: give a row with file and label for each")
    if problems:
        head = (
            f"{table}: {len(problems)} of {len(labelled.rows)} rows are wrong; nothing was written"
        )
        raise DataError("\n  ".join([head, *problems[:MOST_SHOWN]]))
    learnt = {label for path, label in labels.items() if splits[path] != "test"}
    found = FoundPhotos(classes.in_order(learnt), own_labels=True)
    found.notes += labelled.notes
    found.notes += classes.said_of_alike(found.names)
    position = {name: label for label, name in enumerate(found.names)}
    found.files = [
        PhotoFile(path, position.get(label, UNLABELLED), splits[path])
        for path, label in labels.items()
    ]
    other = leave_out and leave_out.resolve()
    for path in files_below:
        is_photo = path.suffix.lower() in photo_files.SUFFIXES
        elsewhere = other is not None and path.resolve().is_relative_to(other)
        if is_photo and path not in labels and not elsewhere:
            found.left_out[str(path)] = f"not listed in {table}"
    return found
