"""Tables of labels as people share them: which columns they are in, and which photo a row means.

`read` takes a CSV with any of the usual separators and names of columns, one without a header, and
one with a column of 0 and 1 for each class, and follows a column that names the splits. What cannot
be told for certain is refused.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from petals.data import classes, photo_files
from petals.data.layout import split_of
from petals.errors import DataError

# What people call the two columns, the likeliest first.
FILES = (
    *("file", "filename", "file_name", "image", "image_id", "image_name", "imageid", "imagename"),
    *("img", "path", "filepath", "file_path", "image_path", "photo", "photo_id", "id", "name"),
)
LABELS = (
    *("label", "class", "class_name", "classname", "category", "target", "species", "breed"),
    *("labels", "class_label", "category_name", "variety", "y"),
)
_SEPARATORS = ",;\t|"
_IS_VALIDATION = ("is_valid", "is_val", "is_validation")  # columns of true and false, as fastai has
_TRUTHS = {"true": "val", "1": "val", "false": "train", "0": "train"}
_UNKNOWN = ("nan", "na", "n/a", "#n/a", "<na>", "null", "none")  # what tables have for no value
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_LOOKED_AT = 200  # rows, to see which column names files
_JOINTS = ",;| "  # what stands between several labels of one photo
_AROUND = " []()'\""  # and around them, as in ['rust', 'scab']
_MOST_NAMED = 8
# By the first bytes that are no white space.
_OTHER_FILES = {
    b"PAR1\x15": "Parquet",
    b"PK\x03\x04": "a zip archive or an Excel file",
    **dict.fromkeys((b'{"', b"[{", b'["', b"[["), "JSON"),
}
_OF_ANY_ROOT = re.compile(r"/|[A-Za-z]:/")  # how an absolute path begins, of Windows too


@dataclass(frozen=True)
class Row:
    """A photo's name and its label as the table writes them.

    `too_long`: it has more cells than there are columns; `split`: train, val or test if a column
    says so, else "".
    """

    file: str
    label: str
    too_long: bool
    split: str = ""


@dataclass
class LabelTable:
    """The rows of a table, and what there is to say about how it was read."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class PhotoNames:
    """The files below a folder by the names that a table can have for them.

    Those in the folder `apart`, or in one that is called like test photos, only by their paths.
    """

    def __init__(self, folder: Path, files: Iterable[Path], apart: Path | None = None) -> None:
        self.folder = folder
        self._absolute = folder.resolve()
        other = apart and apart.resolve()
        self.by_path: dict[str, list[Path]] = {}
        self.by_name: dict[str, list[Path]] = {}
        for path in files:
            inner = path.relative_to(folder)
            self.by_path.setdefault(_key(inner.as_posix()), []).append(path)
            if path.suffix.lower() not in photo_files.SUFFIXES:
                continue
            if inner.suffix:
                without = _key(inner.with_suffix("").as_posix())
                self.by_path.setdefault(without, []).append(path)
            of_test = any(split_of(part) == "test" for part in inner.parts[:-1])
            if other is not None and path.resolve().is_relative_to(other):
                of_test = True
            if not of_test:
                for name in {path.name, path.stem}:
                    self.by_name.setdefault(_key(name), []).append(path)

    def find(self, name: str) -> list[Path]:
        """The files that a name can mean: none, one, or several.

        It may be a path from the folder or from above it, without the ending, in another case or
        form of Unicode, with Windows's separators, or the name of a file in a deeper folder. Of an
        absolute path of another machine, the folders below this one must be the same.
        """
        exact = self.folder / name
        if os.path.isfile(exact):  # noqa: PTH113 - False for a name that no file can have
            inside = exact.is_absolute() and exact.is_relative_to(self._absolute)
            return [self.folder / exact.relative_to(self._absolute)] if inside else [exact]
        text = os.path.normpath(name.replace("\\", "/"))
        if text == ".":
            return []
        parts = PurePosixPath(text).parts
        elsewhere = _OF_ANY_ROOT.match(text) is not None
        from_folder = [parts]
        for place, part in enumerate(parts[:-1]):
            inner = parts[place + 1 :]
            if part == self.folder.name or (elsewhere and len(inner) > 1):
                from_folder.append(inner)
        for inner in from_folder:
            found = self.by_path.get(_key("/".join(inner)))
            if found:
                return found
        return self.by_name.get(_key(text), [])


