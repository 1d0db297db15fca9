"""Which training rows become hidden: whole groups of them, or the last ones in time.

Of each row only a number stays in memory.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kernelkit.hidden.hidden_content import SEED
from kernelkit.hidden.tables import Row, Rows, Texts

FEWEST_GROUPS = 10  # of a training table, for a column to be taken as the one that groups its rows
MOST_ALONE = 0.1  # of its rows that may be the only one of their group
LARGEST_GROUP = 0.2  # of its rows that may be in one group
FEWEST_NEW = 2  # values of the public test table that show that its groups are new ones
FEWEST_TIMES = 5  # of a training table, for a column to be taken as the time of its rows
_DECIMAL = re.compile(r"-?\d*\.\d+([eE][-+]?\d+)?")


@dataclass
class Chosen:
    """The places of the training rows that become hidden, and of those that are left out.

    The rows of a group, and so those of an id that has several, keep their order. `left_out` have
    no answer and are of a group that is hidden.
    """

    places: list[int] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)


def moment(value: Any) -> float | None:
    """A number for a time: a whole number itself, the seconds of a date; None for all else.

    Decimals are measurements, and no times.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return float(value)
    if isinstance(value, datetime.datetime):
        return _seconds(value)
    if isinstance(value, datetime.date):
        return _seconds(datetime.datetime(value.year, value.month, value.day))
    if not isinstance(value, str) or not value[:1].isdigit():
        return None
    if value.isdecimal():
        return float(value)
    for form in ("", "%d/%m/%Y", "%d.%m.%Y"):
        with suppress(ValueError):
            if not form:
                return _seconds(datetime.datetime.fromisoformat(value))
            return _seconds(datetime.datetime.strptime(value, form))
    return None


def _seconds(time: datetime.datetime) -> float:
    """The seconds since 1970; a time without a zone is taken as one of UTC."""
    return time.replace(tzinfo=time.tzinfo or datetime.UTC).timestamp()


def later_columns(train: Rows, test: Rows, of_train: Mapping[str, str]) -> list[str]:
    """The training columns whose values are times that all public test rows are later than.

    `of_train`: {column of the test table: that of the training table}. A date comes before what is
    a number.
    """
    first = dict.fromkeys(of_train.values(), math.inf)
    dates = set()
    for row in test:
        for column, own in of_train.items():
            tested = moment(row[column])
            if tested is None:
                first.pop(own, None)
            elif own in first:
                first[own] = min(first[own], tested)
                if not str(row[column]).isdecimal():
                    dates.add(own)
    seen: dict[str, set[float]] = {own: set() for own in first}
    for row in train:
        for own in list(first):
            own_moment = moment(row[own])
            if own_moment is None or own_moment >= first[own]:
                del first[own]
            elif len(seen[own]) < FEWEST_TIMES:
                seen[own].add(own_moment)
        if not first or not len(test):
            return []
    found = [own for own in first if len(seen[own]) >= FEWEST_TIMES]
    return sorted(found, key=lambda own: own not in dates)


def grouping_columns(train: Rows, test: Rows, of_train: Mapping[str, str]) -> list[str]:
    """The training columns by whose values the public test set was split off.

    Their values repeat in the training table, and those of the test table are all new. The one with
    the fewest values, which holds the others together, comes first.
    """
    new: dict[str, set[str]] = {own: set() for own in of_train.values()}
    for row in test:
        for column, own in of_train.items():
            new[own].add(str(row[column]))
    counts: dict[str, Counter[str]] = {
        own: Counter() for own, values in new.items() if len(values) >= FEWEST_NEW
    }
    most = MOST_ALONE * len(train) + (1 - MOST_ALONE) * len(train) / 2
    for row in train:
        for own in list(counts):
            value = str(row[own])
            counts[own][value] += 1
            shared = not value or value in new[own] or _DECIMAL.fullmatch(value)
            if shared or len(counts[own]) > most + 1:
                del counts[own]
        if not counts:
            break
    found = [own for own, known in counts.items() if _are_groups(known)]
    return sorted(found, key=lambda own: len(counts[own]))


def _are_groups(counts: Counter[str]) -> bool:
    """Whether values with as many rows of each divide a table into groups.

    Nearly all have several rows, and none has many of the rows.
    """
    rows = counts.total()
    alone = sum(1 for count in counts.values() if count == 1)
    return (
        len(counts) >= FEWEST_GROUPS
        and alone <= MOST_ALONE * rows
        and max(counts.values()) <= LARGEST_GROUP * rows
    )


def lacks_answer(row: Row, targets: Sequence[str]) -> bool:
    """Whether a training row has no value to predict, so that nothing could be scored."""
    for name in targets:
        value = row[name]
        if value is None or value == "" or str(value).casefold() == "nan":
            return True
        if isinstance(value, float) and math.isnan(value):
            return True
    return False


def hashes(texts: Iterable[str]) -> array[int]:
    """A number for each text, the same in each run; sorted, they are in a random order."""
    return array("Q", map(number_of, texts))


def number_of(text: str) -> int:
    """The number of a text in `hashes`, of 64 bits."""
    data = f"{SEED} {text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())


def agree(keys: Sequence[int], values: Sequence[int], nothing: int) -> bool:
    """Whether rows with one key have one value; `nothing` is the value of a row that has none."""
    return all(_is_one(values, group, nothing) for group in _groups(keys))


def _is_one(values: Sequence[int], places: Sequence[int], nothing: int) -> bool:
    return len({values[place] for place in places} - {nothing}) <= 1


def distinct(numbers: Iterable[int]) -> int:
    """How many different numbers there are."""
    ordered = sorted(numbers)
    if not ordered:
        return 0
    return 1 + sum(1 for one, other in pairwise(ordered) if one != other)


def choose(ids: Texts, lacking: bytearray, order: Sequence[Any], wanted: int) -> Chosen:
    """Whole groups of rows, until they have as many ids as wanted.

    ids      the id of each row
    lacking  1 for each row that has no answer
    order    a number for each row: those with the smallest are taken first, equal ones together
    """
    chosen = Chosen()
    hidden: set[str] = set()
    for group in _groups(order):
        if len(hidden) >= wanted:
            break
        answered = {ids[place] for place in group if not lacking[place]}
        if not answered:
            continue
        hidden |= answered
        for place in group:
            if ids[place] in answered:
                chosen.places.append(place)
            else:
                chosen.left_out.append(place)
    return chosen


def _groups(order: Sequence[Any]) -> Iterator[list[int]]:
    """The places with equal numbers, those of the smallest first; in a group they are sorted."""
    ranked = sorted(range(len(order)), key=order.__getitem__)
    group: list[int] = []
    for place in ranked:
        if group and order[group[0]] != order[place]:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
