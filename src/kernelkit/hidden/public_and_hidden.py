"""The public and the hidden test set of a competition, side by side, as a catalogue holds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelkit import files
from kernelkit.errors import ParameterError
from kernelkit.hidden.data.hidden_data import MANIFEST
from kernelkit.hidden.tables import table_files


@dataclass(frozen=True)
class PublicAndHidden:
    """The ids of the public and of the hidden test set, in their order, and both folders."""

    public_ids: Sequence[str]
    hidden_ids: Sequence[str]
    public: Path
    hidden: Path

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

    The ids are those of the sample submission. Without it, the hidden ids are those of the answers,
    and the public ones stand in the column of the public test table that the answers have, too.
    Tables that cannot be read tell nothing.
    """
    public = catalogue / "competitions" / slug
    hidden = catalogue / "hidden" / slug
    public_ids = _ids(table_files.find_sample(public))
    hidden_ids = _ids(table_files.find_sample(hidden))
    answers = table_files.find(catalogue / "solutions", (f"{slug}.hidden",))
    if answers and not (public_ids and hidden_ids):
        hidden_ids = hidden_ids or _ids(answers)
        public_ids = public_ids or _ids_named_as(answers, public)
    return PublicAndHidden(public_ids, hidden_ids, public, hidden)


def _ids(path: Path | None) -> list[str]:
    """The ids in a file's first column; none if it cannot be read."""
    try:
        return table_files.ids(path)
    except ParameterError:
        return []


def _ids_named_as(answers: Path, public: Path) -> list[str]:
    """The ids in the public test table, each once; none if it has no column of the answers' id."""
    test = table_files.find(public, (table_files.TEST,))
    try:
        names, _ = table_files.read(answers)
        columns, rows = table_files.read(test) if test else ([], iter(()))
        if not names or names[0] not in columns:
            return []
        place = columns.index(names[0])
        return list(dict.fromkeys(str(row[place]) for row in rows))
    except ParameterError:
        return []


def _rows_of(folder: Path) -> int:
    """The number of rows of a test set whose ids are not known; 0 if that is not known either.

    The sample submission has one for each id. Without it the manifest of made data says it, else
    the rows of the test table are counted.
    """
    made = files.read_object(folder / MANIFEST).get("rows")
    if isinstance(made, int) and table_files.find_sample(folder) is None:
        return made
    return table_files.rows_of_test(folder)
