"""Which columns of a competition's tables are what, by the settings or by the tables themselves.

What is not certain is asked for. Here and in the rooms above, `in_train` is the training
table's column for a column of the test table, "" if it has none, as in the settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.hidden.competition.competition_tables import CompetitionTables
from kernelkit.hidden.competition.unknown import MAKE_IT_YOURSELF, Unknown, ask
from kernelkit.hidden.tables.table_engine import TEXT, Table, TableEngine, literal
from kernelkit.project import HiddenSettings

WHOLE_TEXT = r"-?\d{1,18}"
MOST_LISTED = 8  # columns that an error names
# Whether no test value occurs in training, where values repeat (twice on average) and are not
# decimals: people, shops, days.
HAS_OTHERS = r"""
    SELECT (
        SELECT count({known}) >= 2 * approx_count_distinct({known})
            AND NOT bool_or(regexp_full_match({known}, '-?\d*\.\d+([eE][-+]?\d+)?'))
        FROM train
    ) AND NOT EXISTS (FROM test WHERE {tested} IN (SELECT {known} FROM train))
    AND EXISTS (FROM test WHERE {tested} IS NOT NULL)
"""
# A row if the rows of one id have different answers.
SEVERAL_ANSWERS = """
    SELECT 1 FROM train WHERE {answered} GROUP BY {id}
    HAVING min(hash({answer})) <> max(hash({answer})) LIMIT 1
"""


@dataclass(frozen=True)
class Columns:
    """Which columns are what, by their names in the test table.

    id           names a row of the test set
    submitted    the id's name in a submission
    targets      to predict, as the training table calls them
    of_train     {column of the test table, or the id: that of the training table, "" for none}
    test_has_id  False if no column has the ids: then the sample submission numbers the rows
    group, time  of the training table: says which rows are hidden together; "" for neither
    """

    id: str
    submitted: str
    targets: Sequence[str]
    of_train: Mapping[str, str]
    test_has_id: bool
    group: str
    time: str

    @property
    def id_in_train(self) -> str:
        """The column of the training table that has the ids; "" if its rows are counted."""
        return self.of_train.get(self.id, "")

    @property
    def chosen_by(self) -> str:
        """The time or group by which rows are hidden; "" if each id is drawn by itself."""
        group = "" if self.group == self.id_in_train else self.group
        return self.time or group


def find_columns(
    engine: TableEngine,
    settings: HiddenSettings,
    tables: CompetitionTables,
    unknown: Sequence[Unknown],
) -> Columns:
    """Which columns are what.

    Raises one `ParameterError` for everything that is not certain, together with what the caller
    found to be `unknown` before.
    """
    submitted = tables.sample.columns[0] if tables.sample else settings.id
    name = settings.id or submitted
    columns = Columns(
        id=name,
        submitted=submitted,
        targets=_targets(settings, tables),
        of_train=_of_train(settings, tables, name),
        test_has_id=name in tables.test.columns,
        group=settings.group,
        time=settings.time,
    )
    found = [
        *_unknown_columns(settings, tables, columns),
        *_unknown_targets(tables, columns),
        *_unknown_ids(engine, tables, columns),
        *_unknown_choice(tables.train, columns),
    ]
    if not found:
        _check_sample_ids(engine, tables, columns)
        found += _several_answers(engine, tables.train, columns)
    if not found and not (columns.group or columns.time):
        found += _other_values(engine, tables, columns)
    if unknown or found:
        # The line to paste has none of the columns that the test table lacks.
        known = {
            column: in_train
            for column, in_train in settings.columns.items()
            if column in columns.of_train
        }
        raise ask([*unknown, *found], replace(settings, columns=known))
    return columns


def id_of_row(train: Table, columns: Columns) -> str:
    """In SQL, the id of a training row as a text: that of its column, or the row's number."""
    if not columns.id_in_train:
        return f"rowid::{TEXT}"
    return f"coalesce({train.column(columns.id_in_train)}::{TEXT}, '')"


def has_answer(train: Table, columns: Columns) -> str:
    """In SQL, whether a training row has a value in each column to predict."""
    values = [f"{train.column(target)}::{TEXT}" for target in columns.targets]
    return " AND ".join(f"lower(coalesce({value}, 'nan')) <> 'nan'" for value in values)


def are_whole_numbers(engine: TableEngine, table: Table, column: str) -> bool:
    """Whether each value of a column is a whole number, or a text of digits."""
    whole = f"regexp_full_match({table.column(column)}::{TEXT}, {literal(WHOLE_TEXT)})"
    return bool(engine.value(f"SELECT coalesce(bool_and({whole}), false) FROM {table.name}"))


def _targets(settings: HiddenSettings, tables: CompetitionTables) -> list[str]:
    """The columns to predict: those of the settings, or of the sample submission."""
    if settings.target or not tables.sample:
        return list(settings.target)
    return list(tables.sample.columns[1:])


def _of_train(settings: HiddenSettings, tables: CompetitionTables, name: str) -> dict[str, str]:
    """The training table's column for each of the test table, and for the id."""
    of_train = {
        column: settings.columns.get(column, column) for column in [*tables.test.columns, name]
    }
    if name not in settings.columns and name not in tables.train.columns:
        of_train[name] = ""  # no column has the ids: they are counted
    return of_train


