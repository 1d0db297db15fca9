"""Hidden data from tables: rows of the training table become the test table.

Rows with one id stay together, and so do those of one group or one time where the settings name
one. They are hidden in a random order of ids or groups, or from the last time on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden.data import competition_tables, hidden_files, new_ids, table_engine
from kernelkit.hidden.data.competition_tables import Columns, CompetitionTables
from kernelkit.hidden.data.hidden_content import MAKE_IT_YOURSELF, SEED, HiddenContent, Unknown, ask
from kernelkit.hidden.data.new_ids import NewIds
from kernelkit.hidden.data.row_count import too_few, usual_rows
from kernelkit.hidden.data.table_engine import TEXT, WHOLE, Table, TableEngine, literal
from kernelkit.project import HiddenSettings

DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")  # forms of a time besides a number and ISO 8601


@dataclass(frozen=True)
class _Hidden:
    """The rows that become hidden, in DuckDB.

    `division` has a row for each training row, in its order: `taken` if the hidden training table
    lacks it, and of a hidden one its `id`, `new` id and `number`. `tested` has the hidden training
    rows with these, in the order of the hidden test table, and `renamed` each id once.
    """

    columns: Columns
    ids: NewIds
    rows: int


def make(
    public: Path,
    folder: Path,
    answers: Path,
    settings: HiddenSettings,
    count: int | None,
    unknown: Sequence[Unknown] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> HiddenContent | None:
    """Write the hidden folder of a competition with tables, and its answers.

    None if it has no test table. Raises one `ParameterError` for everything that is not certain;
    `unknown` is what is not known already.
    """
    found = competition_tables.find(public)
    if found is None:
        return None
    with table_engine.opened("--make", folder.parent, tell) as engine:
        competition = competition_tables.load(engine, found)
        missing = list(unknown)
        columns = competition_tables.find_columns(engine, settings, competition, missing)
        if columns is None or missing:
            raise ask(missing, settings)
        public_ids = _public_ids(engine, competition, columns)
        hidden = _divide(engine, competition, columns, settings, count, public_ids)
        _write(engine, public, folder, competition, hidden)
        _write_answers(engine, answers, competition.train, columns)
        notes = competition.notes
        moved = _move_files(engine, public, folder)
        if moved:
            notes.append(f"{moved:,} files that are named by an id came along")
        names = [columns.submitted, *columns.targets]
        return HiddenContent(names, hidden.rows, notes)


def _public_ids(engine: TableEngine, competition: CompetitionTables, columns: Columns) -> int:
    """Make a table `public` of each `id` of the public test set; their number."""
    table = competition.test
    column = columns.id
    if not columns.test_has_id and competition.sample:
        table = competition.sample
        column = columns.submitted
    own = f"{table.column(column)}::{TEXT}"
    engine.run(
        f"CREATE TABLE public AS SELECT {own} AS id, min(rowid) AS place FROM {table.name} "
        f"WHERE {own} IS NOT NULL GROUP BY ALL"
    )
    return int(engine.value("SELECT count(*) FROM public"))


def _divide(
    engine: TableEngine,
    competition: CompetitionTables,
    columns: Columns,
    settings: HiddenSettings,
    count: int | None,
    public: int,
) -> _Hidden:
    """Choose the hidden rows: make the tables that `_Hidden` tells of."""
    train = competition.train
    notes = competition.notes
    own = columns.id_in_train
    row_id = competition_tables.row_id(train, own)
    unit = _unit(engine, train, columns, row_id)
    lacks = competition_tables.lacks_answer(train, columns.targets)
    engine.run(
        f"CREATE TABLE ids AS SELECT {row_id} AS id, min({unit}) AS unit, max({unit}) AS other, "
        f"bool_or(NOT ({lacks})) AS answered, min(rowid) AS place FROM train GROUP BY ALL"
    )
    if columns.group:
        _check_groups(engine, train, columns, settings)
    training = engine.value("SELECT count(*) FROM ids WHERE answered")
    count = count or usual_rows(public, training)
    rank = "-unit" if columns.time else f"md5_number_lower('{SEED} ' || unit)"
    # A time without an answer is left out, too, where later ones are hidden.
    takes = "true" if columns.time else "answered > 0"
    engine.run(
        f"CREATE TABLE units AS SELECT unit, rank FROM (SELECT *, sum(answered) OVER "
        "(ORDER BY rank, unit ROWS UNBOUNDED PRECEDING) - answered AS before FROM "
        f"(SELECT unit, {rank} AS rank, count(*) FILTER (answered) AS answered FROM ids GROUP BY "
        f"unit)) WHERE before < {count} AND {takes}"
    )
    ids = _new_ids(engine, competition, columns, row_id)
    in_order = columns.time or ids.are_kept
    order = "place" if in_order else "rank, place"
    engine.run(
        "CREATE TABLE renamed AS SELECT *, "
        f"{ids.expression} AS new FROM (SELECT id, row_number() OVER (ORDER BY {order}) AS number "
        "FROM ids JOIN units USING (unit) WHERE answered)"
    )
    engine.run(
        "CREATE TABLE division AS SELECT rows.place, gone.id IS NOT NULL AS taken, gone.id, new, "
        f"number FROM (SELECT rowid AS place, {row_id} AS id FROM train) AS rows "
        "LEFT JOIN (SELECT ids.id, new, number FROM ids JOIN units USING (unit) "
        "LEFT JOIN renamed USING (id)) AS gone USING (id) ORDER BY rows.place"
    )
    rows = engine.value("SELECT count(*) FROM renamed")
    left = engine.value("SELECT count(*) FROM division WHERE NOT taken")
    if not rows or not left:
        raise too_few(train.file, training, count)
    engine.run(
        "CREATE TABLE tested AS SELECT train.*, id, new, number FROM train POSITIONAL JOIN "
        "division WHERE new IS NOT NULL ORDER BY number, place"
    )
    lacking = engine.value(f"SELECT count(*) FROM train WHERE {lacks}")
    notes.append(_how(columns))
    if ids.note:
        notes.append(ids.note)
    if lacking:
        notes.append(f"{lacking:,} rows of {train.file} lack an answer: none of them is hidden")
    return _Hidden(columns, ids, rows)


def _how(columns: Columns) -> str:
    """How the hidden rows were chosen, in words."""
    if columns.time:
        return f"the hidden rows are the last ones by {columns.time!r}"
    if columns.group and columns.group != columns.id_in_train:
        return f"rows of one {columns.group!r} stay together"
    return (
        "the hidden rows are drawn at random: for whole groups, or for the last ones in time, set "
        "group or time in hidden = {…}"
    )


def _unit(engine: TableEngine, train: Table, columns: Columns, row_id: str) -> str:
    """What rows have in common that are hidden together: a time as a number, or a text."""
    if columns.time:
        return _time(engine, train, columns.time)
    if columns.group:
        return f"coalesce({train.column(columns.group)}::{TEXT}, '')"
    return row_id


def _time(engine: TableEngine, train: Table, name: str) -> str:
    """A number for each time of a column. Raises `ParameterError` if some are none."""
    text = f"{train.column(name)}::{TEXT}"
    forms = [f"try_cast({text} AS DOUBLE)", f"epoch(try_cast({text} AS TIMESTAMP))"]
    forms += [f"epoch(try_strptime({text}, {literal(form)}))" for form in DAYS]
    for form in forms:
        if engine.value(f"SELECT bool_and({form} IS NOT NULL) FROM train"):
            return form
    no_time = " AND ".join(f"{form} IS NULL" for form in forms)
    one = engine.run(f"SELECT {text} FROM train WHERE {no_time} LIMIT 1")
    such = f", such as {one[0][0]!r}" if one and one[0][0] else ""
    raise ParameterError(
        f"{name!r} of {train.file} has values that are no times of one form{such}: numbers, "
        f"2026-12-31, 31.12.2026, 31/12/2026 and 12/31/2026 are. Else {MAKE_IT_YOURSELF}"
    )


def _check_groups(
    engine: TableEngine, train: Table, columns: Columns, settings: HiddenSettings
) -> None:
    """Raise `ParameterError` for an id whose rows are of several groups."""
    own = columns.id_in_train
    several = engine.run("SELECT id FROM ids WHERE unit <> other LIMIT 1")
    if several:
        what = f"the {own!r} {several[0][0]!r} of {train.file} is of several {columns.group!r}"
        raise ask([Unknown(what, {"group": own})], settings)


def _new_ids(
    engine: TableEngine, competition: CompetitionTables, columns: Columns, row_id: str
) -> NewIds:
    """How the chosen rows are named in the hidden set."""
    own = columns.id_in_train
    public = "SELECT coalesce({}(try_cast(id AS BIGINT)), {}) FROM public"
    if not columns.test_has_id:  # a submission counts the rows of the test table
        return new_ids.counted(engine.value(public.format("min", 0)))
    if not own:
        if not competition_tables.are_whole_numbers(engine, competition.test, columns.id):
            raise ParameterError(
                f"{competition.train.file} has no column {columns.id!r}, and the ids of "
                f"{competition.test.file} are no numbers, of which the next could be taken: name "
                f'the column with hidden = {{columns = {{{columns.id} = "COLUMN"}}}} below '
                f"[tool.kernelkit] in pyproject.toml, or {MAKE_IT_YOURSELF}"
            )
        return new_ids.counted(engine.value(public.format("max", -1)) + 1)
    named = columns.time or columns.group
    if columns.time or (named and named != own):
        value = f"{competition.train.column(named)}::{TEXT}"
        if engine.value(f"SELECT bool_and(contains({row_id}, {value})) FROM train"):
            return NewIds("id", f"the hidden rows keep their ids, which name their {named!r}", True)
    engine.run("CREATE TABLE known AS SELECT id FROM ids UNION ALL SELECT id FROM public")
    return new_ids.renamed(engine, "known", own, competition.train.type_of(own))


def _write(
    engine: TableEngine,
    public: Path,
    folder: Path,
    competition: CompetitionTables,
    hidden: _Hidden,
) -> None:
    """Write the divided tables, and link the competition's other files beside them."""
    train = competition.train
    columns = hidden.columns
    others = _others_with_ids(engine, competition, columns)
    written = {train.file, competition.test.file, *(table.file for table in others)}
    if competition.sample:
        written.add(competition.sample.file)
    for pair in competition.pairs:
        written |= {table.file for table in pair}
    hidden_files.link_others(public, folder, written)
    queries = [
        (train, "SELECT train.* FROM train POSITIONAL JOIN division WHERE NOT taken"),
        (competition.test, _test_rows(engine, competition, hidden)),
    ]
    if competition.sample:
        rows = _sample_rows(engine, competition.sample, columns.submitted)
        queries.append((competition.sample, rows))
    for pair in competition.pairs:
        queries += _pair_rows(engine, pair, competition, hidden)
    for other in others:
        queries.append((other, _without_taken(other, columns.id_in_train)))
    for table, query in queries:
        engine.write(folder, table, query)


