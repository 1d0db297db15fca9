"""Hidden data from tables: rows of the training table become the test table.

The tables are `train` and `test`, and `train_X` and `test_X` where there are more of them, such as
one of patients beside one of visits; with a gateway, those that it serves. They are held in memory
while they are divided.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit.errors import ParameterError
from kernelkit.project import HiddenSettings
from kernelkit.rehearsal import gateway_files, hidden_files, new_ids, tables
from kernelkit.rehearsal.hidden_content import (
    MAKE_IT_YOURSELF,
    SEED,
    HiddenContent,
    ask,
    too_few,
    wanted_rows,
)
from kernelkit.rehearsal.tables import SAMPLES, TEST, TRAIN, Row, Table

FEWEST_GROUPS = 10  # of a training table, for a column to be taken as the one that groups its rows
MOST_ALONE = 0.1  # of its rows that may be the only one of their group
LARGEST_GROUP = 0.2  # of its rows that may be in one group
FEWEST_NEW = 2  # values of the public test table that show that its groups are new ones
_DECIMAL = re.compile(r"-?\d*\.\d+([eE][-+]?\d+)?")


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
    the test table has none. `submitted` is the id's name in a submission.
    """

    id: str
    submitted: str
    targets: Sequence[str]
    group: str
    of_train: Mapping[str, str]
    test_has_id: bool


def make(
    public: Path, folder: Path, settings: HiddenSettings, count: int | None
) -> HiddenContent | None:
    """Write the hidden folder of a competition with tables; None if it has no test table.

    Raises `ParameterError` for what cannot be guessed.
    """
    competition = _read(public)
    if competition is None:
        return None
    train = competition.train
    test = competition.test
    notes = competition.notes
    columns = _columns(settings, competition)
    ids = _ids(train, columns)
    known = _known_answers(train, ids, columns)
    chosen = _choose(competition, columns, ids, count)
    public_ids = _public_ids(competition, columns)
    renamed, kept = _rename(chosen, ids, columns, competition, public_ids)
    if kept:
        notes.append(f"the hidden rows keep their ids, since {kept}")
        chosen = sorted(chosen)
    tested = [_tested(train.rows[place], ids[place], columns, test, renamed) for place in chosen]
    hidden_places = set(chosen)
    left = [row for place, row in enumerate(train.rows) if place not in hidden_places]
    hidden_ids = dict.fromkeys(ids[place] for place in chosen)
    answers = [{columns.submitted: renamed[one], **known[one]} for one in hidden_ids]

    made = {train.name, test.name}
    if competition.sample:
        made.add(competition.sample.name)
    for pair in competition.more:
        made |= {table.name for table in pair}
    hidden_files.link_others(public, folder, made)
    tables.write(folder, train, left)
    tables.write(folder, test, tested)
    _write_sample(folder, competition, columns, tested)
    for pair in competition.more:
        _write_pair(folder, pair, columns, tested, left, renamed)
    hidden_files.remove_named(folder, public_ids)
    moved = hidden_files.move_named(public, folder, renamed)
    if moved:
        notes.append(f"{moved:,} files that are named by an id came along")
    return HiddenContent(
        [columns.submitted, *columns.targets], answers, len(set(public_ids)), notes
    )


def _read(public: Path) -> _Competition | None:
    """The tables of a competition; None if it has no test table."""
    gateway = gateway_files.find_gateway(public)
    served = gateway_files.served_files(public, gateway) if gateway else []
    path = tables.find(public, (TEST, TEST.capitalize()))
    if path is None:
        named = [public / name for name in served if _is_test(public / name)]
        path = next(iter(named), None)
    if path is None:
        return None
    train = _train_of(path)
    if train is None:
        raise ParameterError(
            f"{public} has no {_train_name(path)}, so no hidden data can be made: write it "
            "yourself and name its folder with --hidden FOLDER"
        )
    sample = tables.find(public, SAMPLES)
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
    return _Competition(tables.read(train), tables.read(path), kept_sample, more, notes)


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


def _columns(settings: HiddenSettings, competition: _Competition) -> _Columns:
    """Which columns are what. Raises `ParameterError` that asks in a line."""
    train = competition.train
    test = competition.test
    sample = competition.sample
    submitted = settings.id
    if not submitted and sample:
        submitted = next(iter(sample.columns), "")
    of_train = _in_train(settings, competition, submitted)
    targets = _targets(settings, competition, submitted)
    name = _like(submitted, test.columns)
    if not name and sample and [row for row in sample.rows if not _is_number(row, submitted)]:
        raise ask(f"{test.name} has no column {submitted!r}", 'id = "COLUMN"')
    id_in_train = of_train.get(name, "") or _like(submitted, train.columns)
    if not id_in_train and name not in settings.columns:
        candidates = _only_in_train(competition, targets)
        if candidates or not _ids_are_numbers(competition, name, submitted):
            hint = f" (one of {', '.join(map(repr, candidates))}?)" if candidates else ""
            column = name or submitted
            raise ask(
                f'{train.name} has no column {submitted!r}{hint}, and "" stands for no ids',
                f'columns = {{"{column}" = "COLUMN"}}',
            )
    if settings.group and settings.group not in train.columns:
        raise ask(f"{train.name} has no column {settings.group!r}", 'group = "COLUMN"')
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
    guessed = _guess_group(competition, columns)
    if not guessed:
        return columns
    competition.notes.append(
        f"rows of one {guessed!r} stay together, since the public test set has other ones than "
        f"{train.name}; for another column set group in hidden = {{…}}"
    )
    return _Columns(columns.id, submitted, targets, guessed, columns.of_train, columns.test_has_id)


