"""The tables of a competition in DuckDB: read faithfully, divided by SQL, written as they were.

A CSV's cells are texts, and are written again as they were read; Parquet keeps its types, its
metadata, its compression, and the folders by which it is partitioned. In DuckDB the columns of a
table are c0, c1, …, since their names in a file may be empty, stand twice or differ only in case.
Rows keep the order of their file, and `rowid` counts them from 0.
"""

from __future__ import annotations

import contextlib
import csv
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.files import size_of

if TYPE_CHECKING:
    import duckdb

MEMORY = "192MB"  # that DuckDB may hold; what is more lies beside what is made
MORE_MEMORY = "1GB"  # for rows of some megabytes, such as masks, of which it holds many at once
AT_ONCE = 4096  # rows of a Parquet file that are read one after the other
LARGEST_CELL = 2**31 - 1  # characters; Python's own limit is exceeded by masks and long texts
NO_DUCKDB = "{} needs DuckDB, which is not installed: pip install duckdb"
SEPARATORS = ",;\t"
LONGEST_LINE = 32_000_000  # bytes of a row of a CSV, with masks and long texts
LARGE = 20_000_000  # bytes of a file; that a larger one is read or written is told
TEXT = "VARCHAR"
WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
PARTS = "part-{i}"  # the names of the files of a partitioned table


@dataclass(frozen=True)
class Table:
    """A table that was loaded into DuckDB under a name.

    `columns` are named as in the file, `types` are DuckDB's. `header` and `separator` are a CSV's.
    `partitions` are the columns by whose values a folder of Parquet files is divided, as in
    `test.parquet/date_id=0/part-0.parquet`, which are texts here.
    """

    name: str
    path: Path
    columns: Sequence[str]
    types: Sequence[str]
    rows: int
    header: Sequence[str] = ()
    separator: str = ""
    partitions: Sequence[str] = ()

    @property
    def is_csv(self) -> bool:
        """Whether its file is a CSV, whose cells are texts."""
        return self.path.suffix == ".csv"

    @property
    def file(self) -> str:
        """The name of its file or folder."""
        return self.path.name

    def column(self, name: str) -> str:
        """What a column is called in DuckDB."""
        return f"c{self.columns.index(name)}"

    def type_of(self, name: str) -> str:
        """The type that a column has in DuckDB."""
        return self.types[self.columns.index(name)]


