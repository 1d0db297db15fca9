"""What of a notebook broke on a hidden test set: its files, the rows of its submission.

Kaggle shows a message of three words for each of these. The failure of the run on hidden data is
shown as that of any run; here is what only the comparison of both test sets tells.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.hidden.tables import table_files
from kernelkit.session_records.failure import RunFailure

_MISSING = re.compile(r"No such file or directory: *'([^']+)'|cannot find.*'([^']+)'")


def in_failure(failure: RunFailure | None, sets: PublicAndHidden) -> list[str]:
    """That a file which the run on hidden data asked for in vain is among the public files only."""
    missing = _MISSING.search(failure.traceback) if failure else None
    if missing is None:
        return []
    path = Path(missing[1] or missing[2])
    for begin in range(1, len(path.parts)):
        inner = Path(*path.parts[begin:])
        if (sets.public / inner).exists() and not (sets.hidden / inner).exists():
            return [f"{inner} is among the public files, and the hidden ones lack it"]
    return []


def in_submission(file: Path, sets: PublicAndHidden) -> list[str]:
    """What is wrong with the rows of a submission."""
    if not table_files.is_table(file) or not sets.hidden_ids:
        return []
    ids = []
    empty = []
    try:
        _, rows = table_files.read(file)
        for row in rows:
            ids.append("" if row[0] is None else str(row[0]))
            if any(map(_is_nothing, row[1:])):
                empty.append(ids[-1])
    except ParameterError:
        return []
    found = list(_of_ids(ids, sets))
    if empty:
        found.append(f"{len(empty):,} predictions are empty, such as that of {empty[0]!r}")
    return [f"{file.name}: {each}" for each in found]


def _of_ids(ids: Sequence[str], sets: PublicAndHidden) -> Iterator[str]:
    """How the ids of a submission differ from those of the hidden test set."""
    there = set(ids)
    lacking = set(sets.hidden_ids) - there
    foreign = there - set(sets.hidden_ids)
    if len(ids) > len(there):
        twice, _ = Counter(ids).most_common(1)[0]
        yield f"{len(ids) - len(there):,} rows more than ids, such as those of {twice!r}"
    if foreign and foreign <= set(sets.public_ids):
        yield f"{len(foreign):,} of its ids are those of the public test set"
    elif foreign:
        one = min(foreign)
        yield f"{len(foreign):,} of its ids are not in the hidden test set, such as {one!r}"
    if lacking:
        yield f"it lacks {len(lacking):,} of {len(sets.hidden_ids):,} ids, such as {min(lacking)!r}"


def _is_nothing(value: object) -> bool:
    """Whether a cell has no value."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