def _like(name: str, columns: Sequence[str]) -> str:
    """The column of this name, or the only one that is called so in another case; "" without."""
    if name in columns:
        return name
    found = [each for each in columns if each.strip().casefold() == name.strip().casefold()]
    return found[0] if len(found) == 1 else ""


def _targets(settings: HiddenSettings, competition: _Competition, submitted: str) -> list[str]:
    """The columns to predict, as the training table calls them."""
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
            raise ask(
                f"there is no sample submission, and {train.name} has {listed} that {test.name} "
                "lacks",
                'id = "COLUMN", target = ["COLUMN"]',
            )
        targets = only
    lacking = [column for column in targets if column not in train.columns]
    if lacking or not targets:
        shown = ", ".join(map(repr, lacking)) or "a column to predict"
        candidates = [column for column in only if column != submitted][:8]
        hint = f" (it has {', '.join(map(repr, candidates))})" if candidates else ""
        raise ask(f"{train.name} lacks {shown}{hint}", 'target = ["COLUMN"]')
    return targets


def _in_train(
    settings: HiddenSettings, competition: _Competition, submitted: str
) -> dict[str, str]:
    """{column of the test table: that of the training table, "" to leave it empty}."""
    train = competition.train
    test = competition.test
    found = {}
    absent = []
    for column in test.columns:
        if column in settings.columns:
            named = settings.columns[column]
            if named and named not in train.columns:
                raise ask(f"{train.name} has no column {named!r}", f'columns = {{{column} = ""}}')
            found[column] = named
            continue
        own = _like(column, train.columns)
        if own:
            found[column] = own
        elif column != _like(submitted, test.columns):
            absent.append(column)
    if absent:
        pairs = ", ".join(f'"{column}" = "COLUMN"' for column in absent[:8])
        raise ask(
            f"{test.name} has {', '.join(absent[:8])}, which {train.name} lacks (a column of it "
            'stands for each, or "" for nothing)',
            f"columns = {{{pairs}}}",
        )
    return found


def _only_in_train(competition: _Competition, targets: Sequence[str]) -> list[str]:
    """The columns that name each training row, and that are neither tested nor predicted."""
    train = competition.train
    test = competition.test
    found = []
    for column in train.columns:
        if column in targets or _like(column, test.columns):
            continue
        if len({str(row[column]) for row in train.rows}) == len(train.rows):
            found.append(column)
    return found


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
    return bool(table.rows) and all(_is_number(row, column) for row in table.rows)


def _check_sample_ids(competition: _Competition, columns: _Columns) -> None:
    """Raise `ParameterError` unless the sample submission has a row for each id of the test set."""
    sample = competition.sample
    test = competition.test
    if sample is None or not columns.test_has_id or not sample.rows or not test.rows:
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


def _guess_group(competition: _Competition, columns: _Columns) -> str:
    """The column by whose values the public test set was split off; "" if none shows it.

    Its values repeat in the training table, and those of the test table are all new. Of several
    such columns it is the one with the fewest values, which holds the others together.
    """
    train = competition.train
    test = competition.test
    found: dict[str, int] = {}
    for column, own in columns.of_train.items():
        if column == columns.id or not own or column not in test.columns:
            continue
        known = Counter(str(row[own]) for row in train.rows)
        new = {str(row[column]) for row in test.rows}
        if len(new) >= FEWEST_NEW and not new & known.keys() and _are_groups(known):
            found[own] = len(known)
    return min(found, key=lambda own: found[own], default="")


def _are_groups(counts: Mapping[str, int]) -> bool:
    """Whether a column with these values, and as many rows of each, divides a table into groups.

    They are whole numbers or texts; nearly all have several rows, and none has many of the rows.
    """
    rows = sum(counts.values())
    alone = sum(1 for count in counts.values() if count == 1)
    if "" in counts or any(_DECIMAL.fullmatch(value) for value in counts):
        return False
    return (
        len(counts) >= FEWEST_GROUPS
        and alone <= MOST_ALONE * rows
        and max(counts.values()) <= LARGEST_GROUP * rows
    )


def _ids(train: Table, columns: _Columns) -> list[str]:
    """The id of each training row; its number where the table has none."""
    own = columns.of_train[columns.id]
    if not own:
        return [str(place) for place in range(len(train.rows))]
    return [str(row[own]) for row in train.rows]


