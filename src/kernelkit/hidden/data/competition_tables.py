"""The tables of a competition, and which of their columns are what.

The tables are `train` and `test`, and `train_X` and `test_X` where there are more of them, such as
one of patients beside one of visits; with a gateway, those that it serves. What a column is comes
from the settings or from the tables themselves; what is not certain is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.hidden.data import gateway_files, table_files
from kernelkit.hidden.data.hidden_content import MAKE_IT_YOURSELF, Unknown
from kernelkit.hidden.data.table_engine import TEXT, Table, TableEngine, literal
from kernelkit.hidden.data.table_files import TEST, TRAIN
from kernelkit.project import HiddenSettings

WHOLE_TEXT = r"-?\d{1,18}"
# Values of the training table come twice on average and are no decimals, and the test table has
# none of them.
HAS_OTHERS = r"""
    SELECT (
        SELECT count({known}) >= 2 * approx_count_distinct({known})
            AND NOT bool_or(regexp_full_match({known}, '-?\d*\.\d+([eE][-+]?\d+)?'))
        FROM train
    ) AND NOT EXISTS (FROM test WHERE {tested} IN (SELECT {known} FROM train))
    AND EXISTS (FROM test WHERE {tested} IS NOT NULL)
"""
IS_LATER = """
    SELECT (SELECT min(try_cast({tested} AS TIMESTAMP)) FROM test)
        > (SELECT max(try_cast({known} AS TIMESTAMP)) FROM train)
