"""Names of classes in figures: any letters, of any length, whatever fonts are installed."""

import unicodedata
from collections.abc import Set as AbstractSet
from functools import lru_cache

from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

FONT = "DejaVu Sans"  # matplotlib's own
LONGEST = 32  # letters of a name at an axis


def shortened(name: str) -> str:
    """The name, or its beginning and end where it is too long for an axis."""
    if len(name) <= LONGEST:
        return name
    end = LONGEST // 3
    return f"{name[: LONGEST - end - 1].rstrip()}…{name[-end:].lstrip()}"


def make_drawable(figure: Figure) -> None:
    """Replace the letters in a figure that matplotlib's own font lacks.

    They are taken from another installed font. Without one, a symbol is named in brackets, and
    another letter is given as its code point, such as U+73AB.
    """
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                labels = [label.get_text() for label in axis.get_ticklabels()]
                drawable = [_drawable(label) for label in labels]
                if drawable != labels:  # an axis that shares its names has empty ones
                    axis.set_ticklabels(drawable)
    for text in figure.findobj(Text):
        family = _family(frozenset(text.get_text()) - _own_letters())
        if family:
            text.set_fontfamily([FONT, family])
        else:
            text.set_text(_drawable(text.get_text()))


def _drawable(text: str) -> str:
    """The text without letters that no installed font has."""
    missing = frozenset(text) - _own_letters() - {"\n"}
    if not missing or _family(missing):
        return text
    return "".join(_replaced(letter) if letter in missing else letter for letter in text).strip()


def _replaced(letter: str) -> str:
    category = unicodedata.category(letter)
    name = unicodedata.name(letter, "")
    if category.startswith("S") and name:
        return f"[{name.lower()}]"
    if category in ("Mn", "Cf"):  # it only changes how its neighbours look
        return ""
    return f"U+{ord(letter):04X} "


@lru_cache
def _family(letters: frozenset[str]) -> str:
    """The family of an installed font that has all these letters; "" for none or no letters."""
    letters -= {"\n"}
    if not letters:
        return ""
    for entry in sorted(fontManager.ttflist, key=lambda entry: entry.name):
        if not entry.name.startswith("Last Resort") and letters <= _letters_of(entry.fname):
            return entry.name
    return ""


@lru_cache
def _letters_of(file: str) -> AbstractSet[str]:
    return frozenset(map(chr, FT2Font(file).get_charmap()))


@lru_cache
def _own_letters() -> AbstractSet[str]:
    return _letters_of(findfont(FONT))
