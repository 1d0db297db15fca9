"""The heading in a cell of Markdown, as plain text."""

import html
import re

from kernelkit.terminal import safe_text

LONGEST_HEADING, LONGEST_MARKDOWN = 200, 100_000  # characters
# In Markdown, and as HTML in Markdown.
_HEADING = re.compile(
    r"(?m)^ {0,3}#{1,6}[ \t]+(?P<marked>[^\n]{1,500})$"
    r"|<h[1-6]\b[^<>]{0,500}>(?P<tagged>(?s:.{0,500}?))</h[1-6]\s*>"
)
_FENCES = ("```", "~~~")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_TAG = re.compile(r"<[^<>]*>")


def last_heading(source: str) -> str:
    """The last heading in a cell of Markdown as plain text; "" if it has none."""
    lines = []
    is_code = False
    for line in source[:LONGEST_MARKDOWN].split("\n"):
        if line.lstrip().startswith(_FENCES):
            is_code = not is_code
        elif not is_code:
            lines.append(line)
    for match in reversed(list(_HEADING.finditer("\n".join(lines)))):
        text = _TAG.sub("", match["marked"] or match["tagged"] or "")
        text = _LINK.sub(r"\1", html.unescape(text)).replace("**", "").replace("`", "")
        text = " ".join(safe_text.plain(text).split()).strip("*_# ")
        if text:
            return text[:LONGEST_HEADING]
    return ""
