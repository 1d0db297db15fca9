"""The tables of a competition: CSV files, Parquet files, and folders of partitioned Parquet files.

A CSV holds texts, which are written again as they were read; Parquet keeps its types.
"""

import csv
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.errors import ParameterError

ENDINGS = (".csv", ".parquet")
TRAIN, TEST = "train", "test"
SAMPLES = ("sample_submission", "sampleSubmission", "SampleSubmission")
NO_PYARROW = "{} is a Parquet file: pip install pyarrow"

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table; `name` is its file's. `schema` is a Parquet file's, None for a CSV.

    `partitions`: the columns by whose values a folder of Parquet files is divided, as in
    `test.parquet/date_id=0/part-0.parquet`; None for a single file.
    """

    name: str
    columns: Sequence[str]
    rows: list[Row]
    schema: Any = None
    partitions: Sequence[str] | None = None


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


def read(path: Path) -> Table:
    """The table in a file or folder. Raises `ParameterError` if it cannot be read."""
    if path.suffix == ".parquet":
        return _read_parquet(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = [_texts(row) for row in reader]
            return Table(path.name, list(reader.fieldnames or []), rows)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} cannot be read as a CSV file in UTF-8: {error}") from None


def sample_ids(folder: Path) -> list[str]:
    """The ids of a folder's sample submission, in its order; none without one.

    Raises `ParameterError` if it cannot be read.
    """
    path = find(folder, SAMPLES)
    if path is None:
        return []
    return ids(read(path))


def ids(table: Table) -> list[str]:
    """The first column as texts, which has the ids in a sample submission and in answers."""
    name = next(iter(table.columns), "")
    return [str(row[name]) for row in table.rows]


def _texts(row: dict[Any, Any]) -> Row:
    """A row of a CSV; cells that are missing at its end are empty, and surplus ones left out."""
    return {name: value or "" for name, value in row.items() if name is not None}


def _read_parquet(path: Path) -> Table:
    try:
        import pyarrow
        from pyarrow import dataset
    except ModuleNotFoundError:
        raise ParameterError(NO_PYARROW.format(path.name)) from None
    partitions = _partitions(path) if path.is_dir() else None
    try:
        table = dataset.dataset(path, format="parquet", partitioning="hive").to_table()
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ParameterError(f"{path} cannot be read as Parquet: {error}") from None
    return Table(path.name, table.column_names, table.to_pylist(), table.schema, partitions)


def _partitions(folder: Path) -> list[str]:
    """The columns that the folders below a folder of Parquet files are named by."""
    for path in sorted(folder.rglob("*.parquet")):
        parts = path.relative_to(folder).parts[:-1]
        return [part.partition("=")[0] for part in parts if "=" in part]
    return []


def write(folder: Path, like: Table, rows: Sequence[Row]) -> None:
    """Write rows as the file of a table: its name, its columns, and the types of Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / like.name
    part = path.with_name(f".{path.name}{files.PART}")
    if like.schema is None:
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, like.columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    else:
        _write_parquet(part, like, rows)
    if path.is_dir():
        shutil.rmtree(path)
    part.replace(path)


def _write_parquet(part: Path, like: Table, rows: Sequence[Row]) -> None:
    import pyarrow
    from pyarrow import dataset, parquet

    shown = [{name: row.get(name) for name in like.columns} for row in rows]
    table = pyarrow.Table.from_pylist(shown, schema=like.schema)
    if like.partitions is None:
        parquet.write_table(table, part)
        return
    shutil.rmtree(part, ignore_errors=True)  # of a command that was killed
    fields = pyarrow.schema([like.schema.field(name) for name in like.partitions])
    partitioning = dataset.partitioning(fields, flavor="hive")
    dataset.write_dataset(
        table,
        part,
        format="parquet",
        partitioning=partitioning,
        max_partitions=max(1024, len(rows)),
        max_open_files=256,
    )
