"""What the hidden folder's tables hold: for each table that is written anew, a query of its rows.

The queries are of the tables that the room `division` makes: `hidden_rows` becomes the test set,
and what is not removed stays for training.
"""

from __future__ import annotations

from kernelkit.errors import ParameterError
from kernelkit.hidden.competition.columns import Columns
from kernelkit.hidden.competition.competition_tables import CompetitionTables, is_test
from kernelkit.hidden.competition.unknown import MAKE_IT_YOURSELF
from kernelkit.hidden.tables.table_engine import TEXT, Table, TableEngine, literal

# The training rows that stay for training, in their order.
REMAINING_ROWS = "SELECT train.* FROM train POSITIONAL JOIN division WHERE NOT removed"
# A row of the test table for each hidden training row.
TEST_ROWS = "SELECT {values} FROM hidden_rows ORDER BY rowid"
# A row of the sample submission for each hidden id, in the order of the test table.
SAMPLE_ROWS = "SELECT {values} FROM removed_ids WHERE number IS NOT NULL ORDER BY number"
# The answer of each hidden id: that of the first of its rows that has one.
ANSWER_ROWS = """
    SELECT new_id, {answers} FROM hidden_rows WHERE answered
    GROUP BY new_id, number ORDER BY number
"""
# Rows of the training table of a pair, such as train_people, whose key the remaining rows have.
PAIRED_TRAINING_ROWS = """
    SELECT {train}.* FROM {train}
    WHERE {key} IN (SELECT {key_in_train} FROM ({remaining}) AS train) ORDER BY rowid
"""
# Rows of the training table of a pair whose key the hidden rows have, as rows of its test table.
PAIRED_TEST_ROWS = """
    SELECT {values} FROM {train}
    JOIN (SELECT DISTINCT {key_in_train} AS key, {new_key} AS new_key FROM hidden_rows) AS needed
    ON {key} = needed.key ORDER BY {train}.rowid
"""
# Rows of another table with ids, such as folds, without those of removed ids.
OTHER_ROWS = """
    SELECT * FROM {table} WHERE coalesce({id}::VARCHAR, '') NOT IN (SELECT id FROM removed_ids)
    ORDER BY rowid
"""


def hidden_tables(
    engine: TableEngine, tables: CompetitionTables, columns: Columns, notes: list[str]
) -> list[tuple[Table, str]]:
    """Each table of the hidden folder that differs from the public one, with a query of its rows.

    `notes` gets what should be known of them. Raises `ParameterError` for a pair of tables of which
    it is not certain what belongs to a hidden row.
    """
    queries = [
        (tables.train, REMAINING_ROWS),
        (tables.test, _test_rows(engine, tables, columns)),
    ]
    if tables.sample:
        queries.append((tables.sample, _sample_rows(tables.sample, columns)))
    for train, test in tables.pairs:
        key = _key(train, test, columns)
        key_in_train = f"{tables.train.column(columns.of_train[key])}::{TEXT}"
        queries.append((train, _paired_training_rows(train, key, key_in_train)))
        queries.append((test, _paired_test_rows(train, test, key, key_in_train, columns)))
        absent = [name for name in test.columns if name not in train.columns]
        if absent:
            notes.append(f"{test.file} has no values in {', '.join(absent)}")
    if columns.id_in_train:
        for table in _others_with_ids(engine, tables, columns.id_in_train, notes):
            rows = OTHER_ROWS.format(table=table.name, id=table.column(columns.id_in_train))
            queries.append((table, rows))
    return queries


def answer_rows(train: Table, columns: Columns) -> str:
    """A query of each hidden id with what is to be predicted."""
    values = [f"first({train.column(target)} ORDER BY rowid)" for target in columns.targets]
    return ANSWER_ROWS.format(answers=", ".join(values))


