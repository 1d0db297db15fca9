"""What of a notebook broke on a hidden test set: ids, row counts, files, lost rows.

Kaggle shows a message of three words for each of these. Two things tell more: the failure of the
run on hidden data, and the submission that it left.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelkit.errors import ParameterError
from kernelkit.hidden import table_files
from kernelkit.hidden.public_and_hidden import PublicAndHidden
from kernelkit.runs.log import RunFailure

SHOWN = 60  # characters of a line
LONGEST = 300  # characters of an error
INSTALLED = "site-packages"  # in the paths of packages, whose lines are not the notebook's
_ARROW = re.compile(r"(?m)^-+>\s*(\d+)\s?(.*)$")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)(?:\n {4,}([^\n]*))?')
_MISSING = re.compile(r"No such file or directory: *'([^']+)'|cannot find.*'([^']+)'")


def in_failure(failure: RunFailure | None, sets: PublicAndHidden) -> list[str]:
    """Where the run on hidden data failed, its error, and the line there; nothing if it did not.

    Of a file that is not there it is said whether it is among the public files only.
    """
    if failure is None:
        return []
    lines = [line.strip() for line in failure.traceback.splitlines() if line.strip()]
    error = lines[-1][:LONGEST] if lines else "an error without a message"
    place, shown = _place(failure)
    missing = _MISSING.search(error)
    only = _only_public(missing[1] or missing[2], sets) if missing else ""
    return [f"{place}: {error}{only}{shown}"]


def _place(failure: RunFailure) -> tuple[str, str]:
    """Where a run failed, in words, and the line there after a colon; "" if that is not known."""
    cell = failure.cell.removesuffix(" failed:")
    arrows = _ARROW.findall(failure.traceback)
    if arrows:
        number, line = arrows[0]
        where = cell or "the script"
        return f"{where}, line {number}", f": {line.strip()[:SHOWN]}"
    frames = [frame for frame in _FRAME.findall(failure.traceback) if INSTALLED not in frame[0]]
    if not frames:
        return cell or "the run", ""
    _, number, function, line = frames[-1]
    within = "" if function == "<module>" else f" of {function}()"
    shown = line.strip()[:SHOWN]
    return f"line {number}{within}", f": {shown}" if shown else ""


def _only_public(path: str, sets: PublicAndHidden) -> str:
    """That a file which was asked for is among the public files only; "" if it is not."""
    parts = Path(path).parts[1:]
    for begin in range(len(parts)):
        inner = Path(*parts[begin:])
        if (sets.public / inner).exists() and not (sets.hidden / inner).exists():
            return f", which is {inner} of the public files, and the hidden ones lack it"
    return ""


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
