"""Hidden data from tables: rows of the training table become the test table.

The tables are `train` and `test`, and `train_X` and `test_X` where there are more of them, such as
one of patients beside one of visits; with a gateway, those that it serves. Their rows stay in the
files: a table is gone through a few times, and of each row little more than its id is in memory.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.project import HiddenSettings
from kernelkit.rehearsal import chosen_rows, gateway_files, hidden_files, new_ids, tables
from kernelkit.rehearsal.chosen_rows import Chosen
from kernelkit.rehearsal.hidden_content import (
    MAKE_IT_YOURSELF,
    SEED,
    HiddenContent,
    RowsWanted,
    Unknown,
    ask,
    most_rows,
    too_few,
)
from kernelkit.rehearsal.tables import TEST, TRAIN, Row, Table, Texts

LOOKED_AT = 10_000  # hidden rows, to see what an id is made of


@dataclass(frozen=True)
class _Competition:
    """The tables of a competition; `more` are pairs of a training and a test table beside these."""

    train: Table
    test: Table
    sample: Table | None
    more: Sequence[tuple[Table, Table]]
    notes: list[str]


@dataclass(frozen=True)
class _Columns:
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


def make(
    public: Path,
    folder: Path,
    settings: HiddenSettings,
    wanted: RowsWanted,
    unknown: Sequence[Unknown] = (),
) -> HiddenContent | None:
    """Write the hidden folder of a competition with tables; None if it has no test table.

    Raises one `ParameterError` for everything that cannot be guessed; `unknown` is what is not
    known already.
    """
    competition = _read(public)
    if competition is None:
        return None
    train = competition.train
    test = competition.test
    notes = competition.notes
    missing = list(unknown)
    columns = _columns(settings, competition, missing)
    if columns is None:
        raise ask(missing, settings)
    ids = Texts(_ids(train, columns))
    numbers = chosen_rows.hashes(ids)
    if not _has_one_answer_each(train, numbers, columns):
        own = columns.of_train[columns.id]
        what = f"{train.name} names several rows by one {own!r}, with different answers"
        missing.append(Unknown(what, {"id": "COLUMN"}))
    if missing:
        raise ask(missing, settings)
    chosen, training = _choose(competition, columns, ids, numbers, wanted)
    known = _known_answers(train, chosen, ids, columns)
    places = sorted(chosen.places) if columns.time else chosen.places
    public_ids = _public_ids(competition, columns)
    renamed, kept = _rename(places, ids, columns, competition, public_ids)
    if kept:
        notes.append(f"the hidden rows keep their ids, since {kept}")
        places = sorted(places)
    hidden_ids = dict.fromkeys(ids[place] for place in places)
    answers = [{columns.submitted: renamed[one], **known[one]} for one in hidden_ids]

    made = {train.name, test.name}
    if competition.sample:
        made.add(competition.sample.name)
    for pair in competition.more:
        made |= {table.name for table in pair}
    hidden_files.link_others(public, folder, made)
    taken = bytearray(len(train.rows))
    for place in chain(places, chosen.left_out):
        taken[place] = 1
    tables.write(folder, train, _left(train, taken))
    tables.write(folder, test, _tested(competition, places, ids, columns, renamed))
    _write_sample(folder, competition, columns, [renamed[one] for one in hidden_ids])
    for pair in competition.more:
        tested = _tested(competition, places, ids, columns, renamed)
        _write_pair(folder, pair, columns, tested, _left(train, taken), renamed)
    hidden_files.remove_named(folder, public_ids)
    moved = hidden_files.move_named(public, folder, renamed)
    if moved:
        notes.append(f"{moved:,} files that are named by an id came along")
    return HiddenContent(
        [columns.submitted, *columns.targets],
        answers,
        len(set(public_ids)),
        notes,
        most_rows(training),
    )


def _left(train: Table, taken: bytearray) -> Iterator[Row]:
    """The training rows that are not taken."""
    return (row for row, gone in zip(train.rows, taken, strict=True) if not gone)


def _read(public: Path) -> _Competition | None:
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
    return _Competition(training, tables.read(path), kept_sample, more, notes)


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


def _columns(
    settings: HiddenSettings, competition: _Competition, missing: list[Unknown]
) -> _Columns | None:
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
    columns = _Columns(
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


def _with_order(competition: _Competition, columns: _Columns) -> _Columns:
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
    settings: HiddenSettings, competition: _Competition, submitted: str, missing: list[Unknown]
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
    settings: HiddenSettings, competition: _Competition, submitted: str, missing: list[Unknown]
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


def _only_in_train(competition: _Competition, targets: Sequence[str]) -> list[str]:
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


def _ids_are_numbers(competition: _Competition, name: str, submitted: str) -> bool:
    """Whether the ids of the public test set are whole numbers, which can be made up."""
    table = competition.test
    column = name
    if not name:
        if competition.sample is None:
            return False
        table = competition.sample
        column = submitted
    return len(table.rows) > 0 and all(_is_number(row, column) for row in table.rows)


def _check_sample_ids(competition: _Competition, columns: _Columns) -> None:
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


def _ids(train: Table, columns: _Columns) -> Iterator[str]:
    """The id of each training row; its number where the table has none."""
    own = columns.of_train[columns.id]
    if not own:
        return map(str, range(len(train.rows)))
    return (str(row[own]) for row in train.rows)


def _public_ids(competition: _Competition, columns: _Columns) -> list[str]:
    """The ids of the public test set, in its order."""
    if columns.test_has_id:
        return list(dict.fromkeys(str(row[columns.id]) for row in competition.test.rows))
    rows = competition.sample.rows if competition.sample else []
    return [str(row[columns.submitted]) for row in rows]


def _choose(
    competition: _Competition,
    columns: _Columns,
    ids: Texts,
    numbers: array[int],
    rows: RowsWanted,
) -> tuple[Chosen, int]:
    """The training rows that become hidden, and how many ids have an answer.

    They are whole groups, the last ones in time or else in a random order. `numbers`: of the ids.
    """
    train = competition.train
    lacking = bytearray(chosen_rows.lacks_answer(row, columns.targets) for row in train.rows)
    training = chosen_rows.distinct(
        number for number, lacks in zip(numbers, lacking, strict=True) if not lacks
    )
    order: Sequence[Any] = numbers
    if columns.time and chosen_rows.distinct(numbers) == len(numbers):
        order = array("d", (-(chosen_rows.moment(row[columns.time]) or 0) for row in train.rows))
    elif columns.group:
        order = chosen_rows.hashes(str(row[columns.group]) for row in train.rows)
    wanted = rows.of(len(_public_ids(competition, columns)), training)
    chosen = chosen_rows.choose(ids, lacking, order, wanted)
    taken = len(chosen.places) + len(chosen.left_out)
    if not chosen.places or taken == len(ids):
        raise too_few(train.name, training, wanted)
    if any(lacking):
        competition.notes.append(
            f"{sum(lacking):,} rows of {train.name} lack an answer: none of them is hidden"
        )
    return chosen, training


def _rename(
    chosen: Sequence[int],
    ids: Texts,
    columns: _Columns,
    competition: _Competition,
    public_ids: Sequence[str],
) -> tuple[dict[str, str], str]:
    """{id: new id} of the chosen rows, and why they stay as they are, "" if they do not."""
    own = columns.of_train[columns.id]
    if not columns.test_has_id:  # a submission counts the rows of the test table
        first = min(map(int, public_ids), default=0)
        return {ids[place]: str(first + n) for n, place in enumerate(chosen)}, ""
    if not own:
        first = max(map(int, public_ids), default=-1) + 1
        return {ids[place]: str(first + n) for n, place in enumerate(chosen)}, ""
    rows = list(tables.at(competition.train.rows, chosen[:LOOKED_AT]))
    shown = [name for name in columns.of_train.values() if name]
    # A column that an id is a part of does not show that the id is made of others.
    apart = [
        name
        for name in shown
        if name == own or not all(str(row[own]) in str(row[name]) for row in rows)
    ]
    parts = [{name: row[name] for name in apart} for row in rows]
    hidden_ids = list(dict.fromkeys(ids[place] for place in chosen))
    return new_ids.renamed(hidden_ids, parts, own, Texts(chain(ids, public_ids)))


def _tested(
    competition: _Competition,
    places: Sequence[int],
    ids: Texts,
    columns: _Columns,
    renamed: Mapping[str, str],
) -> Iterator[Row]:
    """The training rows at these places, as rows of the test table."""
    test = competition.test
    usual = test.rows[0] if len(test.rows) else dict.fromkeys(test.columns)
    nothing = None if test.schema is not None else ""
    has_test_paths = {column for column in test.columns if _is_path_of_test(usual[column])}
    for place, row in zip(places, tables.at(competition.train.rows, places), strict=True):
        old = ids[place]
        new = renamed[old]
        tested: Row = {}
        for column in test.columns:
            own = columns.of_train[column]
            if column == columns.id and own and new == old:
                tested[column] = row[own]
            elif column == columns.id:
                tested[column] = _typed(new, row[own] if own else usual[column])
            elif own in columns.targets:
                tested[column] = usual[column]  # which says nothing of this row
            elif not own:
                tested[column] = nothing
            else:
                tested[column] = _with_new_id(row[own], old, new, column in has_test_paths)
        if not columns.test_has_id:
            tested[columns.id] = new
        yield tested


def _is_path_of_test(value: Any) -> bool:
    return isinstance(value, str) and "/" in value and TEST in value


def _typed(new: str, like: Any) -> Any:
    """A new id in the type of an old one."""
    return int(new) if isinstance(like, int) else new


def _with_new_id(value: Any, old: str, new: str, in_test: bool) -> Any:
    """A cell that names the row's id with the new one; else as it is.

    It begins with the id, as `ID_0001` does, or is the path of its file, `train/ID.png`, which is
    then in the test folder if the public ones are (`in_test`).
    """
    if not isinstance(value, str) or len(old) >= len(value) or not old:
        return value
    path = PurePosixPath(value)
    if "/" in value and path.name.partition(".")[0] == old:
        folder = str(path.parent)
        if in_test:
            folder = folder.replace(TRAIN, TEST)
        return f"{folder}/{new}{path.name[len(old) :]}"
    if not value.startswith(old):
        return value
    rest = value[len(old) :]
    is_part = not rest[0].isalnum() and not old.isdecimal()
    return new + rest if is_part else value


def _known_answers(
    train: Table, chosen: Chosen, ids: Texts, columns: _Columns
) -> dict[str, dict[str, Any]]:
    """{id: {column: what is to be predicted}} of the hidden rows; an id may have several."""
    answers: dict[str, dict[str, Any]] = {}
    rows = tables.at(train.rows, chosen.places)
    for place, row in zip(chosen.places, rows, strict=True):
        if not chosen_rows.lacks_answer(row, columns.targets):
            answers[ids[place]] = {target: row[target] for target in columns.targets}
    return answers


def _has_one_answer_each(train: Table, numbers: array[int], columns: _Columns) -> bool:
    """Whether the rows of an id that has several have the same answer; `numbers`: of the ids."""
    if chosen_rows.distinct(numbers) == len(numbers):
        return True
    answers = chosen_rows.hashes(
        repr([row[target] for target in columns.targets])
        if not chosen_rows.lacks_answer(row, columns.targets)
        else ""
        for row in train.rows
    )
    return chosen_rows.agree(numbers, answers, chosen_rows.number_of(""))


def _write_sample(
    folder: Path, competition: _Competition, columns: _Columns, ids: list[str]
) -> None:
    """The sample submission with a row for each hidden id, as its first row is.

    Its order is the test table's, unless the public ones differ in theirs.
    """
    sample = competition.sample
    if sample is None:
        return
    usual = sample.rows[0] if len(sample.rows) else dict.fromkeys(sample.columns, "0")
    like = usual[columns.submitted]
    asked = [str(row[columns.submitted]) for row in sample.rows]
    if asked != _public_ids(competition, columns):
        random.Random(SEED).shuffle(ids)
    rows = ({**usual, columns.submitted: _typed(one, like)} for one in ids)
    tables.write(folder, sample, rows)


def _write_pair(
    folder: Path,
    pair: tuple[Table, Table],
    columns: _Columns,
    tested: Iterator[Row],
    left: Iterator[Row],
    renamed: Mapping[str, str],
) -> None:
    """A training and a test table beside the others, each with the rows that its own ones need."""
    train, test = pair
    shared = [name for name in test.columns if name in columns.of_train and name in train.columns]
    if not shared:
        raise ParameterError(
            f"{test.name} has no column of the test table, so it is not known which of its rows "
            f"belong to a hidden one: {MAKE_IT_YOURSELF}"
        )
    key = columns.id if columns.id in shared else shared[0]
    own = columns.of_train[key]
    needed = {str(row[key]) for row in tested}
    kept = {str(row[own]) for row in left}

    def hidden() -> Iterator[Row]:
        for row in train.rows:
            value = str(row[key])
            new = renamed.get(value, "") if key == columns.id else value
            if new in needed:
                yield row if new == value else {**row, key: _typed(new, row[key])}

    tables.write(folder, train, (row for row in train.rows if str(row[key]) in kept))
    tables.write(folder, test, hidden())