"""


@dataclass(frozen=True)
class Found:
    """Where the tables of a competition lie; `pairs` are a training and a test table each.

    `others` are tables that no test table belongs to.
    """

    train: Path
    test: Path
    sample: Path | None
    pairs: Sequence[tuple[Path, Path]]
    others: Sequence[Path]
    notes: Sequence[str]


@dataclass(frozen=True)
class CompetitionTables:
    """The tables of a competition, loaded into DuckDB."""

    train: Table
    test: Table
    sample: Table | None
    pairs: Sequence[tuple[Table, Table]]
    others: Sequence[Path]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Columns:
    """Which columns are what; names are the test table's, `of_train` has the training table's.

    `id` is "" in `of_train` where the training table has no ids, and `test_has_id` is False where
    the test table has none. `submitted` is the id's name in a submission. `group` or `time`, of the
    training table, says which rows are hidden together; "" for neither.
    """

    id: str
    submitted: str
    targets: Sequence[str]
    of_train: Mapping[str, str]
    test_has_id: bool
    group: str = ""
    time: str = ""

    @property
    def id_in_train(self) -> str:
        """The column of the training table that has the ids; "" if it has none."""
        return self.of_train.get(self.id, "")


def find(public: Path) -> Found | None:
    """Where the tables of a competition lie; None if it has no test table.

    Without one the sample submission is it, if there is a training table: then the test set is
    files that are named by an id.
    """
    gateway = gateway_files.find_gateway(public)
    served = gateway_files.served_files(public, gateway) if gateway else []
    test = table_files.find(public, (TEST, TEST.capitalize()))
    if test is None:
        test = next((public / name for name in served if is_test(public / name)), None)
    packed = table_files.find_packed(public)
    if packed and (test is None or _train_of(test) is None):
        raise ParameterError(f"{packed} is packed: unpack it there")
    sample = table_files.find_sample(public)
    if test is not None:
        train = _train_of(test)
    else:
        test = sample
        train = table_files.find(public, (TRAIN, TRAIN.capitalize()))
        if test is None or train is None:
            return None
    if train is None:
        raise _absent(public, _train_name(test))
    if sample is None and gateway is None:
        raise _absent(public, "sample_submission.csv")
    notes = []
    if gateway:
        notes.append(f"{gateway.name} serves {', '.join(served) or 'no file that it names'}")
    if sample and sample.stem not in table_files.SAMPLES:
        notes.append(f"{sample.name} is taken as the sample submission")
    pairs = []
    others = []
    for path in sorted(filter(table_files.is_table, public.iterdir())):
        if path in (test, train, sample):
            continue
        twin = _train_of(path) if is_test(path) else None
        if twin:
            pairs.append((twin, path))
        elif path.name in served and is_test(path):
            raise ParameterError(
                f"the gateway serves {path.name}, and there is no {_train_name(path)} to make it "
                f"from: {MAKE_IT_YOURSELF}"
            )
        else:
            others.append(path)
    paired = {own for own, _ in pairs}
    return Found(train, test, sample, pairs, [one for one in others if one not in paired], notes)


def _absent(public: Path, name: str) -> ParameterError:
    return ParameterError(
        f"{public} has no {name}, so no hidden data can be made: write it yourself and name its "
        "folder with --hidden FOLDER"
    )


def load(engine: TableEngine, found: Found) -> CompetitionTables:
    """The tables of a competition in DuckDB."""
    train = engine.load("train", found.train)
    if not train.rows:
        raise ParameterError(f"{found.train} has no rows to make hidden ones of")
    pairs = []
    for number, (own, tested) in enumerate(found.pairs):
        pair = (
            engine.load(f"train_{number}", own),
            engine.load(f"test_{number}", tested),
        )
        pairs.append(pair)
    return CompetitionTables(
        train,
        engine.load("test", found.test),
        engine.load("sample", found.sample) if found.sample else None,
        pairs,
        found.others,
        list(found.notes),
    )


def is_test(path: Path) -> bool:
    """Whether a file or folder is a table of a test set, by its name."""
    return table_files.is_table(path) and TEST in path.stem.lower()


def _train_name(test: Path) -> str:
    return test.name.replace(TEST, TRAIN).replace(TEST.capitalize(), TRAIN.capitalize())


def _train_of(test: Path) -> Path | None:
    """The training table beside a test table, which may have the other ending."""
    name = Path(_train_name(test))
    for ending in dict.fromkeys((name.suffix, *table_files.ENDINGS)):
        path = test.with_name(f"{name.stem}{ending}")
        if path != test and table_files.is_table(path):
            return path
    return None


def find_columns(
    engine: TableEngine,
    settings: HiddenSettings,
    competition: CompetitionTables,
    missing: list[Unknown],
) -> Columns | None:
    """Which columns are what; None if that is not certain, which is added to `missing`."""
    before = len(missing)
    train = competition.train
    test = competition.test
    sample = competition.sample
    submitted = sample.columns[0] if sample else settings.id
    name = settings.id or submitted
    of_train = dict(_in_train(settings, competition, name, missing))
    targets = _targets(settings, competition, submitted, name, missing)
    test_has_id = name in test.columns
    if name and not test_has_id:
        missing += _counted_ids(engine, competition, name)
    for key, column in (("group", settings.group), ("time", settings.time)):
        if column and column not in train.columns:
            what = f"{train.file} has no column {column!r}"
            missing.append(Unknown(what, {key: "COLUMN"}))
    if len(missing) > before:
        return None
    columns = Columns(
        name, submitted, targets, of_train, test_has_id, settings.group, settings.time
    )
    _check_sample_ids(engine, competition, columns)
    if columns.id_in_train:
        missing += _several_answers(engine, train, columns)
    if len(missing) == before and not (settings.group or settings.time):
        missing += _division(engine, competition, columns)
    return columns


def _targets(
    settings: HiddenSettings,
    competition: CompetitionTables,
    submitted: str,
    name: str,
    missing: list[Unknown],
) -> list[str]:
    """The columns to predict, as the training table calls them.

    What is not known of them is added to `missing`.
    """
    train = competition.train
    only = [column for column in train.columns if column not in competition.test.columns]
    candidates = [column for column in only if column not in (submitted, name)][:8]
    likely = candidates if len(candidates) == 1 else ["COLUMN"]
    listed = ", ".join(map(repr, candidates)) or "no column of its own"
    if settings.target:
        targets = list(settings.target)
    elif competition.sample:
        targets = [column for column in competition.sample.columns if column != submitted]
    else:
        what = (
            f"there is no sample submission, and {train.file} has {listed} that "
            f"{competition.test.file} lacks"
        )
        asked: dict[str, Any] = {} if submitted else {"id": "COLUMN"}
        missing.append(Unknown(what, {**asked, "target": likely}))
        return []
    lacking = [column for column in targets if column not in train.columns]
    if lacking or not targets:
        shown = ", ".join(map(repr, lacking)) or "a column to predict"
        hint = f" (it has {listed})" if candidates else ""
        missing.append(Unknown(f"{train.file} lacks {shown}{hint}", {"target": likely}))
    return targets


def _in_train(
    settings: HiddenSettings, competition: CompetitionTables, name: str, missing: list[Unknown]
) -> Iterator[tuple[str, str]]:
    """Each column of the test table with that of the training table, "" to leave it empty.

    Columns of which that is not known are added to `missing`.
    """
    train = competition.train
    test = competition.test
    absent = []
    for column in settings.columns:
        if column not in (*test.columns, name):
            what = f"{test.file} has no column {column!r}, which columns names"
            missing.append(Unknown(what, {"columns": {"COLUMN": "COLUMN"}}))
    for column in dict.fromkeys([*test.columns, name]):
        own = settings.columns.get(column, column)
        if own in train.columns or own == "":
            yield column, own
        elif column in settings.columns:
            what = f"{train.file} has no column {own!r}, which columns names"
            missing.append(Unknown(what, {"columns": {column: "COLUMN"}}))
        elif column == name:
            yield column, ""  # no column has the ids: they are counted, or another one is named
        else:
            absent.append(column)
    if absent:
        what = (
            f"{test.file} has {', '.join(absent)}, which {train.file} lacks (a column of it "
            'stands for each, or "" for nothing)'
        )
        missing.append(Unknown(what, {"columns": dict.fromkeys(absent, "COLUMN")}))


def _counted_ids(engine: TableEngine, competition: CompetitionTables, name: str) -> list[Unknown]:
    """What is unknown where no column of the test table has the ids.

    Nothing if the sample submission counts its rows by whole numbers.
    """
    test = competition.test
    sample = competition.sample
    is_counted = sample is not None and sample.rows == test.rows
    if sample and is_counted and are_whole_numbers(engine, sample, sample.columns[0]):
        return []
    return [Unknown(f"{test.file} has no column {name!r}", {"id": "COLUMN"})]


def are_whole_numbers(engine: TableEngine, table: Table, column: str) -> bool:
    """Whether each value of a column is a whole number, or a text of digits."""
    whole = f"regexp_full_match({table.column(column)}::{TEXT}, {literal(WHOLE_TEXT)})"
    return bool(engine.value(f"SELECT coalesce(bool_and({whole}), false) FROM {table.name}"))


def row_id(train: Table, own: str) -> str:
    """The id of a training row as a text: that of a column, or its number without one."""
    return f"coalesce({train.column(own)}::{TEXT}, '')" if own else f"rowid::{TEXT}"


def lacks_answer(table: Table, targets: Sequence[str]) -> str:
    """Whether a row has no value in one of the columns to predict, so that nothing is scored."""
    absent = []
    for target in targets:
        column = table.column(target)
        absent.append(f"{column} IS NULL OR lower({column}::{TEXT}) = 'nan'")
    return " OR ".join(absent)


def _several_answers(engine: TableEngine, train: Table, columns: Columns) -> list[Unknown]:
    """What is unknown where the rows of one id have different answers."""
    answer = ", ".join(f"{train.column(target)}::{TEXT}" for target in columns.targets)
    several = engine.run(
        f"SELECT 1 FROM train WHERE NOT ({lacks_answer(train, columns.targets)}) "
        f"GROUP BY {row_id(train, columns.id_in_train)} "
        f"HAVING min(hash({answer})) <> max(hash({answer})) LIMIT 1"
    )
    if not several:
        return []
    what = f"{train.file} names several rows by one {columns.id_in_train!r}, with different answers"
    return [Unknown(what, {"id": "COLUMN"})]


def _check_sample_ids(
    engine: TableEngine, competition: CompetitionTables, columns: Columns
) -> None:
    """Raise `ParameterError` if the sample submission asks for no id of the test table."""
    sample = competition.sample
    test = competition.test
    if sample is None or not columns.test_has_id or not sample.rows or not test.rows:
        return
    asked = f"sample.{sample.column(columns.submitted)}::{TEXT}"
    there = f"test.{test.column(columns.id)}::{TEXT}"
    if engine.value(f"SELECT count(*) FROM sample WHERE {asked} IN (SELECT {there} FROM test)"):
        return
    one = engine.value(f"SELECT min({asked}) FROM sample")
    other = engine.value(f"SELECT min({there}) FROM test")
    raise ParameterError(
        f"{sample.file} has ids such as {one!r}, and {test.file} has {other!r} in {columns.id!r}, "
        "so that it is not known how one is made of the other: name another column with "
        'hidden = {id = "COLUMN"} below [tool.kernelkit] in pyproject.toml, or '
        f"{MAKE_IT_YOURSELF}"
    )


def _division(
    engine: TableEngine, competition: CompetitionTables, columns: Columns
) -> list[Unknown]:
    """What is unknown where the public test set may have been split off by groups or by time.

    That is a column whose values repeat in the training table, and of which the test table has only
    others, such as other people or later days.
    """
    test = competition.test
    line: dict[str, str] = {}
    found = []
    for column, own in columns.of_train.items():
        if column == columns.id or column not in test.columns or own in ("", *columns.targets):
            continue
        tested = f"{test.column(column)}::{TEXT}"
        known = f"{competition.train.column(own)}::{TEXT}"
        if engine.value(HAS_OTHERS.format(tested=tested, known=known)):
            found.append(own)
            is_later = engine.value(IS_LATER.format(tested=tested, known=known))
            line = line or {"time" if is_later else "group": own}
    if not found:
        return []
    what = (
        f"{test.file} has other {', '.join(map(repr, found))} than {competition.train.file}, so "
        "its rows may be whole groups, or the last ones in time (write time in place of group)"
    )
    if columns.id_in_train:
        what += f', or single ones after all (group = "{columns.id_in_train}")'
    return [Unknown(what, line)]
