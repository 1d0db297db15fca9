"""Text of a log, a server or a notebook, made fit for a terminal: sanitised, shortened, classified.

A terminal obeys control sequences: they can set its title, fill the clipboard, clear the screen or
send input as if typed. These functions remove the sequences and keep tabs and line ends.
"""

import re
from collections.abc import Iterable
from typing import TextIO

_CONTROL = r"\x00-\x1f\x7f-\x9f"
# Characters without a shape of their own: marks of direction, which reorder the displayed text, and
# others that make two texts look alike. Those that join letters and emoji are left.
_MARKS = (
    r"\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
SHORTEST_SECRET = 8  # characters; shorter strings occur by chance
_SEQUENCE = re.compile(
    # OSC and DCS strings, up to their terminator
    rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^{_CONTROL}]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI, including colours
    r"|\x1b[ -/]*[0-~]?"  # every other escape
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    rf"|[{_MARKS}]"
)
_SEPARATOR = re.compile(r"[\u2028\u2029]")  # of lines and paragraphs
_UNPRINTABLE = re.compile(rf"[{_CONTROL}{_MARKS}\u2028\u2029\ud800-\udfff]")
# Each is anchored to the start of a run or a line: otherwise matching is quadratic in its length.
_RETURN = re.compile(r"(?<!\r)\r+(?=\n|\Z)")
_REWRITTEN = re.compile(r"(?m)^[^\n]*\r")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")

# `  reading 3 of 12`, `epoch 3/12  loss 0.4  0:41 left`, and the bars that tqdm draws
_PROGRESS = re.compile(r"^\s+\S.* \d[\d,]* of \d[\d,]*\s*$|\d:\d\d left\s*$|\d%\|")
_COUNT = re.compile(r"(\d[\d,]*)(?:/| of )(\d[\d,]*)")
# C++ libraries, such as TensorFlow's, begin a line with its level, time, process and location.
_NOTE = re.compile(
    r"([IWE])\d{4} \S+ +\d+ \S+:\d+\]|WARNING: All log messages before absl::"
    r"|To enable the following instructions: "
)


def plain(text: str, *, colours: bool = False) -> str:
    """The text without control sequences; for a line that was overwritten, its last state.

    A progress bar returns to the start of the line and overwrites it; the last state is kept. With
    `colours`, the sequences that set colours and weight are kept. Unicode's own line ends become
    the usual one.
    """
    text = _SEQUENCE.sub(
        lambda match: match[0] if colours and _COLOUR.fullmatch(match[0]) else "", text
    )
    text = _SEPARATOR.sub("\n", text)
    return _REWRITTEN.sub("", _RETURN.sub("", text)) if "\r" in text else text


def one_line(name: str) -> str:
    """A name on one line; each unprintable character is replaced by its escape."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), name)


def without(secrets: Iterable[str], text: str) -> str:
    """The text with every secret replaced, but for short ones, which occur by chance."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "[secret]")
    return text


def writable(text: str, stream: TextIO) -> str:
    """The text with escapes for characters that the stream cannot encode, e.g. `\\xe9` in ASCII."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def excerpt(text: str, longest: int, whole: str) -> str:
    """At most `longest` characters of a text, from both ends; `whole` says where all of it is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    omitted = f"\n… {len(text) - 2 * half:,} characters omitted: {whole} …\n"
    return f"{text[:half]}{omitted}{text[len(text) - half :]}"


def is_step(line: str) -> bool:
    """Whether a line shows the progress of unfinished work."""
    if not _PROGRESS.search(line):
        return False
    counts = _COUNT.findall(line)  # of epochs, and of steps within the last epoch
    return not counts or any(done != total for done, total in counts)


def last_lines(text: str, most: int) -> list[str]:
    """The last lines of a text that are neither empty nor notes of a C++ library, at most so many.

    As a terminal shows them.
    """
    lines = filter(str.strip, plain(text).splitlines())
    return [line for line in lines if not note_level(line)][-most:]


def note_level(line: str) -> str:
    """The level of a line that is a C++ library's diagnostic, I, W or E; "" for other lines."""
    note = _NOTE.match(line)
    return note[1] or "I" if note else ""
