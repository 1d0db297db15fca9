"""Hidden data from tables: rows of the training table become the test table.

The rows stay in the files: a table is gone through a few times, and of each row little more than
its id is in memory.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.hidden import chosen_rows, competition_tables, hidden_files, new_ids, tables
from kernelkit.hidden.chosen_rows import Chosen
from kernelkit.hidden.competition_tables import Columns, CompetitionTables
from kernelkit.hidden.hidden_content import (
    MAKE_IT_YOURSELF,
    SEED,
    HiddenContent,
    RowsWanted,
    Unknown,
    ask,
    most_rows,
    too_few,
)
from kernelkit.hidden.tables import TEST, TRAIN, Row, Table, Texts
from kernelkit.project import HiddenSettings

LOOKED_AT = 10_000  # hidden rows, to see what an id is made of


@dataclass(frozen=True)
class _Division:
    """Which training rows become hidden.

    `places` are theirs in the training table, in the order of the hidden test table; `ids` has the
    id of each training row, and `renamed` the new id of each hidden one. `taken` is 1 at each
    training row that the hidden training table no longer has.
    """

    places: Sequence[int]
    ids: Texts
    renamed: Mapping[str, str]
    taken: bytearray

    def hidden_ids(self) -> list[str]:
        """The old ids of the hidden rows, each once."""
        return list(dict.fromkeys(self.ids[place] for place in self.places))

    def left(self, train: Table) -> Iterator[Row]:
        """The training rows that are not taken."""
        return (row for row, gone in zip(train.rows, self.taken, strict=True) if not gone)


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
    competition = competition_tables.read(public)
    if competition is None:
        return None
    train = competition.train
    notes = competition.notes
    missing = list(unknown)
    columns = competition_tables.find_columns(settings, competition, missing)
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
    public_ids = competition_tables.public_ids(competition, columns)
    renamed, kept = _rename(places, ids, columns, competition, public_ids)
    if kept:
        notes.append(f"the hidden rows keep their ids, since {kept}")
        places = sorted(places)
    taken = bytearray(len(train.rows))
    for place in chain(places, chosen.left_out):
        taken[place] = 1
    division = _Division(places, ids, renamed, taken)
    answers = [{columns.submitted: renamed[one], **known[one]} for one in division.hidden_ids()]

    _write_tables(public, folder, competition, columns, division)
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


def _write_tables(
    public: Path,
    folder: Path,
    competition: CompetitionTables,
    columns: Columns,
    division: _Division,
) -> None:
    """Write the divided tables, and link the competition's other files beside them."""
    train = competition.train
    made = {train.name, competition.test.name}
    if competition.sample:
        made.add(competition.sample.name)
    for pair in competition.more:
        made |= {table.name for table in pair}
    hidden_files.link_others(public, folder, made)
    tables.write(folder, train, division.left(train))
    tables.write(folder, competition.test, _tested(competition, columns, division))
    _write_sample(folder, competition, columns, division)
    for pair in competition.more:
        tested = _tested(competition, columns, division)
        _write_pair(folder, pair, columns, tested, division.left(train), division.renamed)


def _ids(train: Table, columns: Columns) -> Iterator[str]:
    """The id of each training row; its number where the table has none."""
    own = columns.of_train[columns.id]
    if not own:
        return map(str, range(len(train.rows)))
    return (str(row[own]) for row in train.rows)


def _choose(
    competition: CompetitionTables,
    columns: Columns,
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
    wanted = rows.of(len(competition_tables.public_ids(competition, columns)), training)
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
    columns: Columns,
    competition: CompetitionTables,
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


def _tested(competition: CompetitionTables, columns: Columns, division: _Division) -> Iterator[Row]:
    """The hidden training rows, as rows of the test table."""
    places = division.places
    test = competition.test
    usual = test.rows[0] if len(test.rows) else dict.fromkeys(test.columns)
    nothing = None if test.schema is not None else ""
    has_test_paths = {column for column in test.columns if _is_path_of_test(usual[column])}
    for place, row in zip(places, tables.at(competition.train.rows, places), strict=True):
        old = division.ids[place]
        new = division.renamed[old]
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
    train: Table, chosen: Chosen, ids: Texts, columns: Columns
) -> dict[str, dict[str, Any]]:
    """{id: {column: what is to be predicted}} of the hidden rows; an id may have several."""
    answers: dict[str, dict[str, Any]] = {}
    rows = tables.at(train.rows, chosen.places)
    for place, row in zip(chosen.places, rows, strict=True):
        if not chosen_rows.lacks_answer(row, columns.targets):
            answers[ids[place]] = {target: row[target] for target in columns.targets}
    return answers


def _has_one_answer_each(train: Table, numbers: array[int], columns: Columns) -> bool:
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
    folder: Path, competition: CompetitionTables, columns: Columns, division: _Division
) -> None:
    """The sample submission with a row for each hidden id, as its first row is.

    Its order is the test table's, unless the public ones differ in theirs.
    """
    sample = competition.sample
    if sample is None:
        return
    usual = sample.rows[0] if len(sample.rows) else dict.fromkeys(sample.columns, "0")
    like = usual[columns.submitted]
    ids = [division.renamed[one] for one in division.hidden_ids()]
    asked = [str(row[columns.submitted]) for row in sample.rows]
    if asked != competition_tables.public_ids(competition, columns):
        random.Random(SEED).shuffle(ids)
    rows = ({**usual, columns.submitted: _typed(one, like)} for one in ids)
    tables.write(folder, sample, rows)


def _write_pair(
    folder: Path,
    pair: tuple[Table, Table],
    columns: Columns,
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