class TableEngine:
    """A database of DuckDB, in a file, within a limit of memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, tell: Callable[[str], None]) -> None:
        self._connection = connection
        self._tell = tell

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; its rows. Raises `ParameterError` with what DuckDB says is wrong."""
        import duckdb

        try:
            return self._fetched(statement, values)
        except duckdb.Error as error:
            raise ParameterError(_in_one_line(error)) from None

    def _fetched(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """The rows of a statement, which runs again with more memory if it needs that.

        The limit stays raised then: rows that are as large come again.
        """
        import duckdb

        try:
            return self._connection.execute(statement, list(values)).fetchall()
        except (duckdb.OutOfMemoryException, duckdb.TransactionException):
            # DuckDB raises the second if a table was read, and its commit lacks the memory.
            self._connection.execute(f"SET memory_limit = '{MORE_MEMORY}'")
            return self._connection.execute(statement, list(values)).fetchall()

    def create(self, name: str, query: str) -> None:
        """Make a table of the rows of a query, in their order."""
        self.run(f"CREATE TABLE {name} AS {query}")

    def value(self, statement: str) -> Any:
        """The only value that a statement gives."""
        return self.run(statement)[0][0]

    def load(self, name: str, path: Path) -> Table:
        """Read the file or folder of a table into DuckDB, whole."""
        size = _files_size(path)
        if size > LARGE:
            self._tell(f"reading {path.name} ({size_of(size)})")
        try:
            if path.suffix == ".csv":
                return self._load_csv(name, path)
            return self._load_parquet(name, path)
        except ParameterError as error:
            raise ParameterError(f"{path} cannot be read: {error}") from None

    def _load_csv(self, name: str, path: Path) -> Table:
        header, separator = read_header(path)
        named = ", ".join(f"'c{place}': '{TEXT}'" for place in range(len(header)))
        self.run(
            f"CREATE TABLE {name} AS FROM read_csv(?, auto_detect=false, header=true, "
            f"columns={{{named}}}, delim={literal(separator)}, quote='\"', escape='\"', "
            f"nullstr='', max_line_size={LONGEST_LINE}, buffer_size={LONGEST_LINE})",
            [_escaped(path)],
        )
        types = [TEXT] * len(header)
        rows = self.value(f"SELECT count(*) FROM {name}")
        return Table(name, path, distinct(header), types, rows, header, separator)

    def _load_parquet(self, name: str, path: Path) -> Table:
        found = self.run(f"DESCRIBE FROM {_parquet(path)}")
        columns = [str(each[0]) for each in found]
        selected = [f"{identifier(one)} AS c{place}" for place, one in enumerate(columns)]
        self.run(f"CREATE TABLE {name} AS SELECT {', '.join(selected)} FROM {_parquet(path)}")
        types = [str(each[1]) for each in found]
        rows = self.value(f"SELECT count(*) FROM {name}")
        return Table(name, path, columns, types, rows, partitions=_partitions(path))

    def names_of(self, path: Path) -> Sequence[str]:
        """The columns of a table that is not loaded."""
        if path.suffix == ".csv":
            return distinct(read_header(path)[0])
        return [str(each[0]) for each in self.run(f"DESCRIBE FROM {_parquet(path)}")]

    def parquet_rows(self, path: Path) -> Iterator[Sequence[object]]:
        """The rows of a Parquet file, as they are asked for, the names of its columns first."""
        yield self.names_of(path)
        import duckdb

        try:
            cursor = self._connection.execute(f"FROM {_parquet(path)}")
            chunk = cursor.fetchmany(AT_ONCE)
            while chunk:
                yield from chunk
                chunk = cursor.fetchmany(AT_ONCE)
        except duckdb.Error as error:
            raise ParameterError(f"{path} cannot be read: {_in_one_line(error)}") from None

    def write(self, folder: Path, like: Table, query: str) -> None:
        """Write the rows of a query as the file of a table.

        The query gives the table's columns, in their order.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / like.file
        if _files_size(like.path) > LARGE:
            self._tell(f"writing {like.file}")
        if like.is_csv:
            write_csv(self, path, like.header, query, like.separator)
            return
        with _in_place_of(path) as part:
            self._write_parquet(part, like, query)

    def _write_parquet(self, part: Path, like: Table, query: str) -> None:
        first = _first_file(like.path)
        kept = self.run("SELECT key, value FROM parquet_kv_metadata(?)", [_escaped(first)])
        metadata = []
        for key, value in kept:
            with contextlib.suppress(UnicodeDecodeError):
                metadata.append(f"{identifier(key.decode())}: {literal(value.decode())}")
        options = ["FORMAT parquet"]
        codecs = self.run("SELECT compression FROM parquet_metadata(?) LIMIT 1", [_escaped(first)])
        options += [f"COMPRESSION {codec}" for (codec,) in codecs]  # none without a row
        if metadata:
            options.append(f"KV_METADATA {{{', '.join(metadata)}}}")
        if like.partitions:
            named = ", ".join(map(identifier, like.partitions))
            options.append(f"PARTITION_BY ({named})")
            options.append(f"FILENAME_PATTERN {literal(PARTS)}")
        names = ", ".join(map(identifier, like.columns))
        # A row of NULLs that never comes: without it DuckDB declares a column that has no NULL as
        # NOT NULL.
        nothing = ", ".join(["NULL"] * len(like.columns))
        self.run(
            f"COPY (SELECT * FROM ({query}) AS written({names}) "
            f"UNION ALL SELECT {nothing} WHERE random() < 0) "
            f"TO {literal(part)} ({', '.join(options)})"
        )
        if like.partitions and not part.exists():
            part.mkdir()  # without a row there is no part


@contextlib.contextmanager
def opened(
    what: str, folder: Path | None = None, tell: Callable[[str], None] = lambda line: None
) -> Iterator[TableEngine]:
    """A block with a database whose file and spilled rows lie below `folder`.

    `what` needs it, as the `ParameterError` says where DuckDB is not installed.
    """
    try:
        import duckdb
    except ModuleNotFoundError as error:
        if error.name != "duckdb":
            raise
        raise ParameterError(NO_DUCKDB.format(what)) from None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tables-", dir=folder) as place:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": str(Path(place, "spilled")),
            "preserve_insertion_order": True,
            "autoinstall_known_extensions": False,  # nothing is fetched
        }
        with duckdb.connect(Path(place, "tables.db"), config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET TimeZone = 'UTC'")
            yield TableEngine(connection, tell)


def write_csv(
    engine: TableEngine, path: Path, header: Sequence[str], query: str, separator: str = ","
) -> None:
    """Write the rows of a query as a CSV, below these names of its columns."""
    names = ", ".join(literal(name) if name else "NULL" for name in header)
    columns = ", ".join(f"c{place}" for place in range(len(header)))
    texts = ", ".join(f"c{place}::{TEXT}" for place in range(len(header)))
    path.parent.mkdir(parents=True, exist_ok=True)
    with _in_place_of(path) as part:
        engine.run(
            f"COPY (SELECT {names} UNION ALL SELECT {texts} FROM ({query}) AS q({columns})) "
            f"TO {literal(part)} (FORMAT csv, HEADER false, DELIMITER {literal(separator)})"
        )


def read_header(path: Path) -> tuple[list[str], str]:
    """The names in a CSV's first line as they stand there, and what separates them.

    Raises `ParameterError` if there are none.
    """
    csv.field_size_limit(LARGEST_CELL)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            separator = max(SEPARATORS, key=lambda one: len(_cells([first], one)))
            file.seek(0)
            header = _cells(file, separator)
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} cannot be read as a CSV file in UTF-8: {error}") from None
    if not header:
        raise ParameterError(f"{path} has no line with the names of its columns")
    return header, separator


def _cells(lines: Iterable[str], separator: str) -> list[str]:
    """The cells of the first row."""
    return next(csv.reader(lines, delimiter=separator), [])


def distinct(header: Sequence[str]) -> list[str]:
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


def identifier(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: object) -> str:
    """A text in SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def _escaped(path: Path) -> str:
    """A path for DuckDB to read, in which *, ? and [ are no patterns."""
    return re.sub(r"[*?[]", lambda one: f"[{one[0]}]", str(path))


def _parquet(path: Path) -> str:
    """In SQL, the rows of a Parquet file, or of all those below a folder.

    The columns by which a folder is divided are among the columns, as texts.
    """
    if not path.is_dir():
        return f"read_parquet({literal(_escaped(path))}, hive_partitioning=false)"
    every = f"{_escaped(path)}/**/*.parquet"
    divided = "true" if _partitions(path) else "false"
    return f"read_parquet({literal(every)}, hive_partitioning={divided}, hive_types_autocast=false)"


def _first_file(path: Path) -> Path:
    """A Parquet file, or the first one below a folder."""
    return min(path.rglob("*.parquet")) if path.is_dir() else path


def _partitions(path: Path) -> list[str]:
    """The columns that the folders below a folder of Parquet files are named by."""
    if not path.is_dir():
        return []
    first = next(iter(sorted(path.rglob("*.parquet"))), None)
    if first is None:
        raise ParameterError("it holds no Parquet file")
    parts = first.relative_to(path).parts[:-1]
    return [part.partition("=")[0] for part in parts if "=" in part]


def _files_size(path: Path) -> int:
    """The bytes of a file, or of all Parquet files below a folder."""
    each = path.rglob("*.parquet") if path.is_dir() else [path]
    return sum(one.stat().st_size for one in each)


@contextlib.contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    """A block that writes a file or folder beside a path, which then takes its place."""
    part = path.with_name(f".{path.name}{files.PART}")
    if part.is_dir():  # of a command that was killed
        shutil.rmtree(part)
    yield part
    if path.is_dir():
        shutil.rmtree(path)
    part.replace(path)


def _in_one_line(error: Exception) -> str:
    """What DuckDB says is wrong, without the row, its advice and its settings."""
    if "RFC 4180" in str(error):
        return "its lines end in different ways, or its quotes do not follow RFC 4180"
    said = []
    for line in str(error).splitlines():
        if re.match(r"\s*(Possible|LINE )", line):
            break
        if line.strip() and not line.startswith("Original Line"):
            said.append(line.strip())
    return "; ".join(said)[:300]