def _public_ids(competition: _Competition, columns: _Columns) -> list[str]:
    """The ids of the public test set, in its order."""
    if columns.test_has_id:
        return list(dict.fromkeys(str(row[columns.id]) for row in competition.test.rows))
    rows = competition.sample.rows if competition.sample else []
    return [str(row[columns.submitted]) for row in rows]


def _choose(
    competition: _Competition, columns: _Columns, ids: Sequence[str], count: int | None
) -> list[int]:
    """The places of the training rows that become hidden: whole groups, shuffled.

    The rows of a group, and so those of an id that has several, keep their order.
    """
    rng = random.Random(SEED)
    train = competition.train
    together: dict[str, list[int]] = {}
    for place, row in enumerate(train.rows):
        key = str(row[columns.group]) if columns.group else ids[place]
        together.setdefault(key, []).append(place)
    training = len(set(ids))
    wanted = wanted_rows(count, len(_public_ids(competition, columns)), training)
    order = list(together)
    rng.shuffle(order)
    chosen: list[int] = []
    hidden: set[str] = set()
    for key in order:
        if len(hidden) >= wanted:
            break
        chosen += together[key]
        hidden |= {ids[place] for place in together[key]}
    if not chosen or len(hidden) >= training:
        raise too_few(train.name, training, wanted)
    return chosen


def _rename(
    chosen: Sequence[int],
    ids: Sequence[str],
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
    rows = [competition.train.rows[place] for place in chosen]
    shown = [name for name in columns.of_train.values() if name]
    # A column that an id is a part of does not show that the id is made of others.
    apart = [
        name
        for name in shown
        if name == own or not all(str(row[own]) in str(row[name]) for row in rows)
    ]
    parts = [{name: row[name] for name in apart} for row in rows]
    return new_ids.renamed(parts, own, {*ids, *public_ids})


def _tested(row: Row, old: str, columns: _Columns, test: Table, renamed: Mapping[str, str]) -> Row:
    """A training row as one of the test table."""
    new = renamed[old]
    tested: Row = {}
    for column in test.columns:
        own = columns.of_train[column]
        if column == columns.id and own and new == old:
            tested[column] = row[own]
        elif column == columns.id:
            tested[column] = _typed(new, row[own] if own else test.rows[0][column])
        elif not own:
            tested[column] = None if test.schema is not None else ""
        else:
            tested[column] = _with_new_id(row[own], old, new)
    if not columns.test_has_id:
        tested[columns.id] = new
    return tested


def _typed(new: str, like: Any) -> Any:
    """A new id in the type of an old one."""
    return int(new) if isinstance(like, int) else new


def _with_new_id(value: Any, old: str, new: str) -> Any:
    """A cell that begins with the row's id, as `ID_0001` does, with the new one; else as it is."""
    if not isinstance(value, str) or len(old) >= len(value) or not value.startswith(old):
        return value
    rest = value[len(old) :]
    is_part = not rest[0].isalnum() and not old.isdecimal()
    return new + rest if is_part else value


def _known_answers(
    train: Table, ids: Sequence[str], columns: _Columns
) -> dict[str, dict[str, Any]]:
    """{id: {column: what is to be predicted}} of the training rows; an id may have several.

    Raises `ParameterError` if these do not have the same answers.
    """
    answers: dict[str, dict[str, Any]] = {}
    for one, row in zip(ids, train.rows, strict=True):
        answer = {target: row[target] for target in columns.targets}
        if answers.setdefault(one, answer) != answer:
            own = columns.of_train[columns.id]
            raise ask(
                f"{train.name} names several rows by one {own!r}, with different answers",
                'id = "COLUMN"',
            )
    return answers


def _write_sample(
    folder: Path, competition: _Competition, columns: _Columns, tested: Sequence[Row]
) -> None:
    """The sample submission with a row for each hidden id, as its first row is.

    Its order is the test table's, unless the public ones differ in theirs.
    """
    sample = competition.sample
    if sample is None:
        return
    usual = sample.rows[0] if sample.rows else dict.fromkeys(sample.columns, "0")
    like = usual[columns.submitted]
    ids = list(dict.fromkeys(row[columns.id] for row in tested))
    asked = [str(row[columns.submitted]) for row in sample.rows]
    if asked != _public_ids(competition, columns):
        random.Random(SEED).shuffle(ids)
    rows = [{**usual, columns.submitted: _typed(one, like)} for one in ids]
    tables.write(folder, sample, rows)


def _write_pair(
    folder: Path,
    pair: tuple[Table, Table],
    columns: _Columns,
    tested: Sequence[Row],
    left: Sequence[Row],
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
    hidden = []
    for row in train.rows:
        value = str(row[key])
        new = renamed.get(value, "") if key == columns.id else value
        if new in needed:
            if new != value:
                row = {**row, key: _typed(new, row[key])}
            hidden.append(row)
    tables.write(folder, train, [row for row in train.rows if str(row[key]) in kept])
    tables.write(folder, test, hidden)
