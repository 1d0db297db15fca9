"""A finished session's log: its entries, its readable text, and how a run's folder keeps both.

An entry is `{"stream_name": "stdout" | "stderr", "time": seconds, "data": text}`.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelkit import files
from kernelkit.runs import kit_folder
from kernelkit.terminal import safe_text

LONGEST = 10_000_000  # characters of the readable log
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,\[\]]*")
# Jupyter interrupts a kernel before it stops it, also after the last cell of a complete run.
_STOPPED_KERNEL = "[IPKernelApp] ERROR | KeyboardInterrupt caught in kernel"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Entry:
    """One piece of a log: seconds since the session's start, and the text as written."""

    seconds: float
    stream: str
    text: str

    @property
    def chatter(self) -> bool:
        """Whether the entry is a diagnostic of a C++ library or of Jupyter that tells of no
        trouble."""
        if self.stream != "stderr":
            return False
        return _STOPPED_KERNEL in self.text or safe_text.note_level(self.text) == "I"


def decode(log: str) -> Iterator[Entry]:
    """Yield the entries of a finished session's log; other text counts as one entry per line.

    One at a time, because parsing a log as a whole takes several times its size in memory.
    """
    position = 0
    while True:
        begin = _BETWEEN.match(log, position).end()  # type: ignore[union-attr]
        try:
            entry, end = _DECODER.raw_decode(log, begin)
        except (ValueError, RecursionError):  # the end, or what a kill left of it
            break
        if isinstance(entry, dict):
            yield entry_of(entry)
        elif not position:  # text that begins with a number
            break
        position = end
    for line in log[position if begin < len(log) else begin :].splitlines():
        yield Entry(0.0, "stdout", f"{line}\n")


def entry_of(event: dict[str, Any]) -> Entry:
    """The entry for a JSON object of a log; invalid values become 0 or an empty text."""
    time = event.get("time")
    seconds = float(time) if isinstance(time, int | float) and math.isfinite(time) else 0.0
    return Entry(seconds, str(event.get("stream_name", "stdout")), str(event.get("data") or ""))


def harmless(log: str) -> str:
    """A finished session's log as Kaggle stores it, with control characters as JSON escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", log)


def text(entries: Iterable[Entry]) -> str:
    """The readable log: without colours, other control sequences and `chatter`.

    A log longer than `LONGEST` characters is cut to its two ends.
    """
    return _readable(entry.text for entry in entries if not entry.chatter)


def texts(log: str) -> tuple[str, str]:
    """All that a finished session's log says, and its readable `text`; read once."""
    whole = []
    readable = []
    for entry in decode(log):
        whole.append(entry.text)
        if not entry.chatter:
            readable.append(entry.text)
    return "".join(whole), _readable(readable)


def _readable(parts: Iterable[str]) -> str:
    return safe_text.plain(safe_text.excerpt("".join(parts), LONGEST, "see Kaggle's original log"))


def keep(folder: Path, log: str, pushed: str, clear: Callable[[str], str] = str) -> None:
    """Keep a session's log in a run's folder, as Kaggle stores it and as readable text.

    pushed  the notebook or script that ran, which is kept beside it
    clear   removes the secrets from a text

    No file is written for an empty text.
    """
    is_script = not pushed.startswith("{")
    kept = {kit_folder.PUSHED_SCRIPT if is_script else kit_folder.PUSHED: pushed}
    if log:
        log = clear(log)
        whole, readable = texts(log)
        cleared = clear(whole)
        if cleared != whole:  # a secret was split over two entries
            log = json.dumps([{"stream_name": "stdout", "time": 0, "data": cleared}])
            readable = texts(log)[1]
        kept[kit_folder.LOG] = harmless(log)
        kept[kit_folder.LOG_TEXT] = readable
    for name, content in kept.items():
        if content:
            files.write_text(kit_folder.path(folder, name), clear(content))