def _test_rows(engine: TableEngine, competition: CompetitionTables, hidden: _Hidden) -> str:
    """The hidden training rows, as rows of the test table."""
    columns = hidden.columns
    test = competition.test
    values = []
    for column in test.columns:
        own = columns.of_train[column]
        value = "NULL"
        if column == columns.id:
            value = "new"
        elif own in columns.targets or column in columns.targets:
            value = f"(SELECT {test.column(column)} FROM test LIMIT 1)"  # which says nothing
        elif own:
            value = _with_new_id(engine, competition, hidden, column, own)
        values.append(f"({value})::{test.type_of(column)}")
    return f"SELECT {', '.join(values)} FROM tested ORDER BY rowid"


def _with_new_id(
    engine: TableEngine, competition: CompetitionTables, hidden: _Hidden, column: str, own: str
) -> str:
    """A column of the hidden rows, with the new id where each row has its old one.

    That is the id itself, what begins with it, as `ID_0001` does, or the path of such a file, which
    is then in the folder of the first public one: `train/CLASS/ID.png` would give the answer away.
    """
    value = competition.train.column(own)
    is_named = hidden.columns.id_in_train and not hidden.ids.are_kept
    if not is_named or competition.train.type_of(own) != TEXT:
        return value
    name = f"parse_filename({value})"
    if not engine.value(f"SELECT bool_and(id <> '' AND starts_with({name}, id)) FROM tested"):
        return value
    usual = engine.run(f"SELECT {competition.test.column(column)} FROM test LIMIT 1")
    folder = "".join(str(usual[0][0]).rpartition("/")[:2]) if usual else ""
    return f"{literal(folder)} || new || substr({name}, length(id) + 1)"


