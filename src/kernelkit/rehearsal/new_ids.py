"""New ids for the rows of a hidden test set, in the form of the old ones.

A notebook may take an id apart, so a new one keeps the form: numbers stay numbers with their
leading zeros, `plot-00012` becomes another `plot-` with five digits, an extension stays, and what
an id repeats from other columns, such as a shop and a day, is repeated. Dates stay as they are:
they say what the row is about.
"""

import datetime
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from kernelkit.rehearsal.hidden_content import SEED

SHORTEST = 8  # characters of a new id that is made of digits and letters
DATE_FORMS = ("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y")  # besides ISO 8601
_PART = re.compile(r"[^_\-:/|. ]+")  # of an id that is made of parts


def renamed(
    rows: Sequence[Mapping[str, Any]], name: str, known: set[str]
) -> tuple[dict[str, str], str]:
    """{id: new id} of these rows, and why ids stay as they are; "" if they do not.

    `name` is the column of ids, and `known` are the ids that are taken, of these rows too.
    """
    ids = list(dict.fromkeys(str(row[name]) for row in rows))
    if any(not isinstance(row[name], int | str) for row in rows) or all(map(_is_date, ids)):
        return {one: one for one in ids}, f"the {name!r} are no texts or whole numbers"
    if all(one.isdecimal() for one in known):
        return _numbered(ids, known, "", ""), ""
    free = _free_part(rows, name)
    if free is None:
        return {one: one for one in ids}, f"each part of {name!r} is in another column"
    return _with_new_part(ids, known, free), ""


def _is_date(text: str) -> bool:
    """Whether a text is a date, or a date and a time."""
    if not text or text.isdecimal():
        return False
    return _is_iso_date(text) or any(_has_form(text, form) for form in DATE_FORMS)


def _is_iso_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _has_form(text: str, form: str) -> bool:
    try:
        datetime.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _numbered(ids: Sequence[str], known: set[str], before: str, after: str) -> dict[str, str]:
    """Numbers that follow the largest that is known, with as many digits as the old ones."""
    digits = [one.removeprefix(before).removesuffix(after) for one in known]
    first = max(map(int, digits), default=-1) + 1
    new = {}
    for place, old in enumerate(ids):
        width = len(old.removeprefix(before).removesuffix(after))
        new[old] = f"{before}{str(first + place).zfill(width)}{after}"
    return new


def _free_part(rows: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """The number of an id's first part that varies and that no other column has; None without.

    An id that cannot be taken into as many parts in every row is one part.
    """
    stems = [_stem(str(row[name])) for row in rows]
    parts = [_PART.findall(stem) for stem in stems]
    if len({len(each) for each in parts}) != 1:
        return -1
    varying = []
    for number in range(len(parts[0])):
        values = [each[number] for each in parts]
        if len(set(values)) == 1 and len(rows) > 1:
            continue
        varying.append(number)
        others = [column for column in rows[0] if column != name]
        repeated = any(
            all(str(row[column]) == value for row, value in zip(rows, values, strict=True))
            for column in others
        )
        if not repeated:
            return number
    return None if varying else -1


def _stem(one: str) -> str:
    """An id without the extension of a file."""
    suffix = PurePosixPath(one).suffix
    return one.removesuffix(suffix) if re.fullmatch(r"\.[A-Za-z]{2,4}", suffix) else one


def _with_new_part(ids: Sequence[str], known: set[str], free: int) -> dict[str, str]:
    """The ids with another part; the number `free` counts the parts, -1 is the whole stem."""
    spans = {one: _span(one, free) for one in {*ids, *known}}
    old_parts = {one[slice(*span)] for one, span in spans.items()}
    in_digits = [re.fullmatch(r"(\D*)(\d+)", part) for part in old_parts]
    prefixes = {match[1] for match in in_digits if match}
    new_parts: dict[str, str]
    chosen = list(dict.fromkeys(one[slice(*spans[one])] for one in ids))
    if all(in_digits) and len(prefixes) == 1:
        new_parts = _numbered(chosen, old_parts, prefixes.pop(), "")
    else:
        taken = set(old_parts)
        new_parts = {}
        for part in chosen:
            new_parts[part] = _hashed(part, taken)
            taken.add(new_parts[part])
    new = {}
    for one in ids:
        begin, end = spans[one]
        new[one] = one[:begin] + new_parts[one[begin:end]] + one[end:]
    return new


def _span(one: str, free: int) -> tuple[int, int]:
    """Where the part of an id that becomes another one begins and ends."""
    stem = _stem(one)
    if free >= 0:
        matches = list(_PART.finditer(stem))
        if free < len(matches):
            return matches[free].span()
    return 0, len(stem)


def _hashed(part: str, taken: set[str]) -> str:
    """Digits and letters in place of a part, as many as it has, but at least a few."""
    digest = hashlib.sha256(f"{SEED} {part}".encode()).hexdigest()
    length = max(SHORTEST, len(part))
    while digest[:length] in taken:
        length += 1
    return digest[:length]
