"""New ids for the rows of a hidden test set, in the form of the old ones.

A notebook may take an id apart, so a new one keeps the form: numbers stay numbers with their
leading zeros, `plot-00012` becomes another `plot-` with five digits, an extension stays, and what
an id repeats from other columns, such as a shop and a day, is repeated. Dates stay as they are:
they say what the row is about.
"""

import datetime
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from kernelkit.hidden.hidden_content import SEED
from kernelkit.hidden.tables import Texts

SHORTEST = 8  # characters of a new id that is made of digits and letters
DATE_FORMS = ("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y")  # besides ISO 8601
Known = Texts | set[str] | Sequence[str]
_NUMBERED = re.compile(r"(\D*)(\d+)")
_PART = re.compile(r"[^_\-:/|. ]+")  # of an id that is made of parts


def renamed(
    ids: Sequence[str], rows: Sequence[Mapping[str, Any]], name: str, known: Known
) -> tuple[dict[str, str], str]:
    """{id: new id}, and why ids stay as they are; "" if they do not.

    `rows` are rows of these ids, with what else could be a part of them; `name` is the column of
    ids, and `known` are the ids that are taken, these too. It is gone through several times.
    """
    if any(not isinstance(row[name], int | str) for row in rows) or all(map(_is_date, ids)):
        return {one: one for one in ids}, f"the {name!r} are neither text nor whole numbers"
    if all(one.isdecimal() for one in known):
        return _numbered(ids, max(map(int, known)), ""), ""
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


def _numbered(ids: Sequence[str], largest: int, before: str) -> dict[str, str]:
    """Numbers that follow the largest that is known, with as many digits as the old ones."""
    new = {}
    for place, old in enumerate(ids, 1):
        width = len(old.removeprefix(before))
        new[old] = f"{before}{str(largest + place).zfill(width)}"
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


def _with_new_part(ids: Sequence[str], known: Known, free: int) -> dict[str, str]:
    """The ids with another part; the number `free` counts the parts, -1 is the whole stem."""
    new_parts = _new_parts(ids, known, free)
    new = {}
    for one in ids:
        begin, end = _span(one, free)
        new[one] = one[:begin] + new_parts[one[begin:end]] + one[end:]
    return new


def _new_parts(ids: Sequence[str], known: Known, free: int) -> dict[str, str]:
    """{part of an id: the one in its place}."""
    parts = list(dict.fromkeys(_part_of(one, free) for one in ids))
    last = _last_number(chain(ids, known), free)
    if last:
        before, largest = last
        return _numbered(parts, largest, before)
    return _all_hashed(parts, known, free)


def _part_of(one: str, free: int) -> str:
    return one[slice(*_span(one, free))]


def _last_number(ids: Iterable[str], free: int) -> tuple[str, int] | None:
    """The text before the number in each id's part, and the largest; None if they are not so."""
    prefixes = set()
    largest = 0
    for one in ids:
        match = _NUMBERED.fullmatch(_part_of(one, free))
        if match is None:
            return None
        prefixes.add(match[1])
        if len(prefixes) > 1:
            return None
        largest = max(largest, int(match[2]))
    return prefixes.pop(), largest


def _all_hashed(parts: Sequence[str], known: Known, free: int) -> dict[str, str]:
    """{part: digits and letters in its place}, none of which is a part of an id that is known."""
    taken = set(parts)
    while True:
        new_parts: dict[str, str] = {}
        used = set(taken)
        for part in parts:
            new_parts[part] = _hashed(part, used)
            used.add(new_parts[part])
        made = set(new_parts.values())
        there = made.intersection(_part_of(one, free) for one in known)
        if not there:
            return new_parts
        taken |= there


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