def _sample_rows(engine: TableEngine, sample: Table, submitted: str) -> str:
    """The sample submission with a row for each hidden id, as its first row is.

    Its order is the test table's, unless the public ones differ in theirs.
    """
    values = []
    for column in sample.columns:
        usual = f"(SELECT {sample.column(column)} FROM sample LIMIT 1)"
        value = "new" if column == submitted else usual
        if not sample.rows and column != submitted:
            value = "0" if WHOLE.fullmatch(sample.type_of(column)) else "'0'"
        values.append(f"({value})::{sample.type_of(column)}")
    asked = f"sample.{sample.column(submitted)}::{TEXT}"
    other = engine.value(
        "SELECT count(*) FROM sample FULL JOIN (SELECT id, row_number() OVER (ORDER BY place) - 1 "
        f"AS place FROM public) AS there ON sample.rowid = there.place WHERE {asked} IS DISTINCT "
        "FROM there.id"
    )
    order = f"md5_number_lower('{SEED} ' || new)" if other else "number"
    return f"SELECT {', '.join(values)} FROM renamed ORDER BY {order}"


def _pair_rows(
    engine: TableEngine, pair: tuple[Table, Table], competition: CompetitionTables, hidden: _Hidden
) -> list[tuple[Table, str]]:
    """A training and a test table beside the others, each with the rows that its own ones need."""
    train, test = pair
    columns = hidden.columns
    key = _key(train, test, columns)
    own = competition.train.column(columns.of_train[key])
    value = f"{train.name}.{train.column(key)}::{TEXT}"
    left = f"SELECT {own}::{TEXT} FROM train POSITIONAL JOIN division WHERE NOT taken"
    needed = f"SELECT DISTINCT {own}::{TEXT} AS key, "
    needed += "new" if key == columns.id else f"{own}::{TEXT} AS new"
    absent = [name for name in test.columns if name not in train.columns]
    values = []
    for name in test.columns:
        cell = "NULL"
        if name == key:
            cell = "needed.new"
        elif name in columns.targets:
            cell = f"(SELECT {test.column(name)} FROM {test.name} LIMIT 1)"
        elif name not in absent:
            cell = f"{train.name}.{train.column(name)}"
        values.append(f"({cell})::{test.type_of(name)}")
    if absent:
        competition.notes.append(f"{test.file} has no values in {', '.join(absent)}")
    kept = f"SELECT {train.name}.* FROM {train.name} WHERE {value} IN ({left}) ORDER BY rowid"
    hidden_rows = (
        f"SELECT {', '.join(values)} FROM {train.name} JOIN ({needed} FROM tested) AS needed ON "
        f"{value} = needed.key ORDER BY {train.name}.rowid"
    )
    return [(train, kept), (test, hidden_rows)]