def _key(name: str) -> str:
    return classes.normalised(name).casefold()


def read(table: Path, names: PhotoNames) -> LabelTable:
    """The rows of a table of labels, blank ones left out.

    Raises `DataError` if it is no CSV in UTF-8, and if it cannot be told which of its columns name
    the files and the labels.
    """
    try:
        data = table.read_bytes()
        _refuse_other_files(table, data)
        encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
        text = data.decode(encoding)
        lines = [line for line in _cells(text) if line]
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(
            f"cannot read {table} ({error}): give a CSV in UTF-8 whose first line names the "
            "columns file and label"
        ) from None
    result = LabelTable()
    if not lines:
        return result
    header = [name.strip() for name in lines[0]]
    body = lines[1:]
    if len(header) == 2 and not _known(header) and len(names.find(header[0])) == 1:
        result.notes.append(f"{table} has no line of columns: they are taken as file and label")
        header = ["file", "label"]
        body = lines
    rows = [_padded(line, len(header)) for line in body]
    file = _file_column(table, header, rows, names)
    others = [place for place in range(len(header)) if place != file]
    column, splits = _splits(header, rows, others)
    if column is not None:
        others.remove(column)
        result.notes.append(f"{table}: the split is taken from {header[column]}")
    labels = _label_column(header, others)
    if labels is not None:
        values = [row[labels].strip() for row in rows]
        if header[file].casefold() != "file" or header[labels].casefold() != "label":
            result.notes.append(
                f"{table}: the file is taken from {header[file]}, the label from {header[labels]}"
            )
        _note_several(table, values, result)
        _note_unknown(table, values, result)
        _note_fractions(table, values, result)
        unused = [header[place] for place in others if place != labels and header[place]]
        if unused:
            result.notes.append(f"{table}: other columns are not used: {_shown(unused)}")
    else:
        values = _one_hot(table, header, rows, others)
        result.notes.append(
            f"{table}: one of its {len(others)} columns is 1 in each row: the class"
        )
    for line, row, value, split in zip(body, rows, values, splits, strict=True):
        result.rows.append(Row(row[file].strip(), value, len(line) > len(header), split))
    return result


def _refuse_other_files(table: Path, data: bytes) -> None:
    """Raise `DataError` for a table of another format, by its first bytes."""
    begins = b"".join(data[:64].removeprefix(codecs.BOM_UTF8).split())
    for beginning, what in _OTHER_FILES.items():
        if begins.startswith(beginning):
            raise DataError(
                f"{table} is {what} and no CSV: save it as a CSV in UTF-8 with the columns file "
                "and label"
            )


def _cells(text: str) -> list[list[str]]:
    """The cells of each line; they are separated by what makes most columns of the first line.

    That is a space only where nothing else makes two: `a/1.jpg 0`, as in lists for ImageNet.
    """
    first = text.split("\n", 1)[0]

    def columns(separator: str) -> int:
        return len(next(csv.reader([first], delimiter=separator), []))

    separator = max(_SEPARATORS, key=columns)
    if columns(separator) < 2 and columns(" ") == 2:
        separator = " "
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))


def _padded(line: Sequence[str], length: int) -> list[str]:
    return [*line[:length], *[""] * (length - len(line))]


def _known(header: Sequence[str]) -> bool:
    return any(name.casefold() in (*FILES, *LABELS) for name in header)


def _file_column(
    table: Path, header: Sequence[str], rows: Sequence[Sequence[str]], names: PhotoNames
) -> int:
    """Which column names the files: the one called so, or of others the one that does it."""
    folded = [name.casefold() for name in header]
    if "file" in folded:
        return folded.index("file")
    looked_at = rows[:_LOOKED_AT]
    found = [_named_files(looked_at, place, names.find) for place in range(len(header))]
    named = [place for place, count in enumerate(found) if 2 * count > len(looked_at)]
    by_word = [folded.index(word) for word in FILES if word in folded]
    for place in by_word:
        if place in named:
            return place
    if named:
        return named[0]
    if by_word and len(header) > 1:
        return by_word[0]
    raise _unclear(table, header)


def _named_files(
    rows: Sequence[Sequence[str]], place: int, find: Callable[[str], list[Path]]
) -> int:
    return sum(1 for row in rows if len(find(row[place].strip())) == 1)


