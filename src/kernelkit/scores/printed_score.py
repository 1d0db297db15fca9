"""The score of a run that writes no `metrics.json`: the number that it printed after its name."""

import functools
import math
import re
from dataclasses import dataclass
from pathlib import Path

from kernelkit import files
from kernelkit.notebook import document
from kernelkit.runs import kit_folder, run_folder
from kernelkit.session_records import log as logs
from kernelkit.session_records import shown_outputs
from kernelkit.session_records.failure import TRACEBACK, RunFailure
from kernelkit.terminal import safe_text

# 0.5, -1, .25, 1e-3, 1,234.5, nan; neither a part of a word (fold5) nor of a format (.4f)
_WHOLE_PART = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_FINITE = rf"(?:{_WHOLE_PART}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf"(?<![\w.])[-+]?(?:{_FINITE}|(?i:nan|inf))(?!\w)")
LONGEST_LINE = 10_000  # characters of a line in which a score is looked for


@dataclass(frozen=True)
class PrintedScore:
    """A finite number that a run printed; `source`: the name of the output's file with it."""

    value: float
    source: str


def find(folder: Path, name: str) -> PrintedScore | None:
    """The first number after the whole `name` on the last printed line that has it; None without.

    Printed is what a run wrote to its output and its log, tracebacks of an error not. What a push's
    session recorded comes first: its manifest names these files.
    """
    recorded = shown_outputs.recorded(folder)
    others = (run_folder.executed(folder), kit_folder.path(folder, kit_folder.LOG))
    sources = [path.relative_to(folder).as_posix() for path in others if path and path.is_file()]
    for source in [*reversed(recorded), *sources]:
        path = kit_folder.output(folder, source)
        line = _line_of(path, name, path.stat().st_mtime_ns)
        if line:
            value = _number_after(line, name)
            return None if value is None else PrintedScore(value, source)
    return None


@functools.lru_cache(maxsize=10_000)
def _line_of(path: Path, name: str, _changed: int) -> str:
    """The last printed line of a file that has the name, "" without one; read once.

    `_changed`: when it was written, in nanoseconds.
    """
    if path.suffix == ".jsonl":
        text = shown_outputs.streams(path)
    elif path.suffix == ".ipynb":
        text = document.printed(files.read_object(path))
    else:
        log = path.read_text("utf-8", "replace")
        text = "".join(entry.text for entry in logs.decode(log))
        if RunFailure.of_log(log):
            text = text.rpartition(TRACEBACK)[0]
    return _last_line(text, name)


def _last_line(text: str, name: str) -> str:
    """The last line that has the whole name, as a terminal shows it; "" without one."""
    place = text.rfind(name)
    while place >= 0:
        begins = text.rfind("\n", 0, place) + 1
        ends = text.find("\n", place)
        line = safe_text.plain(text[begins : ends if ends >= 0 else len(text)][:LONGEST_LINE])
        if _whole(name).search(line):
            return line
        place = text.rfind(name, 0, begins)
    return ""


def _number_after(line: str, name: str) -> float | None:
    """The first number after the whole name on a line; None also if that is nan or infinite."""
    found = _whole(name).search(line)
    number = _NUMBER.search(line, found.end()) if found else None
    if not number:
        return None
    value = float(number[0].replace(",", ""))
    return value if math.isfinite(value) else None


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
