"""Find photos and their classes; summarise an ingest and give advice."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from petals import storage
from petals.data import shards
from petals.errors import DataError
from petals.prepare.photos import UNLABELLED, Photo, attempt, read
from petals.progress import ShowProgress

COLUMNS = ("file", "label")  # of a CSV of labels; it may have others besides
TEST_IDS = "test_photos.csv"
MOST_SHOWN = 20  # bad lines of a CSV
Labelled = list[tuple[Path, int]]  # files, and the positions of their classes
TPU_SHARD_BYTES = (10_000_000, 200_000_000)  # the organisers' advice: 10s to 100s of MB per file


def in_class_folders(folder: Path, leave_out: tuple[Path, ...]) -> tuple[list[str], Labelled]:
    """The class names and the files in `folder/CLASS/`, except for the folders in `leave_out`.

    Raises `DataError` if there are no class folders, or if one of them is empty.
    """
    _check_folder(folder)
    others = {path.resolve() for path in leave_out}
    names = sorted(
        path.name
        for path in folder.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.resolve() not in others
    )
    if not names:
        raise DataError(
            f"{folder} contains no class folders: put the photos of each class in a folder of its "
            "own, or give a CSV of labels"
        )
    empty = [name for name in names if not any((folder / name).iterdir())]
    if empty:
        raise DataError(f"no images in {', '.join(empty)}: add photos or remove the folder")
    return names, [
        (path, label) for label, name in enumerate(names) for path in _files(folder / name)
    ]


def in_test_folder(folder: Path, labelled: Labelled) -> Labelled:
    """The files at any depth in a folder of test photos, except for those that have a label.

    Raises `DataError` if there are none.
    """
    _check_folder(folder)
    with_label = {path.resolve() for path, _ in labelled}
    files = [(path, UNLABELLED) for path in _files(folder) if path.resolve() not in with_label]
    if not files:
        raise DataError(f"no files without a label in {folder}: put the test photos there")
    return files


def in_csv(table: Path, folder: Path) -> tuple[list[str], Labelled]:
    """The class names and the files listed in a CSV in UTF-8, in its columns `file` and `label`.

    Files are relative to `folder`. Labels are names or numbers; numbers keep their order. Raises
    `DataError`, with a line for each bad line of the CSV.
    """
    _check_folder(folder)
    labels: dict[Path, str] = {}
    lines: dict[Path, int] = {}
    problems = []
    for number, file, label, problem in _rows(table):
        path = folder / file
        if not problem and not _is_file(path):
            problem = f"no file {file!r} in {folder}"
        if not problem and path in lines:
            problem = f"{file!r} has its label on line {lines[path]} already"
        if problem:
            problems.append(f"line {number}: {problem}")
        else:
            labels[path], lines[path] = label, number
    if problems:
        count = f"{len(problems)} bad line{'s' * (len(problems) > 1)}"
        lines_shown = problems[:MOST_SHOWN]
        if len(problems) > MOST_SHOWN:
            lines_shown.append(f"and {len(problems) - MOST_SHOWN} more")
        raise DataError("\n  ".join([f"{table}: {count}, nothing is written", *lines_shown]))
    if not labels:
        raise DataError(f"{table} names no photo: a line for each is needed, as rose1.jpg,rose")
    numbers = all(label.isdecimal() for label in labels.values())
    names = sorted(set(labels.values()), key=int if numbers else None)
    position = {name: label for label, name in enumerate(names)}
    return names, [(path, position[label]) for path, label in labels.items()]


def hash_all(
    files: Labelled, pool: ThreadPoolExecutor, say: ShowProgress, summary: Summary
) -> list[Photo]:
    """The photos of all files that can be read; adds the reasons for the others to the summary."""
    photos = []
    results = pool.map(attempt, [read] * len(files), *zip(*files, strict=True))
    for done, (item, result) in enumerate(zip(files, results, strict=True), 1):
        if isinstance(result, str):
            summary.left_out[str(item[0])] = result
        else:
            photos.append(result)
        say("reading", done, len(files))
    return photos


def unique(photos: list[Photo], summary: Summary) -> list[Photo]:
    """The first photo of each content, in the order of their hashes.

    Raises `DataError` if no photo is left.
    """
    first: dict[str, Photo] = {}
    for photo in photos:
        same = first.setdefault(photo.digest, photo)
        if same is not photo:
            other = " of ANOTHER class" if same.label != photo.label else ""
            if same.label == UNLABELLED != photo.label:
                other = ", a test photo"
            summary.left_out[str(photo.path)] = f"same bytes as {same.path}{other}"
    if not first:
        reasons = (f"\n  {path}: {why}" for path, why in islice(summary.left_out.items(), 5))
        raise DataError("no usable photo was found" + "".join(reasons))
    return sorted(first.values(), key=lambda photo: photo.digest)


def write_test_ids(
    output: Path, folder: Path | None, photos: list[Photo], summary: Summary
) -> None:
    """Write the id of each test photo in a submission to `output/test_photos.csv`.

    Without a `folder` of test photos, the file of an earlier call is removed.
    """
    path = output / TEST_IDS
    if folder is None:
        path.unlink(missing_ok=True)
        return
    own = [photo for photo in photos if photo.label == UNLABELLED]
    used = {photo.digest for photo in own if str(photo.path) not in summary.left_out}
    files = [(p.id, p.path.relative_to(folder).as_posix()) for p in own if p.digest in used]
    # A name may hold bytes that are not text.
    rows = [(id, name.encode(errors="backslashreplace").decode()) for id, name in files]
    storage.write_csv(path, ("id", "file"), rows)


def _rows(table: Path) -> Iterator[tuple[int, str, str, str]]:
    """(line, file, label, problem or "") for each row."""
    reader, last = csv.DictReader(io.StringIO(_text(table), newline=""), strict=True), 1
    try:
        columns = reader.fieldnames or ()
        if missing := [name for name in COLUMNS if name not in columns]:
            raise DataError(
                f"{table} has no column {' or '.join(missing)}: its first line must be "
                f"'file,label', and is {','.join(columns)[:80]!r}"
            )
        for row in reader:
            file, label = ((row[name] or "").strip() for name in COLUMNS)
            last = reader.line_num
            yield last, file, label, _problem(row, file, label, len(columns))
    except csv.Error as error:  # such as a quote that is never closed
        yield last + 1, "", "", str(error)


def _problem(row: dict, file: str, label: str, columns: int) -> str:
    if None in row:
        return f"{columns + len(row[None])} values where the first line names {columns} columns"
    if not file:
        return "no file is named"
    if not label:
        return f"no label for {file!r}"
    return "" if label.isprintable() else f"a label that cannot be printed: {label!r}"


def _text(table: Path) -> str:
    try:
        text = table.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {table}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{table} is not UTF-8 (byte {error.start}): save it as CSV in UTF-8"
        ) from None
    if not text.strip():
        raise DataError(f"{table} is empty: its first line must be 'file,label'")
    return text


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise DataError(f"no such folder: {folder}")


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


@dataclass
class Summary:
    """The counts of an ingest: `images` by split, `kinds` handled, `left_out` by file."""

    output: Path
    class_names: list[str]
    images: dict[str, Counter[int]] = field(default_factory=dict)  # split -> label -> images
    kinds: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    shards_written: int = 0
    shards_kept: int = 0

    def add(self, split: str, entry: dict) -> None:
        """Add the counts of one shard, as they are in the manifest."""
        self.kinds.update(entry["kinds"])
        self.left_out.update(entry["left_out"])
        counts = Counter({int(label): n for label, n in entry["labels"].items()})
        self.images.setdefault(split, Counter()).update(counts)

    def __str__(self) -> str:
        totals = {split: sum(counts.values()) for split, counts in self.images.items()}
        lines = [
            f"{self.output}: {len(self.class_names)} classes, "
            + ", ".join(f"{n:,} {split}" for split, n in totals.items())
            + f"; {self.shards_written} shards written, {self.shards_kept} there already"
        ]
        if self.kinds:
            kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items()))
            lines.append(f"handled: {kinds}")
        if self.left_out:
            count = len(self.left_out)
            lines.append(f"left out: {count} file{'s' * (count > 1)}")
            lines += [f"  {path}: {why}" for path, why in sorted(self.left_out.items())]
        return "\n".join(lines + [f"note: {line}" for line in self.advice])


def advise(summary: Summary, sizes: Sequence[int]) -> list[str]:
    """Advice on classes that are missing from a split, and on shards of an unsuitable size."""
    advice = []
    train = summary.images.get("train", Counter())
    for label, name in enumerate(summary.class_names):
        missing = [s for s in ("train", "val") if not summary.images.get(s, Counter())[label]]
        if missing:
            n = sum(counts[label] for counts in summary.images.values())
            advice.append(
                f"class {name} ({n} photos) has none in {' and '.join(missing)}: add photos"
            )
    if not train:
        return advice
    low, high = TPU_SHARD_BYTES
    for size in sizes:
        split = Path(shards.folder(summary.output, size, "train"))
        bytes_each = [p.stat().st_size for p in split.glob("*.tfrec")]
        mean = sum(bytes_each) / len(bytes_each)
        if mean < low:
            advice.append(
                f"train shards at {size} px are {mean / 1e6:.1f} MB: little data for a TPU, which "
                "is fed best by 10s of files of 10-100 MB; at home it makes no difference"
            )
        elif mean > high:
            advice.append(
                f"train shards at {size} px are {mean / 1e6:.0f} MB: give --shards "
                f"{round(sum(bytes_each) / 100e6)} for files of about 100 MB"
            )
    return advice
