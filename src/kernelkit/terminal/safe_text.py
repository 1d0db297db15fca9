"""Make text from a log, a server or a file name safe to print in a terminal.

A terminal obeys control sequences: they can set its title, fill the clipboard, clear the screen or
send input as if typed. These functions remove the sequences and keep tabs and line ends.
"""

from __future__ import annotations

import re
from typing import TextIO

_CONTROL = r"\x00-\x1f\x7f-\x9f"
_SEQUENCE = re.compile(
    # OSC and DCS strings, up to their terminator
    rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^{_CONTROL}]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI, including colours
    r"|\x1b[ -/]*[0-~]?"  # every other escape
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    r"|[\u202a-\u202e\u2066-\u2069]"  # bidirectional controls, which reorder the displayed text
)
_UNPRINTABLE = re.compile(rf"[{_CONTROL}\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Each is anchored to the start of a run or a line: otherwise matching is quadratic in its length.
_RETURN = re.compile(r"(?<!\r)\r+(?=\n|\Z)")
_REWRITTEN = re.compile(r"(?m)^[^\n]*\r")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def plain(text: str, *, colours: bool = False) -> str:
    """The text without control sequences; for a line that was overwritten, its last state.

    A progress bar returns to the start of the line and overwrites it; the last state is kept. With
    `colours`, the sequences that set colours and weight are kept.
    """
    if colours:
        text = _SEQUENCE.sub(lambda match: match[0] if _COLOUR.fullmatch(match[0]) else "", text)
    else:
        text = _SEQUENCE.sub("", text)
    return _REWRITTEN.sub("", _RETURN.sub("", text)) if "\r" in text else text


def one_line(name: str) -> str:
    """A name on one line; each unprintable character is replaced by its escape."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), name)


def writable(text: str, stream: TextIO) -> str:
    """The text with escapes for characters that the stream cannot encode, e.g. `\\xe9` in ASCII."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
