"""The tables of a competition: CSV files, Parquet files, and folders of partitioned Parquet files.

A CSV holds texts, which are written again as they were read; Parquet keeps its types. The rows of a
table stay in its file and are read when they are asked for, so that a table may be larger than the
memory.
"""

from __future__ import annotations

import csv
import shutil
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from kernelkit import files
from kernelkit.errors import ParameterError

ENDINGS = (".csv", ".parquet")
TRAIN, TEST = "train", "test"
SAMPLES = ("sample_submission", "sampleSubmission", "SampleSubmission")
SUBMISSION = "submission"  # in the name of a sample submission that is called otherwise
PACKED = (".zip", ".gz", ".7z", ".bz2", ".xz")
NO_PYARROW = "{} is a Parquet file: pip install pyarrow"
BOM = b"\xef\xbb\xbf"
SEPARATORS = ",;\t"
LARGEST_CELL = 2**31 - 1  # characters; Python's own limit is exceeded by masks and long texts
AT_ONCE = 4096  # rows of Parquet in memory

Row = dict[str, Any]


class Rows(Protocol):
    """The rows of a table, in order, by their places, and how many there are."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Row]: ...
    def __getitem__(self, place: int, /) -> Row: ...


@dataclass(frozen=True)
class Table:
    """A table; `name` is its file's. `schema` is a Parquet file's, None for a CSV.

    `partitions`: the columns by whose values a folder of Parquet files is divided, as in
    `test.parquet/date_id=0/part-0.parquet`; None for a single file. `header`: the names of a CSV's
    columns as its first line has them, where some are empty or stand twice; `separator`: what
    stands between its cells.
    """

    name: str
    columns: Sequence[str]
    rows: Rows
    schema: Any = None
    partitions: Sequence[str] | None = None
    header: Sequence[str] = ()
    separator: str = ","


class CsvRows:
    """The rows of a CSV file, of which only the place of each is in memory."""

    def __init__(self, path: Path, columns: Sequence[str], separator: str, begins: array[int]):
        self._path = path
        self._columns = columns
        self._separator = separator
        self._begins = begins

    def __len__(self) -> int:
        return len(self._begins)

    def __iter__(self) -> Iterator[Row]:
        if not self._begins:
            return
        with self._path.open("rb") as file:
            for cells in self._from(file, 0):
                if cells:
                    yield self._row(cells)

    def __getitem__(self, place: int, /) -> Row:
        return next(self.at([place]))

    def at(self, places: Iterable[int]) -> Iterator[Row]:
        """The rows at these places, in their order."""
        with self._path.open("rb") as file:
            for place in places:
                yield self._row(next(self._from(file, place)))

    def _from(self, file: BinaryIO, place: int) -> Iterator[list[str]]:
        """The cells of each row, from that of a place on."""
        file.seek(self._begins[place])
        return csv.reader(_Lines(file), delimiter=self._separator)

    def _row(self, cells: list[str]) -> Row:
        """A row; cells that are missing at its end are empty, and surplus ones left out."""
        lacking = len(self._columns) - len(cells)
        return dict(zip(self._columns, cells + [""] * lacking, strict=False))


class _Lines:
    """The lines of a CSV in UTF-8 as texts; `position` is where the next one begins."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.position = file.tell()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline()
        if not line:
            raise StopIteration
        self.position += len(line)
        return line.decode("utf-8")


class ParquetRows:
    """The rows of a Parquet file, or of a folder of them."""

    def __init__(self, path: Path, dataset: Any) -> None:
        self._path = path
        self._dataset = dataset
        self._count = int(dataset.count_rows())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        for batch in self._dataset.to_batches(batch_size=AT_ONCE):
            yield from self._listed(batch)

    def __getitem__(self, place: int, /) -> Row:
        return next(self.at([place]))

    def at(self, places: Iterable[int]) -> Iterator[Row]:
        """The rows at these places, in their order."""
        wanted = list(places)
        ranks = sorted(range(len(wanted)), key=wanted.__getitem__)
        taken = self._dataset.take([wanted[rank] for rank in ranks])
        back = sorted(range(len(ranks)), key=ranks.__getitem__)
        for begin in range(0, len(back), AT_ONCE):
            yield from self._listed(taken.take(back[begin : begin + AT_ONCE]))

    def _listed(self, part: Any) -> list[Row]:
        try:
            rows: list[Row] = part.to_pylist()
        except ValueError as error:  # of nanoseconds, without pandas
            raise ParameterError(f"{self._path} has values that cannot be read: {error}") from None
        return rows


def at(rows: Rows, places: Iterable[int]) -> Iterator[Row]:
    """The rows at these places, in their order."""
    if isinstance(rows, CsvRows | ParquetRows):
        return rows.at(places)
    return (rows[place] for place in places)