def _splits(
    header: Sequence[str], rows: Sequence[Sequence[str]], others: Sequence[int]
) -> tuple[int | None, list[str]]:
    """The column that names the splits, and the split of each row; None and "" without one.

    Every value of it is a word for a split, and they are not all of one split; or it is called
    is_valid, and its values are true and false.
    """
    for place in others:
        values = [row[place].strip() for row in rows]
        if header[place].casefold() in _IS_VALIDATION:
            splits = [_TRUTHS.get(value.casefold(), "") for value in values]
        else:
            splits = [split_of(value) for value in values]
        if all(splits) and len(set(splits)) > 1:
            return place, splits
    return None, [""] * len(rows)


def _label_column(header: Sequence[str], others: Sequence[int]) -> int | None:
    """Which of the other columns is the label; None if no name tells it."""
    if len(others) == 1:
        return others[0]
    for word in LABELS:
        for place in others:
            if header[place].casefold() == word:
                return place
    return None


def _one_hot(
    table: Path, header: Sequence[str], rows: Sequence[Sequence[str]], others: Sequence[int]
) -> list[str]:
    """The name of the column that is 1, of columns that are 0 and 1; raises `DataError` else."""
    if not others:
        raise _unclear(table, header)
    labels = []
    wrong: dict[int, int] = {}  # rows by their number of classes
    for row in rows:
        numbers = [_bit(row[place]) for place in others]
        if None in numbers:
            raise _unclear(table, header)
        if numbers.count(1) != 1:
            wrong[numbers.count(1)] = wrong.get(numbers.count(1), 0) + 1
            continue
        labels.append(header[others[numbers.index(1)]])
    if wrong:
        parts = ", ".join(f"{count:,} have {ones}" for ones, count in sorted(wrong.items()))
        raise DataError(
            f"{table} has a column of 0 and 1 for each of {len(others)} classes, and a photo needs "
            f"exactly one: of {len(rows):,} rows {parts}. Photos of several classes cannot be "
            "learnt here"
        )
    return labels


def _bit(text: str) -> int | None:
    """0 or 1, also if they are written as 1.0; None for anything else."""
    value = _number(text)
    return int(value) if value in (0, 1) else None


def _number(text: str) -> float | None:
    """The number that a text is; None if it is none, or not finite."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _note_several(table: Path, labels: Sequence[str], result: LabelTable) -> None:
    """Say which labels look like several labels of one photo."""
    plain = {label: label.strip(_AROUND) for label in sorted(set(labels))}
    known = set(plain.values())
    for joint in _JOINTS:
        joined = []
        for label, text in plain.items():
            parts = [part.strip(_AROUND) for part in text.split(joint)]
            if len(parts) > 1 and all(part in known for part in parts):
                joined.append(label)
        if joined:
            result.notes.append(
                f"{table}: {len(joined):,} labels are made of others, such as {joined[0]!r}: if "
                "they are several labels of one photo, each combination is learnt as a class"
            )
            return


def _note_unknown(table: Path, labels: Sequence[str], result: LabelTable) -> None:
    """Say which labels look like the mark of a table for a value that is not known."""
    counts = Counter(label for label in labels if label.casefold() in _UNKNOWN)
    result.notes += [
        f"{table}: {count:,} photos have the label {label!r}, which is learnt as a class: if it "
        "means that none is known, remove these rows"
        for label, count in counts.items()
    ]


def _note_fractions(table: Path, labels: Sequence[str], result: LabelTable) -> None:
    """Say which labels look like values to predict, which nothing here learns."""
    fractions = []
    for label in sorted(set(filter(None, labels))):
        number = _number(label)
        if number is None:
            return
        if not number.is_integer():
            fractions.append(label)
    if fractions:
        result.notes.append(
            f"{table}: labels are fractions, such as {fractions[0]}: each value is learnt as a "
            "class. Values that are to be estimated cannot be learnt here"
        )


def _shown(columns: Sequence[str]) -> str:
    text = ", ".join(columns[:_MOST_NAMED])
    more = len(columns) - _MOST_NAMED
    if more > 0:
        text += f" and {more:,} more"
    return text


def _unclear(table: Path, header: Sequence[str]) -> DataError:
    return DataError(
        f"{table} has the columns {_shown(header)}: it cannot be told which of them names the "
        "files and which the labels. Call them file and label"
    )