def _key(train: Table, test: Table, columns: Columns) -> str:
    """The column by which the rows of a pair of tables belong to those of the test table.

    Raises `ParameterError` if that is not certain.
    """
    shared = [
        name
        for name in test.columns
        if name in columns.of_train and columns.of_train[name] and name in train.columns
    ]
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
    engine: TableEngine, competition: CompetitionTables, columns: Columns
) -> list[Table]:
    """The tables besides these that have the column of ids, and so may have answers."""
    own = columns.id_in_train
    found: list[Table] = []
    if not own:
        return found
    for path in competition.others:
        try:
            names = engine.names_of(path)
        except ParameterError as error:
            competition.notes.append(f"{path.name} stays as it is: {error}")
            continue
        if own in names:
            found.append(engine.load(f"other_{len(found)}", path))
            competition.notes.append(f"{path.name} lacks the hidden rows, too")
        elif competition_tables.is_test(path):
            competition.notes.append(f"{path.name} stays as it is: it has no column {own!r}")
    return found


def _without_taken(table: Table, own: str) -> str:
    """The rows of a table whose id is still one of the training table, or never was."""
    taken = "SELECT id FROM division WHERE taken"
    value = f"coalesce({table.column(own)}::{TEXT}, '')"
    return f"SELECT * FROM {table.name} WHERE {value} NOT IN ({taken}) ORDER BY rowid"


def _write_answers(engine: TableEngine, path: Path, train: Table, columns: Columns) -> None:
    """Write the id and what is to be predicted, a row for each hidden id."""
    lacks = competition_tables.lacks_answer(train, columns.targets)
    values = [f"first({train.column(target)} ORDER BY rowid)" for target in columns.targets]
    query = (
        f"SELECT new, {', '.join(values)} FROM tested WHERE NOT ({lacks}) GROUP BY new, number "
        "ORDER BY number"
    )
    table_engine.write_csv(engine, path, [columns.submitted, *columns.targets], query)


def _move_files(engine: TableEngine, public: Path, folder: Path) -> int:
    """Move the files that are named by an id, and remove the public ones; how many moved."""
    if not hidden_files.has_folders(public):
        return 0
    hidden_files.remove_named(folder, {row[0] for row in engine.run("SELECT id FROM public")})
    renamed: dict[str, str] = dict(engine.run("SELECT id, new FROM renamed"))
    return hidden_files.move_named(public, folder, renamed)