class Texts:
    """Texts by their places, held in little more memory than their letters take."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._letters = bytearray()
        self._ends = array("Q")
        for text in texts:
            self._letters += text.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._letters))

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        begin = 0
        for end in self._ends:
            yield self._letters[begin:end].decode("utf-8", "surrogatepass")
            begin = end

    def __getitem__(self, place: int, /) -> str:
        begin = self._ends[place - 1] if place else 0
        return self._letters[begin : self._ends[place]].decode("utf-8", "surrogatepass")


def is_table(path: Path) -> bool:
    """Whether a file or folder is named as a table that `read` takes."""
    if path.is_dir():
        return path.suffix == ".parquet"
    return path.is_file() and path.suffix in ENDINGS


def find(folder: Path, stems: Sequence[str]) -> Path | None:
    """The first table in a folder that has one of these names without its ending."""
    for stem in stems:
        for ending in ENDINGS:
            path = folder / f"{stem}{ending}"
            if is_table(path):
                return path
    return None


def find_sample(folder: Path) -> Path | None:
    """The sample submission in a folder: the table of that name, or the only one called so.

    That is one with "submission" in its name, such as `gender_submission.csv`.
    """
    usual = find(folder, SAMPLES)
    if usual or not folder.is_dir():
        return usual
    named = [path for path in folder.iterdir() if SUBMISSION in path.stem.lower()]
    called_so = list(filter(is_table, named))
    return called_so[0] if len(called_so) == 1 else None


def find_packed(folder: Path) -> Path | None:
    """A packed table in a folder, such as `train.csv.zip`; None without one."""
    for path in sorted(folder.iterdir()):
        is_table_named = any(word in path.name.lower() for word in (TRAIN, TEST, SUBMISSION))
        if path.suffix.lower() in PACKED and is_table_named and path.is_file():
            return path
    return None


def read(path: Path) -> Table:
    """The table in a file or folder. Raises `ParameterError` if it cannot be read."""
    if path.suffix == ".parquet":
        return _read_parquet(path)
    csv.field_size_limit(LARGEST_CELL)
    try:
        with path.open("rb") as file:
            if file.read(len(BOM)) != BOM:
                file.seek(0)
            return _read_csv(path, file)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} cannot be read as a CSV file in UTF-8: {error}") from None


def _read_csv(path: Path, file: BinaryIO) -> Table:
    begin = file.tell()
    first = file.readline().decode("utf-8")
    separator = max(SEPARATORS, key=lambda one: len(next(csv.reader([first], delimiter=one), [])))
    file.seek(begin)
    lines = _Lines(file)
    reader = csv.reader(lines, delimiter=separator)
    header = next(reader, [])
    columns = _distinct(header)
    begins = array("Q")
    begin = lines.position
    for cells in reader:
        if cells:
            begins.append(begin)
        begin = lines.position
    rows = CsvRows(path, columns, separator, begins)
    return Table(path.name, columns, rows, header=header, separator=separator)


def _distinct(header: Sequence[str]) -> list[str]:
    """Names for the columns, with those that are empty or stand twice called as pandas does."""
    columns: list[str] = []
    for place, name in enumerate(header):
        base = name or f"Unnamed: {place}"
        number = 0
        found = base
        while found in columns:
            number += 1
            found = f"{base}.{number}"
        columns.append(found)
    return columns


def sample_ids(folder: Path) -> list[str]:
    """The ids of a folder's sample submission, in its order; none without one.

    Raises `ParameterError` if it cannot be read.
    """
    path = find_sample(folder)
    if path is None:
        return []
    return ids(read(path))


def rows_of_test(folder: Path) -> int:
    """The number of rows of a folder's test set; 0 if it is not known.

    The sample submission has one for each id. Without it the rows of the test table are counted.
    """
    counted = find_sample(folder) or find(folder, (TEST,))
    if counted is None:
        return 0
    try:
        return len(read(counted).rows)
    except ParameterError:
        return 0


def ids(table: Table) -> list[str]:
    """The first column as texts, which has the ids in a sample submission and in answers."""
    name = next(iter(table.columns), "")
    return [str(row[name]) for row in table.rows]


def _read_parquet(path: Path) -> Table:
    try:
        import pyarrow
        from pyarrow import dataset
    except ModuleNotFoundError:
        raise ParameterError(NO_PYARROW.format(path.name)) from None
    partitions = _partitions(path) if path.is_dir() else None
    try:
        found = dataset.dataset(path, format="parquet", partitioning="hive")
        rows = ParquetRows(path, found)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ParameterError(f"{path} cannot be read as Parquet: {error}") from None
    return Table(path.name, list(found.schema.names), rows, found.schema, partitions)


def _partitions(folder: Path) -> list[str]:
    """The columns that the folders below a folder of Parquet files are named by."""
    for path in sorted(folder.rglob("*.parquet")):
        parts = path.relative_to(folder).parts[:-1]
        return [part.partition("=")[0] for part in parts if "=" in part]
    return []


def write(folder: Path, like: Table, rows: Iterable[Row]) -> None:
    """Write rows as the file of a table: its name, its columns, and the types of Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / like.name
    part = path.with_name(f".{path.name}{files.PART}")
    if like.schema is None:
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=like.separator, lineterminator="\n")
            writer.writerow(like.header or like.columns)
            for row in rows:
                writer.writerow([row.get(name, "") for name in like.columns])
    else:
        _write_parquet(part, like, rows)
    if path.is_dir():
        shutil.rmtree(path)
    part.replace(path)


def _write_parquet(part: Path, like: Table, rows: Iterable[Row]) -> None:
    import pyarrow
    from pyarrow import dataset, parquet

    def batches() -> Iterator[Any]:
        left = iter(rows)
        while chunk := list(islice(left, AT_ONCE)):
            shown = [{name: row.get(name) for name in like.columns} for row in chunk]
            yield pyarrow.RecordBatch.from_pylist(shown, schema=like.schema)

    if like.partitions is None:
        with parquet.ParquetWriter(part, like.schema) as writer:
            for batch in batches():
                writer.write_batch(batch)
        return
    shutil.rmtree(part, ignore_errors=True)  # of a command that was killed
    fields = pyarrow.schema([like.schema.field(name) for name in like.partitions])
    partitioning = dataset.partitioning(fields, flavor="hive")
    dataset.write_dataset(
        batches(),
        part,
        schema=like.schema,
        format="parquet",
        partitioning=partitioning,
        max_partitions=2**20,
        max_open_files=256,
    )
