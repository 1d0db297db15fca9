"""The tables of a competition, and which of their columns are what.

The tables are `train` and `test`, and `train_X` and `test_X` where there are more of them, such as
one of patients beside one of visits; with a gateway, those that it serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.hidden import chosen_rows, gateway_files, tables
from kernelkit.hidden.hidden_content import MAKE_IT_YOURSELF, Unknown
from kernelkit.hidden.tables import TEST, TRAIN, Row, Table
from kernelkit.project import HiddenSettings


@dataclass(frozen=True)
class CompetitionTables:
    """The tables of a competition; `more` are pairs of a training and a test table beside these."""

    train: Table
    test: Table
    sample: Table | None
    more: Sequence[tuple[Table, Table]]
    notes: list[str]


@dataclass(frozen=True)
class Columns:
    """Which columns are what; names are the test table's, `of_train` has the training table's.

    `id` is "" in `of_train` where the training table has no ids, and `test_has_id` is False where
    the test table has none. `submitted` is the id's name in a submission. `time` is a column of the
    training table by which the public test set is the later one, "" if it is not.
    """

    id: str
    submitted: str
    targets: Sequence[str]
    group: str
    of_train: Mapping[str, str]
    test_has_id: bool
    time: str = ""


def read(public: Path) -> CompetitionTables | None:
    """The tables of a competition; None if it has no test table."""
    gateway = gateway_files.find_gateway(public)
    served = gateway_files.served_files(public, gateway) if gateway else []
    path = tables.find(public, (TEST, TEST.capitalize()))
    if path is None:
        named = [public / name for name in served if _is_test(public / name)]
        path = next(iter(named), None)
    packed = tables.find_packed(public)
    if packed and (path is None or _train_of(path) is None):
        raise ParameterError(f"{packed} is packed: unpack it there")
    if path is None:
        return None
    train = _train_of(path)
    if train is None:
        raise ParameterError(
            f"{public} has no {_train_name(path)}, so no hidden data can be made: write it "
            "yourself and name its folder with --hidden FOLDER"
        )
    sample = tables.find_sample(public)
    if sample is None and gateway is None:
        raise ParameterError(
            f"{public} has no sample_submission.csv, so no hidden data can be made: write it "
            "yourself and name its folder with --hidden FOLDER"
        )
    notes: list[str] = []
    if gateway:
        what = ", ".join(served) or "no file that it names"
        notes.append(f"{gateway.name} serves {what}")
    more = []
    for other in sorted(public.iterdir()):
        if other == path or not _is_test(other):
            continue
        twin = _train_of(other)
        if twin:
            more.append((tables.read(twin), tables.read(other)))
        elif other.name in served:
            raise ParameterError(
                f"the gateway serves {other.name}, and there is no {_train_name(other)} to make "
                f"it from: {MAKE_IT_YOURSELF}"
            )
        else:
            notes.append(f"{other.name} stays as it is: there is no {_train_name(other)}")
    kept_sample = tables.read(sample) if sample else None
    if sample and sample.stem not in tables.SAMPLES:
        notes.append(f"{sample.name} is taken as the sample submission")
    training = tables.read(train)
    if not len(training.rows):
        raise ParameterError(f"{train} has no rows to make hidden ones of")
    return CompetitionTables(training, tables.read(path), kept_sample, more, notes)


def _is_test(path: Path) -> bool:
    return tables.is_table(path) and TEST in path.stem.lower()


def _train_name(test: Path) -> str:
    return test.name.replace(TEST, TRAIN).replace(TEST.capitalize(), TRAIN.capitalize())


def _train_of(test: Path) -> Path | None:
    """The training table beside a test table, which may have the other ending."""
    name = Path(_train_name(test))
    for ending in dict.fromkeys((name.suffix, *tables.ENDINGS)):
        path = test.with_name(f"{name.stem}{ending}")
        if tables.is_table(path):
            return path
    return None


def find_columns(
    settings: HiddenSettings, competition: CompetitionTables, missing: list[Unknown]
) -> Columns | None:
    """Which columns are what; None if that is not known, which is added to `missing`."""
    before = len(missing)
    train = competition.train
    test = competition.test
    sample = competition.sample
    submitted = settings.id
    if not submitted and sample:
        submitted = next(iter(sample.columns), "")
    of_train = _in_train(settings, competition, submitted, missing)
    targets = _targets(settings, competition, submitted, missing)
    name = _like(submitted, test.columns)
    sampled = sample.rows if sample else []
    nameless = not name and not all(_is_number(row, submitted) for row in sampled)
    if nameless:
        missing.append(Unknown(f"{test.name} has no column {submitted!r}", {"id": "COLUMN"}))
    id_in_train = of_train.get(name, "") or _like(submitted, train.columns)
    if submitted and not nameless and not id_in_train and name not in settings.columns:
        candidates = _only_in_train(competition, targets)
        if candidates or not _ids_are_numbers(competition, name, submitted):
            hint = f" (one of {', '.join(map(repr, candidates))}?)" if candidates else ""
            column = name or submitted
            what = f'{train.name} has no column {submitted!r}{hint}, and "" stands for no ids'
            missing.append(Unknown(what, {"columns": {column: "COLUMN"}}))
    if settings.group and settings.group not in train.columns:
        what = f"{train.name} has no column {settings.group!r}"
        missing.append(Unknown(what, {"group": "COLUMN"}))
    if len(missing) > before:
        return None
    columns = Columns(
        id=name or submitted,
        submitted=submitted,
        targets=targets,
        group=settings.group,
        of_train={**of_train, (name or submitted): id_in_train},
        test_has_id=bool(name),
    )
    _check_sample_ids(competition, columns)
    if settings.group:
        return columns
    return _with_order(competition, columns)


def _with_order(competition: CompetitionTables, columns: Columns) -> Columns:
    """The columns with the time or the group by which the public test set was split off."""
    train = competition.train.rows
    test = competition.test
    features = {
        column: own
        for column, own in columns.of_train.items()
        if own and column in test.columns and own not in columns.targets
    }
    ids_are_numbers = all(_is_number(row, columns.id) for row in test.rows)
    times = dict(features)
    if ids_are_numbers:
        times.pop(columns.id, None)
    later = chosen_rows.later_columns(train, test.rows, times)
    if later:
        competition.notes.append(
            f"the hidden rows are the last ones by {later[0]!r}, since the public test set is "
            f"later than {competition.train.name}; for whole groups of a column instead set group "
            "in hidden = {…}"
        )
        return replace(columns, time=later[0])
    features.pop(columns.id, None)
    groups = chosen_rows.grouping_columns(train, test.rows, features)
    if not groups:
        return columns
    competition.notes.append(
        f"rows of one {groups[0]!r} stay together, since the public test set has other ones than "
        f"{competition.train.name}; for another column set group in hidden = {{…}}"
    )
    return replace(columns, group=groups[0])


def _like(name: str, columns: Sequence[str]) -> str:
    """The column of this name, or the only one that is called so in another case; "" without."""
    if name in columns:
        return name
    found = [each for each in columns if each.strip().casefold() == name.strip().casefold()]
    return found[0] if len(found) == 1 else ""


def _targets(
    settings: HiddenSettings, competition: CompetitionTables, submitted: str, missing: list[Unknown]
) -> list[str]:
    """The columns to predict, as the training table calls them.

    What is not known of them is added to `missing`.
    """
    train = competition.train
    test = competition.test
    sample = competition.sample
    only = [column for column in train.columns if column not in test.columns]
    if settings.target:
        targets = list(settings.target)
    elif sample:
        targets = [column for column in sample.columns if column != submitted]
    else:
        if len(only) != 1 or not submitted:
            listed = ", ".join(map(repr, only)) or "no column of its own"
            what = (
                f"there is no sample submission, and {train.name} has {listed} that {test.name} "
                "lacks"
            )
            asked: dict[str, Any] = {} if submitted else {"id": "COLUMN"}
            missing.append(Unknown(what, {**asked, "target": ["COLUMN"]}))
            return []
        targets = only
    lacking = [column for column in targets if column not in train.columns]
    if lacking or not targets:
        shown = ", ".join(map(repr, lacking)) or "a column to predict"
        candidates = [column for column in only if column != submitted][:8]
        hint = f" (it has {', '.join(map(repr, candidates))})" if candidates else ""
        missing.append(Unknown(f"{train.name} lacks {shown}{hint}", {"target": ["COLUMN"]}))
    return targets


def _in_train(
    settings: HiddenSettings, competition: CompetitionTables, submitted: str, missing: list[Unknown]
) -> dict[str, str]:
    """{column of the test table: that of the training table, "" to leave it empty}.

    Columns of which that is not known are added to `missing`.
    """
    train = competition.train
    test = competition.test
    found = {}
    absent = []
    for column in test.columns:
        if column in settings.columns:
            named = settings.columns[column]
            if named and named not in train.columns:
                what = f"{train.name} has no column {named!r}, which columns names"
                missing.append(Unknown(what, {"columns": {column: "COLUMN"}}))
            found[column] = named
            continue
        own = _like(column, train.columns)
        if own:
            found[column] = own
        elif column != _like(submitted, test.columns):
            absent.append(column)
    if absent:
        what = (
            f"{test.name} has {', '.join(absent)}, which {train.name} lacks (a column of it "
            'stands for each, or "" for nothing)'
        )
        missing.append(Unknown(what, {"columns": dict.fromkeys(absent, "COLUMN")}))
    return found


def _only_in_train(competition: CompetitionTables, targets: Sequence[str]) -> list[str]:
    """The columns that name each training row, and that are neither tested nor predicted."""
    train = competition.train
    test = competition.test
    found = []
    for column in train.columns:
        if column in targets or _like(column, test.columns):
            continue
        if _names_each(train, column):
            found.append(column)
    return found


def _names_each(table: Table, column: str) -> bool:
    """Whether no value of a column stands in two rows."""
    seen = set()
    for row in table.rows:
        value = str(row[column])
        if value in seen:
            return False
        seen.add(value)
    return True


def _is_number(row: Row, column: str) -> bool:
    return str(row.get(column, "")).isdecimal()


def _ids_are_numbers(competition: CompetitionTables, name: str, submitted: str) -> bool:
    """Whether the ids of the public test set are whole numbers, which can be made up."""
    table = competition.test
    column = name
    if not name:
        if competition.sample is None:
            return False
        table = competition.sample
        column = submitted
    return len(table.rows) > 0 and all(_is_number(row, column) for row in table.rows)


def _check_sample_ids(competition: CompetitionTables, columns: Columns) -> None:
    """Raise `ParameterError` unless the sample submission has a row for each id of the test set."""
    sample = competition.sample
    test = competition.test
    if sample is None or not columns.test_has_id or not len(sample.rows) or not len(test.rows):
        return
    asked = {str(row.get(columns.submitted, "")) for row in sample.rows}
    there = {str(row[columns.id]) for row in test.rows}
    if asked & there:
        return
    raise ParameterError(
        f"{sample.name} has ids such as {min(asked)!r}, and {test.name} has {min(there)!r} in "
        f"{columns.id!r}, so that it is not known how one is made of the other: name another "
        'column with hidden = {id = "COLUMN"} below [tool.kernelkit] in pyproject.toml, or '
        f"{MAKE_IT_YOURSELF}"
    )


def public_ids(competition: CompetitionTables, columns: Columns) -> list[str]:
    """The ids of the public test set, in its order."""
    if columns.test_has_id:
        return list(dict.fromkeys(str(row[columns.id]) for row in competition.test.rows))
    rows = competition.sample.rows if competition.sample else []
    return [str(row[columns.submitted]) for row in rows]
