"""The tables of a competition's folder: which files they are, and their rows, one after the other.

A submission, a sample of one, and answers are read here, and the rows of a test table are counted;
a CSV without DuckDB. To make hidden data, training and test tables are read by `table_engine`.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden.tables import table_engine

ENDINGS = (".csv", ".parquet")
TRAIN, TEST = "train", "test"
TRAIN_IN_NAME, TEST_IN_NAME = (  # of a table or a folder; not in constraints.json or latest.csv
    re.compile(rf"(?<![a-z]){word}(?![a-z])") for word in (TRAIN, TEST)
)
SAMPLES = ("sample_submission", "sampleSubmission", "SampleSubmission")
SUBMISSION = "submission"  # in the name of a sample submission that is called otherwise
PACKED = (".zip", ".gz", ".7z", ".bz2", ".xz")


def is_table(path: Path) -> bool:
    """Whether a file, or a folder of partitioned Parquet files, is named as a table."""
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
    """The sample submission in a folder: the table of that name.

    Without one it is the only table with "submission" in its name, as `gender_submission.csv`.
    """
    sample = find(folder, SAMPLES)
    if sample or not folder.is_dir():
        return sample
    named = [path for path in folder.iterdir() if SUBMISSION in path.stem.lower()]
    tables = list(filter(is_table, named))
    return tables[0] if len(tables) == 1 else None


def find_packed(folder: Path) -> Path | None:
    """A packed table in a folder, such as `train.csv.zip`; None without one."""
    for path in sorted(folder.iterdir()):
        is_table_named = any(word in path.name.lower() for word in (TRAIN, TEST, SUBMISSION))
        if path.suffix.lower() in PACKED and is_table_named and path.is_file():
            return path
    return None


def read(path: Path) -> tuple[list[str], Iterator[Sequence[object]]]:
    """The columns of a table, and its rows as they are asked for; those of a CSV are texts.

    Raises `ParameterError` if it cannot be read, or for Parquet without DuckDB.
    """
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _csv_rows(path)
    header = next(rows, [])
    return [str(name) for name in header], rows


def ids(path: Path | None) -> list[str]:
    """The first column, which has the ids in a sample submission and in answers.

    Empty without a file. Raises `ParameterError` if it cannot be read.
    """
    if path is None:
        return []
    columns, rows = read(path)
    return [str(row[0]) for row in rows] if columns else []


def rows_of_test(folder: Path) -> int:
    """The number of rows of a folder's test set; 0 if it is not known.

    The sample submission has one for each id. Without it the rows of the test table are counted.
    """
    counted = find_sample(folder) or find(folder, (TEST,))
    if counted is None:
        return 0
    try:
        return sum(1 for _ in read(counted)[1])
    except ParameterError:
        return 0


def _csv_rows(path: Path) -> Iterator[Sequence[object]]:
    """The cells of each row of a CSV in UTF-8, the names of its columns first."""
    header, separator = table_engine.read_header(path)  # which allows long cells to `csv` too
    yield header
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=separator)
            next(reader)
            for cells in reader:
                if cells:
                    lacking = len(header) - len(cells)
                    yield cells + [""] * lacking
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} cannot be read as a CSV file in UTF-8: {error}") from None


def _parquet_rows(path: Path) -> Iterator[Sequence[object]]:
    """The rows of a Parquet file, or of a folder of them, the names of its columns first."""
    with table_engine.opened(path.name) as engine:
        yield from engine.parquet_rows(path)
