"""The measures of a run: those in its `metrics.json`, or else the score that it printed.

They are verified if the file that they stand in is.
"""

import functools
import math
import re
from pathlib import Path

from kernelkit import files
from kernelkit.notebook.document import cell_source
from kernelkit.runs import kit_folder, metrics, proved, run_folder, session_record
from kernelkit.runs import log as logs
from kernelkit.runs.metrics import Metrics
from kernelkit.session.places import FOLDER, SHOWN
from kernelkit.terminal import safe_text

# 0.5, -1, .25, 1e-3, 1,234.5, nan; neither a part of a word (fold5) nor of a format (.4f)
_WHOLE_PART = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_FINITE = rf"(?:{_WHOLE_PART}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(rf"(?<![\w.])[-+]?(?:{_FINITE}|(?i:nan|inf))(?!\w)")
_TRACEBACK = "Traceback (most recent call last)"
LONGEST_LINE = 10_000  # characters of a line in which a score is looked for


def of_run(folder: Path, score: str) -> Metrics | None:
    """What a run measured; None if it left no measures that can be read.

    That is what its `metrics.json` holds, without values for an empty object. Where it wrote none,
    it is the number that it printed after the name `score`, if it did.
    """
    if (folder / run_folder.METRICS).is_file() or not score:
        return metrics.read(folder)
    value = printed(folder, score)
    return None if value is None else Metrics.of({score: value})


def doubt(folder: Path, score: str) -> str:
    """Why what `of_run` returns is not verified, in words; "" if it is, or is nothing.

    A printed score is as verified as the file in which it stands: of a push what its session
    recorded, which the manifest names.
    """
    if (folder / run_folder.METRICS).is_file() or not score:
        return proved.doubt(folder, run_folder.METRICS)
    source, _ = _printed(folder, score)
    return proved.doubt(folder, source) if source else ""


def printed(folder: Path, name: str) -> float | None:
    """The first number after the whole `name` on the last printed line that has it; None without.

    Printed is what a run wrote to its output and its log, tracebacks of an error not.
    """
    return _printed(folder, name)[1]


def _printed(folder: Path, name: str) -> tuple[str, float | None]:
    """The file of the output with what was printed that has the name, and the number after it."""
    recorded = sorted(session_record.place(folder).glob(SHOWN), reverse=True)
    sources = [f"{FOLDER}/{path.name}" for path in recorded]
    others = (run_folder.executed(folder), kit_folder.path(folder, kit_folder.LOG))
    sources += [path.relative_to(folder).as_posix() for path in others if path and path.is_file()]
    for source in sources:
        path = kit_folder.output(folder, source)
        found, value = _printed_in(path, name, path.stat().st_mtime_ns)
        if found:
            return source, value
    return "", None


@functools.lru_cache(maxsize=10_000)
def _printed_in(path: Path, name: str, _changed: int) -> tuple[bool, float | None]:
    """Whether a file's text has the name, and the number after it; read once.

    `_changed`: when it was written, in nanoseconds.
    """
    if path.suffix == ".jsonl":
        text = session_record.streams(path)
    elif path.suffix == ".ipynb":
        text = _of_notebook(path)
    else:
        log = path.read_text("utf-8", "replace")
        text = "".join(entry.text for entry in logs.decode(log))
        if logs.failure(log):
            text = text.rpartition(_TRACEBACK)[0]
    line = last_line(text, name)
    return bool(line), number_after(line, name)


def _of_notebook(path: Path) -> str:
    """What the cells of an executed notebook printed, without their other outputs."""
    texts = []
    cells = files.read_object(path).get("cells")
    for cell in cells if isinstance(cells, list) else ():
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs if isinstance(outputs, list) else ():
            if isinstance(output, dict) and output.get("output_type") == "stream":
                texts.append(cell_source({"source": output.get("text", "")}))
        texts.append("\n")
    return "".join(texts)


def last_line(text: str, name: str) -> str:
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


def number_after(line: str, name: str) -> float | None:
    """The first number after the whole name on a line; None also if that is nan or infinite."""
    found = _whole(name).search(line)
    number = _NUMBER.search(line, found.end()) if found else None
    if not number:
        return None
    value = float(number[0].replace(",", ""))
    return value if math.isfinite(value) else None


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
