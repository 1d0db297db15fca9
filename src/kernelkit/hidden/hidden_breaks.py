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

FEWEST_ROWS = 2  # of a public test set, for its number of rows to be looked for in an error
# In modules, which are larger and about more than this test set, small numbers mean anything.
SHOWN = 60  # characters of a line
INSTALLED = "site-packages"  # in the paths of packages, whose lines are not the notebook's
_ARROW = re.compile(r"(?m)^-+>\s*(\d+)\s?(.*)$")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)(?:\n {4,}([^\n]*))?')
_MISSING = re.compile(r"No such file or directory: *'([^']+)'|cannot find.*'([^']+)'")


def in_failure(failure: RunFailure | None, sets: PublicAndHidden) -> list[str]:
    """What a failure of the run on hidden data comes of, where its kind is a known one."""
    if failure is None:
        return []
    text = failure.traceback
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    place, shown = _place(failure)
    missing = _MISSING.search(last)
    if missing:
        path = missing[1] or missing[2]
        return [f"{place}: {_about_file(path, sets)}{shown}"]
    name, _, message = last.partition(":")
    rows = len(sets.public_ids)
    counted = rows >= FEWEST_ROWS and re.search(rf"(?<![\d.]){rows}(?![\d.])", message)
    if name.endswith("AssertionError") and re.search(r"\blen\(|\.shape|\.size", shown):
        return [f"{place}: a row count is asserted{shown}"]
    if name.endswith("Error") and counted:
        what = f"something has {rows:,} rows, as many as the public test set"
        return [f"{place}: {what} ({message.strip()[:200]}){shown}"]
    quoted = set(re.findall(r"['\"\[\s(]([^'\"\[\]\s(),]+)(?=['\"\],\s)]|$)", f" {message} "))
    named = quoted & (set(sets.public_ids) - set(sets.hidden_ids))
    if name.endswith(("KeyError", "IndexError", "ValueError")) and named:
        what = f"the id {min(named)!r} of the public test set is asked for"
        return [f"{place}: {what}, which the hidden set lacks{shown}"]
    key = message.strip().strip("'\"")
    if name.endswith("KeyError") and key in {*sets.hidden_ids, *sets.hidden_names}:
        return [f"{place}: {key!r} of the hidden set is looked up where only others are{shown}"]
    return []


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


def _about_file(path: str, sets: PublicAndHidden) -> str:
    """What is known of a file that a run found missing."""
    parts = Path(path).parts
    for begin in range(len(parts)):
        inner = Path(*parts[begin:])
        if inner.is_absolute():
            continue
        if (sets.public / inner).exists() and not (sets.hidden / inner).exists():
            return f"{inner} is missing, which is among the public files only"
    return f"the file {path} is missing, in the second run at least"


def in_submission(file: Path, sets: PublicAndHidden) -> list[str]:
    """What is wrong with the rows of a submission, and what usually does that."""
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
        found.append(
            f"{len(empty):,} predictions are empty, such as that of {empty[0]!r}: a merge found no "
            "match for them"
        )
    return [f"{file.name}: {each}" for each in found]


def _of_ids(ids: Sequence[str], sets: PublicAndHidden) -> Iterator[str]:
    expected = set(sets.hidden_ids)
    public = set(sets.public_ids)
    there = set(ids)
    if len(ids) > len(there):
        twice, _ = Counter(ids).most_common(1)[0]
        yield (
            f"{len(ids) - len(there):,} rows more than ids, such as those of {twice!r}: a merge "
            "multiplied them"
        )
    lacking = expected - there
    foreign = there - expected
    if not lacking and not foreign:
        return
    if there <= public and there:
        yield (
            f"its {len(ids):,} ids are those of the public test set: they are hard-coded, or read "
            "from elsewhere than the competition's folder"
        )
    elif {_decimal(one) for one in there} == expected:
        yield "its ids are decimals, such as 7.0: a merge turned their column into floats"
    elif lacking and not foreign and len(ids) == len(public):
        yield (
            f"it has {len(ids):,} rows, as many as the public test set, and should have "
            f"{len(expected):,}: their number is fixed somewhere"
        )
    elif lacking and not foreign:
        yield (
            f"it lacks {len(lacking):,} of {len(expected):,} ids, such as {min(lacking)!r}: a "
            "merge, a filter or a last batch lost them"
        )
    else:
        yield (
            f"{len(foreign):,} of its ids are not in the hidden test set, such as {min(foreign)!r}"
        )


def _decimal(one: str) -> str:
    return one.removesuffix(".0")


def _is_nothing(value: object) -> bool:
    """Whether a cell has no value."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
