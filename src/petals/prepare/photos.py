"""The photos for a dataset: found with their classes, and identified by their bytes."""

from __future__ import annotations

import csv
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from petals.data.photo_files import PhotoError
from petals.data.shards import UNLABELLED
from petals.errors import DataError

MOST_SHOWN = 20  # bad rows of a CSV
Labelled = list[tuple[Path, int]]  # files, and the positions of their classes


@dataclass(frozen=True)
class Photo:
    """A photo, identified by the hash of its bytes; `label`: the position of its class."""

    path: Path
    label: int
    digest: str  # 32 hexadecimal digits

    @classmethod
    def read(cls, path: Path, label: int) -> Photo:
        """Read and hash a file; raises `PhotoError`."""
        try:
            digest = hashlib.blake2b(path.read_bytes(), digest_size=16)
        except OSError as error:
            raise PhotoError(f"cannot be read ({error.strerror})") from None
        return cls(path, label, digest.hexdigest())

    @property
    def id(self) -> str:
        """Nine hexadecimal digits, as the competition's ids are."""
        return self.digest[:9]

    @property
    def position(self) -> float:
        """A number in [0, 1) that depends only on the content and decides the split."""
        return int(self.digest[16:], 16) / 16**16


def in_class_folders(folder: Path, leave_out: Path | None) -> tuple[list[str], Labelled]:
    """The class names and the files in `folder/CLASS/`, except for the folder `leave_out`.

    Raises `DataError` if there are no class folders.
    """
    other = leave_out and leave_out.resolve()
    folders = [
        path
        for path in sorted(folder.iterdir())
        if path.is_dir() and not path.name.startswith(".") and path.resolve() != other
    ]
    if not folders:
        raise DataError(
            f"{folder} contains no class folders: put the photos of each class in a folder of its "
            "own, or give a CSV of labels"
        )
    files = [(file, label) for label, path in enumerate(folders) for file in _files(path)]
    return [path.name for path in folders], files


def in_test_folder(folder: Path, labelled: Labelled) -> Labelled:
    """The files at any depth in a folder of test photos, except for those that have a label.

    Raises `DataError` if there are none.
    """
    with_label = {path.resolve() for path, _ in labelled}
    files = [(path, UNLABELLED) for path in _files(folder) if path.resolve() not in with_label]
    if not files:
        raise DataError(f"no files without a label in {folder}: put the test photos there")
    return files


def in_csv(table: Path, folder: Path) -> tuple[list[str], Labelled]:
    """The class names and the files listed in a CSV in UTF-8, in its columns `file` and `label`.

    Files are relative to `folder`. Labels are names or numbers; numbers keep their order. Raises
    `DataError`, with a line for each of the first bad rows.
    """
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restval="", strict=True))
        columns = [(row["file"].strip(), row["label"].strip(), None in row) for row in rows]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise DataError(
            f"cannot read {table} ({error}): give a CSV in UTF-8 whose first line names the "
            "columns file and label"
        ) from None
    labels: dict[Path, str] = {}
    problems = []
    for name, label, too_long in columns:
        path = folder / name
        if path in labels:
            problems.append(f"{name!r} is listed twice")
        elif not os.path.isfile(path):  # noqa: PTH113 - False for a name that no file can have
            problems.append(f"no file {name!r} in {folder}")
        elif too_long or not label or not label.isprintable():
            problems.append(f"{name!r} has the label {label!r}{' and more' * too_long}")
        labels[path] = label
    if problems or not labels:
        head = f"{table}: {len(problems)} of {len(rows)} rows are wrong; nothing was written"
        raise DataError("\n  ".join([head, *problems[:MOST_SHOWN]]))
    numbers = all(label.isdecimal() for label in labels.values())
    names = sorted(sorted(set(labels.values())), key=int if numbers else None)  # "1" and "01", too
    position = {name: label for label, name in enumerate(names)}
    return names, [(path, position[label]) for path, label in labels.items()]


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]
