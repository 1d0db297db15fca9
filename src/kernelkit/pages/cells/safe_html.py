"""HTML of a run's own making, with nothing left in it that runs, loads or covers the page.

A run's output is not to be trusted. Tables, pictures and text styles stay.
"""

import re
from collections.abc import Iterator
from typing import Any

import bleach
import tinycss2
from bleach.css_sanitizer import CSSSanitizer
from bleach.html5lib_shim import Filter

# More takes seconds to parse: html5lib's time for nested tags is more than linear.
LONGEST, MOST_TAGS = 500_000, 10_000

_TAGS = """
    a abbr acronym b blockquote br caption center code col colgroup dd del details div dl dt em
    figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre q s samp small span strong
    sub summary sup table tbody td tfoot th thead tr tt u ul var
"""
TAGS = frozenset(_TAGS.split())
_ATTRIBUTES = """
    class id style title align valign dir lang alt width height colspan rowspan scope border start
    type open hidden
"""
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
_LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
_PICTURE = re.compile(r"(?i)data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[a-z0-9+/=\s]*")
_TAG = re.compile(r"<[^>]*>")
_EMPTY_LINK = re.compile(
    r"<a\b[^<>]*\shref=[^<>]*>\s*</a>"
)  # whose picture came from a style sheet
_GONE_PICTURE = re.compile(r"<img\b(?![^<>]*\ssrc=)[^<>]*>")  # its address was not harmless
# The text of these elements is not for readers. One that never closes ends with the page, so that
# a page of them takes no longer than its length.
_UNREAD = re.compile(r"(?is)<(script|style|title|template|button)\b[^<>]*>.*?(?:</\1\b[^<>]*>|\Z)")
# What a report cannot show. The text inside is for browsers that cannot show it either.
_MEDIA = {
    "audio": "A sound",
    "video": "A video",
    "iframe": "An embedded page",
    "object": "An embedded object",
    "canvas": "A drawing",
    "svg": "A drawing",
}
_MEDIUM = re.compile(rf"(?is)<({'|'.join(_MEDIA)})\b[^<>]*>.*?(?:</\1\b[^<>]*>|\Z)")
_HIDDEN = re.compile(r"(?i)<[a-z][^<>]*\shidden(?=[\s=/>])[^<>]*>")
_DRAWN = re.compile(r"(?i)<(?:embed|input|progress|meter)\b")


def shows_less(html: str) -> bool:
    """Whether a report shows less of this output than a notebook does, so that its text is better.

    That is markup which a script or a style sheet uncovers, and sounds, videos, frames and scripts
    without a table or a picture beside them.
    """
    read = _UNREAD.sub("", html)
    if _HIDDEN.search(read):
        return True
    without = _MEDIUM.sub("", read)
    if re.search(r"(?i)<(?:table|img)\b", without):
        return False
    return without != read or "<script" in html.lower()


def clean(html: object) -> str:
    """The markup with the harmless tags and attributes alone; other tags go, their text stays.

    A note stands for a picture elsewhere, a sound, a video, a frame or a drawing; for markup of
    more than `LONGEST` characters without its pictures or of more than `MOST_TAGS` tags; and for an
    output of which nothing is left, unless it was empty before.
    """
    text = _MEDIUM.sub(_note, _UNREAD.sub("", str(html)))
    if len(_PICTURE.sub("", text)) > LONGEST or text.count("<") > MOST_TAGS:
        return "<p><em>An output's HTML is too long for this page: the notebook has it.</em></p>"
    cleaner = bleach.Cleaner(
        tags=TAGS,
        attributes=_allowed,
        protocols={"http", "https", "mailto", "data"},
        css_sanitizer=_Style(),
        strip=True,
        filters=[_OwnIds],
    )
    cleaned: str = _EMPTY_LINK.sub("", cleaner.clean(text))
    cleaned = _GONE_PICTURE.sub("<em>A picture: the notebook has it.</em>", cleaned)
    if _PICTURE.search(cleaned) or _TAG.sub("", cleaned).strip():
        return cleaned
    if "<script" in str(html).lower():
        return "<p><em>An output that a script draws: the notebook has it.</em></p>"
    if _DRAWN.search(text):
        return "<p><em>An output that a report cannot show: the notebook has it.</em></p>"
    return cleaned


def _note(medium: re.Match[str]) -> str:
    return f"<em>{_MEDIA[medium[1].lower()]}: the notebook has it.</em>"


# What a value of a style may call: colours and sums. All else could load something: url(), src(),
# image() and its siblings, and attr() and var(), which can hold an address.
_CALLS = frozenset(
    [
        "calc",
        "clamp",
        "max",
        "min",
        "hsl",
        "hsla",
        "hwb",
        "lab",
        "lch",
        "oklab",
        "oklch",
        "rgb",
        "rgba",
    ]
)


class _Style(CSSSanitizer):  # type: ignore[misc]
    """Leaves of a style the declarations of harmless properties whose values load nothing."""

    def sanitize_css(self, style: str) -> str:
        """The style without everything else."""
        allowed = super().sanitize_css(style)
        kept = [
            one
            for one in tinycss2.parse_declaration_list(allowed, skip_comments=True)
            if one.type == "declaration" and all(map(_is_harmless, one.value))
        ]
        text: str = tinycss2.serialize(kept)
        return text.strip()


def _is_harmless(token: Any) -> bool:
    """Whether a part of a style's value, with all that is in it, loads nothing."""
    if token.type in ("url", "error"):
        return False
    if token.type == "function":
        return token.lower_name in _CALLS and all(map(_is_harmless, token.arguments))
    if token.type in ("() block", "[] block", "{} block"):
        return all(map(_is_harmless, token.content))
    return True


class _OwnIds(Filter):  # type: ignore[misc]
    """Gives an output's ids, and the links to them, names that no part of the page has."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            attributes = token.get("data")
            if isinstance(attributes, dict):
                for name, mark in (((None, "id"), ""), ((None, "href"), "#")):
                    value = attributes.get(name, "")
                    if value and value.startswith(mark):
                        attributes[name] = f"{mark}output-{value.removeprefix(mark)}"
            yield token


def _allowed(tag: str, name: str, value: str) -> bool:
    if (tag, name) == ("a", "href"):
        return _LINK.match(value) is not None
    if (tag, name) == ("img", "src"):  # a report asks no network
        return _PICTURE.match(value) is not None
    return name in ATTRIBUTES
