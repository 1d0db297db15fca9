"""Names of classes, as folders and tables of photos give them."""

import re
import unicodedata
from collections.abc import Iterable

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def in_order(names: Iterable[str]) -> list[str]:
    """The names sorted: as numbers if all are, such as 7, 07 or 7.0, else as texts."""
    names = sorted(names)
    if are_numbers(names):
        names.sort(key=float)
    return names


def are_numbers(names: Iterable[str]) -> bool:
    """Whether all names are numbers, such as 7, 07 or 7.0."""
    return all(_NUMBER.fullmatch(name) for name in names)


def has_unprintable(name: str) -> bool:
    """Whether a name has characters that no text shows: of control, of lines, of no encoding.

    What joins letters in Persian, Hindi or an emoji is not among them.
    """
    return any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name)


def normalised(name: str) -> str:
    """The name in Unicode's composed form (NFC), in which equal texts have equal letters."""
    return unicodedata.normalize("NFC", name)