def _test_rows(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> str:
    """A query of the test table's rows."""
    test = tables.test
    values = {}
    for column in test.columns:
        in_train = columns.of_train[column]
        if column == columns.id:
            values[column] = "new_id"
        elif in_train in columns.targets or column in columns.targets:
            values[column] = _first_value(test, column)  # any value: the target is not told
        elif in_train:
            values[column] = _with_new_id(engine, tables, columns, column, in_train)
    return TEST_ROWS.format(values=_in_types_of(test, values))


def _with_new_id(
    engine: TableEngine, tables: CompetitionTables, columns: Columns, column: str, in_train: str
) -> str:
    """In SQL, the value of a column of the test table for a hidden row, of the training column.

    If each value begins with its row's id, as `ID_0001` does, or is the path of such a file, the
    new id takes its place. The path is then in the folder of the first public one, since
    `train/CLASS/ID.png` would give the answer away.
    """
    value = tables.train.column(in_train)
    if not columns.id_in_train or tables.train.type_of(in_train) != TEXT:
        return value
    name = f"parse_filename({value})"
    begins = f"SELECT bool_and(id <> '' AND starts_with({name}, id)) FROM hidden_rows"
    if not engine.value(begins):
        return value
    first = engine.run(_first_value(tables.test, column))
    above, slash, _ = str(first[0][0]).rpartition("/") if first else ("", "", "")
    return f"{literal(above + slash)} || new_id || substr({name}, length(id) + 1)"


def _sample_rows(sample: Table, columns: Columns) -> str:
    """A query of the sample submission's rows, each like the public one's first."""
    values = {column: _first_value(sample, column) for column in sample.columns}
    values[columns.submitted] = "new_id"
    return SAMPLE_ROWS.format(values=_in_types_of(sample, values))


def _paired_training_rows(train: Table, key: str, key_in_train: str) -> str:
    """A query of the rows of a pair's training table.

    `key`: the column that it shares with the test table; `key_in_train`: in SQL, the same of a row
    of the training table.
    """
    return PAIRED_TRAINING_ROWS.format(
        train=train.name,
        key=f"{train.name}.{train.column(key)}::{TEXT}",
        key_in_train=key_in_train,
        remaining=REMAINING_ROWS,
    )


def _paired_test_rows(
    train: Table, test: Table, key: str, key_in_train: str, columns: Columns
) -> str:
    """A query of the rows of a pair's test table: what its training table has for hidden rows."""
    values = {}
    for column in test.columns:
        if column == key:
            values[column] = "needed.new_key"
        elif column in columns.targets:
            values[column] = _first_value(test, column)
        elif column in train.columns:
            values[column] = f"{train.name}.{train.column(column)}"
    return PAIRED_TEST_ROWS.format(
        values=_in_types_of(test, values),
        train=train.name,
        key=f"{train.name}.{train.column(key)}::{TEXT}",
        key_in_train=key_in_train,
        new_key="new_id" if key == columns.id else key_in_train,
    )


def _first_value(table: Table, column: str) -> str:
    """A query of a column's first value."""
    return f"(SELECT {table.column(column)} FROM {table.name} LIMIT 1)"


def _in_types_of(table: Table, values: dict[str, str]) -> str:
    """In SQL, the values of a table's columns, in their order and types; NULL without a value."""
    typed = [f"({values.get(name, 'NULL')})::{table.type_of(name)}" for name in table.columns]
    return ", ".join(typed)


def _key(train: Table, test: Table, columns: Columns) -> str:
    """The column by which the rows of a pair of tables belong to those of the test table.

    Raises `ParameterError` if that is not certain.
    """
    shared = [name for name in test.columns if columns.of_train.get(name) and name in train.columns]
    for name in (columns.id, columns.group):
        if name in shared:
            return name
    if len(shared) == 1:
        return shared[0]
    how = f"several, {', '.join(map(repr, shared))}" if shared else "none"
    raise ParameterError(
        f"of the columns of the test table {test.file} has {how}, so it is not known which of its "
        f"rows belong to a hidden one: {MAKE_IT_YOURSELF}"
    )


def _others_with_ids(
    engine: TableEngine, tables: CompetitionTables, id_column: str, notes: list[str]
) -> list[Table]:
    """The other tables that have the column of ids, and so may have answers."""
    found: list[Table] = []
    for path in tables.others:
        try:
            names = engine.names_of(path)
        except ParameterError as error:
            notes.append(f"{path.name} stays as it is: {error}")
            continue
        if id_column in names:
            found.append(engine.load(f"other_{len(found)}", path))
            notes.append(f"{path.name} lacks the hidden rows, too")
        elif is_test(path):
            notes.append(f"{path.name} stays as it is: it has no column {id_column!r}")
    return found
