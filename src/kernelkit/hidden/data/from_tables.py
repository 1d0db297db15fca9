"""Hidden data from tables: rows of the training table become the test table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kernelkit.hidden.competition import competition_tables
from kernelkit.hidden.competition.columns import find_columns
from kernelkit.hidden.competition.unknown import Unknown
from kernelkit.hidden.data import hidden_files
from kernelkit.hidden.data.hidden_content import HiddenContent
from kernelkit.hidden.data.hidden_tables import answer_rows, hidden_tables
from kernelkit.hidden.division.divide import divide
from kernelkit.hidden.tables import table_engine
from kernelkit.hidden.tables.table_engine import TableEngine
from kernelkit.project import HiddenSettings


def make_from_tables(
    public: Path,
    folder: Path,
    answers: Path,
    settings: HiddenSettings,
    count: int | None,
    unknown: Sequence[Unknown],
    tell: Callable[[str], None],
) -> HiddenContent:
    """Write the hidden folder of a competition with tables, and its answers.

    `unknown` is what was found to be unknown before; `tell` gets which large tables are read or
    written. Raises one `ParameterError` for everything that is not certain.
    """
    paths = competition_tables.find(public)
    notes = list(paths.notes)
    with table_engine.opened("--make", folder.parent, tell) as engine:
        tables = competition_tables.load(engine, paths)
        columns = find_columns(engine, settings, tables, unknown)
        rows = divide(engine, tables, columns, settings, count, notes)
        queries = hidden_tables(engine, tables, columns, notes)
        hidden_files.link_others(public, folder, {table.file for table, _ in queries})
        for table, query in queries:
            engine.write(folder, table, query)
        names = [columns.submitted, *columns.targets]
        table_engine.write_csv(engine, answers, names, answer_rows(tables.train, columns))
        moved = _move_files(engine, public, folder)
    if moved:
        notes.append(f"{moved:,} files that are named by an id came along")
    return HiddenContent(names, rows, notes)


def _move_files(engine: TableEngine, public: Path, folder: Path) -> int:
    """Move the files that are named by an id, and remove the public ones; how many moved."""
    if not hidden_files.has_folders(public):
        return 0
    public_ids = {row[0] for row in engine.run("SELECT id FROM public_ids")}
    hidden_files.remove_named(folder, public_ids)
    renamed = dict(engine.run("SELECT id, new_id FROM removed_ids WHERE new_id IS NOT NULL"))
    return hidden_files.move_named(public, folder, renamed)
