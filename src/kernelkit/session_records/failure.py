"""What ended a session's run: the failing cell and its traceback, from the session's log."""

import re
import textwrap
from dataclasses import dataclass, replace

from kernelkit import files
from kernelkit.notebook import scripts
from kernelkit.notebook.document import is_added
from kernelkit.session_records import log as logs
from kernelkit.terminal import safe_text

TRACEBACK = "Traceback (most recent call last)"
TRACEBACK_LINES = 40
_BEGINS = re.compile(rf"""(?<!["']){re.escape(TRACEBACK)}""")  # and not within a message
_PAPERMILL, _DEAD = "PapermillExecutionError", "DeadKernelError"
_OF_FAILURES = (TRACEBACK, _PAPERMILL, _DEAD)
_OF_PROCESS = re.compile(r"(?m)^(?:subprocess\.)?CalledProcessError: .*\Z")
_LINE_OF_SCRIPT = re.compile(r'(?m)^( *File "[^"\n]*/src/script\.py", line )(\d+)')


@dataclass(frozen=True)
class RunFailure:
    """What ended a run: what failed, in words, the text of the cell, and the traceback.

    `last_error` is the last line that stderr had before it, if a process of the run's failed: that
    process's exit status says nothing of the reason.
    """

    what: str
    source: str
    traceback: str
    last_error: str = ""

    @classmethod
    def of_log(cls, log: str, notebook: str = "") -> "RunFailure | None":
        """The failing cell and its traceback, from a finished session's log; None without any.

        `notebook` is the JSON of the notebook that ran, for the text of the cell, or the text of
        the script, for its own line numbers. Python and papermill write a traceback to stderr, and
        the log may have lines of stdout within it, which are searched only if stderr alone has no
        failure.
        """
        if not any(word in log for word in _OF_FAILURES):  # without reading a long log twice
            return None
        of_stderr = (entry for entry in logs.decode(log) if entry.stream == "stderr")
        found = _failure_in(logs.text(of_stderr), notebook)
        return found or _failure_in(logs.text(logs.decode(log)), notebook)

    def __str__(self) -> str:
        source = textwrap.indent(_shorten(self.source), "    ", lambda line: True)
        last = f"The last line of stderr before it: {self.last_error}" if self.last_error else ""
        parts = [self.what, source, self.traceback, last]
        return "\n".join(part for part in parts if part)


def _failure_in(written: str, notebook: str) -> RunFailure | None:
    report = re.search(rf"(?ms){_PAPERMILL}:\s*$\n-{{60,}}\s*$\n(.*)", written)
    if report:
        found = _of_papermill(report[1], notebook)
        before = written[: report.start()].rpartition(TRACEBACK)[0]
        if not found.traceback:  # of an unknown magic, IPython writes the reason before it
            found = replace(found, traceback=_last_line(before))
        return replace(found, last_error=_last_error(found.traceback, before))
    if _DEAD in written:
        killed = (
            "the notebook's process ended without an answer: it was killed, usually because memory "
            "ran out, or it ended itself (os._exit, a crash)"
        )
        return RunFailure(killed, "", "")
    begins = [match.start() for match in _BEGINS.finditer(written)]
    if not begins:
        return None
    before = written[: begins[-1]]
    whole = _unfolded(written[begins[-1] :].strip())
    shown = _with_own_lines(_shorten(whole), notebook)
    return RunFailure("", "", shown, _last_error(whole, before))


def _unfolded(traceback: str) -> str:
    """A traceback with the lines of one that stands in its message, as in those of the gateways of
    code competitions."""
    lines = []
    for line in traceback.split("\n"):
        is_within = line.find(TRACEBACK) > 0
        lines.append(line.replace("\\n", "\n") if is_within else line)
    return "\n".join(lines)


def _with_own_lines(traceback: str, script: str) -> str:
    """A script's traceback, also with its lines as its author counts them: without the bundled
    files before it and the parameters that were set within it."""
    lines = script.split("\n")
    if scripts.BEGINS not in lines:
        return traceback
    begins = len(lines) - lines[::-1].index(scripts.BEGINS)  # its last line above the script
    own = lines[begins:]
    stops = goes_on = len(own)
    if scripts.STOPS in own and scripts.GOES_ON in own:
        stops = own.index(scripts.STOPS)
        goes_on = own.index(scripts.GOES_ON) + 1

    def both(match: re.Match[str]) -> str:
        line = int(match[2]) - begins
        if line > goes_on:
            line -= goes_on - stops
        elif line > stops:  # a line of the parameters
            return match[0]
        return f"{match[0]} (line {line} below the bundled files)" if line > 0 else match[0]

    return _LINE_OF_SCRIPT.sub(both, traceback)


def _last_error(traceback: str, before: str) -> str:
    """The last line of what was written before the traceback of a process that failed."""
    if not _OF_PROCESS.search(traceback):
        return ""
    return _last_line(before)


def _last_line(written: str) -> str:
    """The last line of a text, "" without one."""
    return "".join(safe_text.last_lines(written, 1)).strip()


def _of_papermill(report: str, notebook: str) -> RunFailure:
    """The failure after papermill's `Exception encountered at "In [3]":`, with its traceback."""
    label = re.search(r'Exception encountered at "In \[(\d+)\]":?', report)
    body = report[label.end() :] if label else report
    # In Kaggle's log, the end of the outer process follows.
    body = re.split(r"(?m)^(?=\[NbConvertApp\]|Traceback \(most recent)", body)[0]
    body = _shorten(_unfolded(re.sub(r"\A[\s-]*\n", "", body).strip()))
    place, source = _cell(notebook, int(label[1])) if label else ("a cell", "")
    return RunFailure(f"{place} failed:", source, body)


def _cell(notebook: str, count: int) -> tuple[str, str]:
    """The name and the text of the `count`-th code cell, by execution count.

    It is named by its number among the notebook's own code cells, as in the local notebook.
    """
    try:
        cells = [
            cell for cell in files.parse_json(notebook)["cells"] if cell["cell_type"] == "code"
        ]
        own = [not is_added(cell) for cell in cells[:count]]
        return f"code cell {sum(own)}", "".join(cells[count - 1]["source"]).strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"cell In [{count}]", ""


def _shorten(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > TRACEBACK_LINES:
        half = TRACEBACK_LINES // 2
        lines[half:-half] = ["  … more lines, all in the log …"]
    return "\n".join(lines)
