"""The public and the hidden test set of a competition, side by side, as a catalogue holds them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.hidden import tables
from kernelkit.hidden.hidden_data import MANIFEST
from kernelkit.hidden.tables import Table

NAME = re.compile(r"(?=.*\d)[A-Za-z][\w-]{3,40}")  # of something, such as a person


@dataclass(frozen=True)
class PublicAndHidden:
    """The ids of the public and of the hidden test set, in their order, and both folders.

    `hidden_names` are other texts of the hidden test table that the public one lacks, such as the
    names of persons.
    """

    public_ids: Sequence[str]
    hidden_ids: Sequence[str]
    public: Path
    hidden: Path
    hidden_names: Collection[str] = ()

    @property
    def public_rows(self) -> int:
        """The number of ids in the public test set; 0 if it is not known."""
        return len(self.public_ids) or _rows_of(self.public)

    @property
    def hidden_rows(self) -> int:
        """The number of ids in the hidden test set; 0 if it is not known."""
        return len(self.hidden_ids) or _rows_of(self.hidden)


def read_both(catalogue: Path, slug: str) -> PublicAndHidden:
    """Both test sets of a competition, whose folders are in their places in a catalogue.

    The ids are those of the sample submission. Without it the answers tell the hidden ones, and
    which column of the public test table has the others. Tables that cannot be read tell nothing.
    """
    public = catalogue / "competitions" / slug
    hidden = catalogue / "hidden" / slug
    sample = _read(tables.find_sample(public))
    hidden_sample = _read(tables.find_sample(hidden))
    public_ids = tables.ids(sample) if sample else []
    hidden_ids = tables.ids(hidden_sample) if hidden_sample else []
    test = _read(tables.find(public, (tables.TEST,)))
    hidden_test = _read(tables.find(hidden, (tables.TEST,)))
    answers = _read(tables.find(catalogue / "solutions", (f"{slug}.hidden",)))
    if answers and not (public_ids and hidden_ids):
        hidden_ids = hidden_ids or tables.ids(answers)
        public_ids = public_ids or _distinct(test, next(iter(answers.columns), ""))
    return PublicAndHidden(
        public_ids,
        hidden_ids,
        public,
        hidden,
        _names(hidden_test) - _names(test),
    )


def _names(test: Table | None) -> set[str]:
    """The texts with letters and a digit, such as P0012, in a test table."""
    rows = test.rows if test else []
    texts = {value for row in rows for value in row.values() if isinstance(value, str)}
    return {text for text in texts if NAME.fullmatch(text)}


def _distinct(table: Table | None, name: str) -> list[str]:
    """The values of a column, each once, in their order; none if there is no such column."""
    rows = table.rows if table else []
    return list(dict.fromkeys(str(row[name]) for row in rows if name in row))


def _read(path: Path | None) -> Table | None:
    """The table in a file; None if there is none that can be read."""
    try:
        return tables.read(path) if path else None
    except ParameterError:
        return None


def _rows_of(folder: Path) -> int:
    """The number of rows of a test set whose ids are not known; 0 if that is not known either.

    The sample submission has one for each id. Without it the manifest of made data says it, else
    the rows of the test table are counted.
    """
    made = files.read_object(folder / MANIFEST).get("rows")
    if isinstance(made, int) and tables.find_sample(folder) is None:
        return made
    return tables.rows_of_test(folder)
