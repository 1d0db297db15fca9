"""Tables are read and written as they are: types, order, metadata, partitions."""

import duckdb
import pytest

from kernelkit.errors import ParameterError
from kernelkit.hidden.tables import table_engine, table_files

TYPES = """\
SELECT i::INTEGER AS id, (i / 3)::FLOAT AS small, 'x' || i AS text, NULL::VARCHAR AS nothing,
       TIMESTAMPTZ '2020-01-01 00:00:00+00' + i * INTERVAL 1 HOUR AS at, (i % 3)::UTINYINT AS few,
       [i, i + 1] AS listed, {'a': i, 'b': 'x'} AS made, 1.50::DECIMAL(5, 2) AS price,
       'B' AS "A", (i % 2 = 0) AS even
FROM range(5000) AS r(i)
"""


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "in/train.parquet"
    path.parent.mkdir()
    options = "FORMAT parquet, COMPRESSION zstd, KV_METADATA {pandas: '{\"it''s\": [1]}'}"
    duckdb.execute(f"COPY ({TYPES}) TO '{path}' ({options})")
    return path


def written(engine, like, folder, query=None):
    engine.write(folder, like, query or f"FROM {like.name}")
    return folder / like.file


def test_parquet_keeps_its_types_its_order_and_its_metadata(tmp_path, parquet):
    with table_engine.opened("it", tmp_path) as engine:
        copy = written(engine, engine.load("train", parquet), tmp_path / "out")
    for about in (
        "* EXCLUDE (file_name, repetition_type) FROM parquet_schema",
        "* EXCLUDE file_name FROM parquet_kv_metadata",
        "DISTINCT compression FROM parquet_metadata",
    ):
        there = duckdb.execute(f"SELECT {about}('{parquet}')").fetchall()
        assert duckdb.execute(f"SELECT {about}('{copy}')").fetchall() == there, about
    assert duckdb.execute(f"FROM '{copy}'").fetchall() == duckdb.execute(TYPES).fetchall()


def test_folders_of_parquet_keep_their_names_and_those_of_their_files(tmp_path):
    path = tmp_path / "in/train.parquet"
    rows = "SELECT i AS id, lpad((i % 12 + 1)::VARCHAR, 2, '0') AS month FROM range(600) AS r(i)"
    path.parent.mkdir()
    duckdb.execute(
        f"COPY ({rows}) TO '{path}' "
        "(FORMAT parquet, PARTITION_BY (month), FILENAME_PATTERN 'part-{i}')"
    )
    with table_engine.opened("it", tmp_path) as engine:
        like = engine.load("train", path)
        copy = written(engine, like, tmp_path / "out", "FROM train WHERE c1 <> '07'")
    names = [one.relative_to(path).as_posix() for one in sorted(path.rglob("*.parquet"))]
    made = [one.relative_to(copy).as_posix() for one in sorted(copy.rglob("*.parquet"))]
    assert made == [name for name in names if "07" not in name]
    assert "month=01/part-0.parquet" in made
    columns = duckdb.execute(
        f"DESCRIBE FROM read_parquet('{copy}/month=01/part-0.parquet', hive_partitioning=false)"
    ).fetchall()
    assert [column[0] for column in columns] == ["id"]


@pytest.mark.long
def test_a_table_larger_than_the_memory_keeps_its_order(tmp_path, monkeypatch):
    monkeypatch.setattr(table_engine, "MEMORY", "150MB")
    path = tmp_path / "train.csv"
    rows = "SELECT i, md5(i::VARCHAR) AS a, md5(i::VARCHAR) AS b FROM range(3000000) AS r(i)"
    duckdb.execute(f"COPY ({rows}) TO '{path}' (HEADER)")
    with table_engine.opened("it", tmp_path) as engine:
        copy = written(engine, engine.load("train", path), tmp_path / "out")
    assert copy.read_bytes() == path.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_rows_that_need_more_memory_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(table_engine, "MEMORY", "16MB")
    path = tmp_path / "train.csv"
    path.write_text("id,mask\n" + "".join(f"{n},{'1 2 ' * 200_000}\n" for n in range(10)))
    with table_engine.opened("it", tmp_path) as engine:
        copy = written(engine, engine.load("train", path), tmp_path / "out")
    assert copy.read_bytes() == path.read_bytes()


def test_a_path_with_signs_of_a_pattern_is_that_path(tmp_path):
    folder = tmp_path / "a[b]*'c"
    folder.mkdir()
    (folder / "train.csv").write_text("id\n7\n")
    (tmp_path / "ab").mkdir()
    with table_engine.opened("it", folder) as engine:
        like = engine.load("train", folder / "train.csv")
        assert written(engine, like, folder / "out").read_text() == "id\n7\n"


def test_a_table_that_is_read_and_one_that_is_written_are_told_where_they_are_large(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(table_engine, "LARGE", 3)
    (tmp_path / "train.csv").write_text("id\n7\n")
    told = []
    with table_engine.opened("it", tmp_path, told.append) as engine:
        written(engine, engine.load("train", tmp_path / "train.csv"), tmp_path / "out")
    assert told == ["reading train.csv (5 bytes)", "writing train.csv"]


def test_columns_of_one_name_or_none_are_called_as_pandas_does():
    assert table_engine.distinct(["", "a", "a", "A"]) == ["Unnamed: 0", "a", "a.1", "A"]


def test_a_submission_in_parquet_is_read_row_by_row(tmp_path):
    path = tmp_path / "submission.parquet"
    duckdb.execute(f"COPY (SELECT i AS id, 1.5 AS y FROM range(9000) AS r(i)) TO '{path}'")
    columns, rows = table_files.read(path)
    assert columns == ["id", "y"]
    assert [row[0] for row in rows] == list(range(9000))


def test_a_file_that_is_no_parquet_is_refused_in_one_line(tmp_path):
    (tmp_path / "train.parquet").write_text("no")
    with (
        table_engine.opened("it", tmp_path) as engine,
        pytest.raises(ParameterError, match=r"train\.parquet cannot be read: ") as caught,
    ):
        engine.load("train", tmp_path / "train.parquet")
    assert "\n" not in str(caught.value)