def _unknown_columns(
    settings: HiddenSettings, tables: CompetitionTables, columns: Columns
) -> Iterator[Unknown]:
    """The columns of the test table for which no column of the training table is known.

    Also names in the setting `columns` that either table lacks.
    """
    train = tables.train
    test = tables.test
    absent = []
    for column in settings.columns:
        if column not in columns.of_train:
            what = f"{test.file} has no column {column!r}, which columns names"
            yield Unknown(what, {"columns": {"COLUMN": "COLUMN"}})
    for column, in_train in columns.of_train.items():
        if in_train in train.columns or in_train == "":
            continue
        if column in settings.columns:
            what = f"{train.file} has no column {in_train!r}, which columns names"
            yield Unknown(what, {"columns": {column: "COLUMN"}})
        else:
            absent.append(column)
    if absent:
        what = (
            f"{test.file} has {', '.join(absent)}, which {train.file} lacks (a column of it "
            'stands for each, or "" for nothing)'
        )
        yield Unknown(what, {"columns": dict.fromkeys(absent, "COLUMN")})


def _unknown_targets(tables: CompetitionTables, columns: Columns) -> Iterator[Unknown]:
    """The columns to predict that the training table lacks, or that nothing names.

    Nothing names them without a setting where there is no sample submission, or where that has a
    column of ids alone.
    """
    train = tables.train
    known = (*tables.test.columns, columns.submitted, columns.id)
    candidates = [column for column in train.columns if column not in known][:MOST_LISTED]
    listed = ", ".join(map(repr, candidates)) or "no column of its own"
    answer: dict[str, Any] = {"target": candidates if len(candidates) == 1 else ["COLUMN"]}
    if not columns.targets and not tables.sample:
        if not columns.submitted:  # the sample submission would name the ids as well
            answer = {"id": "COLUMN"} | answer
        what = (
            f"there is no sample submission, and {train.file} has {listed} that "
            f"{tables.test.file} lacks"
        )
        yield Unknown(what, answer)
        return
    lacking = [column for column in columns.targets if column not in train.columns]
    if lacking or not columns.targets:
        shown = ", ".join(map(repr, lacking)) or "a column to predict"
        hint = f" (it has {listed})" if candidates else ""
        yield Unknown(f"{train.file} lacks {shown}{hint}", answer)


def _unknown_ids(
    engine: TableEngine, tables: CompetitionTables, columns: Columns
) -> Iterator[Unknown]:
    """That no column has the ids of the test set.

    None is needed where the sample submission numbers the rows of the test table.
    """
    test = tables.test
    sample = tables.sample
    if columns.test_has_id:
        return
    if not columns.id:
        if columns.targets:  # otherwise `_unknown_targets` asks for both
            what = f"there is no sample submission to tell which column of {test.file} has the ids"
            yield Unknown(what, {"id": "COLUMN"})
        return
    numbered = sample if sample and sample.rows == test.rows else None
    if numbered and are_whole_numbers(engine, numbered, columns.submitted):
        return
    yield Unknown(f"{test.file} has no column {columns.id!r}", {"id": "COLUMN"})


def _unknown_choice(train: Table, columns: Columns) -> Iterator[Unknown]:
    """A group or time that the training table lacks."""
    for key, column in (("group", columns.group), ("time", columns.time)):
        if column and column not in train.columns:
            yield Unknown(f"{train.file} has no column {column!r}", {key: "COLUMN"})


def _check_sample_ids(engine: TableEngine, tables: CompetitionTables, columns: Columns) -> None:
    """Raise `ParameterError` if the sample submission asks for no id of the test table."""
    sample = tables.sample
    test = tables.test
    if sample is None or not columns.test_has_id or not sample.rows or not test.rows:
        return
    in_sample = f"sample.{sample.column(columns.submitted)}::{TEXT}"
    in_test = f"test.{test.column(columns.id)}::{TEXT}"
    if engine.value(
        f"SELECT count(*) FROM sample WHERE {in_sample} IN (SELECT {in_test} FROM test)"
    ):
        return
    one = engine.value(f"SELECT min({in_sample}) FROM sample")
    other = engine.value(f"SELECT min({in_test}) FROM test")
    raise ParameterError(
        f"{sample.file} has ids such as {one!r}, and {test.file} has {other!r} in {columns.id!r}, "
        "so that it is not known how one is made of the other: name another column with "
        'hidden = {id = "COLUMN"} below [tool.kernelkit] in pyproject.toml, or '
        f"{MAKE_IT_YOURSELF}"
    )


def _several_answers(engine: TableEngine, train: Table, columns: Columns) -> list[Unknown]:
    """That the rows of one id have different answers, so that it names something else."""
    if not columns.id_in_train:
        return []
    answer = ", ".join(f"{train.column(target)}::{TEXT}" for target in columns.targets)
    query = SEVERAL_ANSWERS.format(
        answered=has_answer(train, columns), id=id_of_row(train, columns), answer=answer
    )
    if not engine.run(query):
        return []
    what = f"{train.file} names several rows by one {columns.id_in_train!r}, with different answers"
    return [Unknown(what, {"id": "COLUMN"})]


def _other_values(
    engine: TableEngine, tables: CompetitionTables, columns: Columns
) -> list[Unknown]:
    """That the public test set may have been split off by groups or by time.

    So it looks if a column's test values are other ones than those in training.
    """
    test = tables.test
    found = []
    for column in test.columns:
        in_train = columns.of_train[column]
        if column == columns.id or in_train in ("", *columns.targets):
            continue
        tested = f"{test.column(column)}::{TEXT}"
        known = f"{tables.train.column(in_train)}::{TEXT}"
        if engine.value(HAS_OTHERS.format(tested=tested, known=known)):
            found.append(in_train)
    if not found:
        return []
    what = (
        f"{test.file} has other {', '.join(map(repr, found))} than {tables.train.file}, so "
        "its rows may be whole groups, or the last ones in time (write time in place of group)"
    )
    if columns.id_in_train:
        what += f', or single ones after all (group = "{columns.id_in_train}")'
    return [Unknown(what, {"group": found[0]})]
