"""A session's log: the live stream, the JSON array it becomes, and the failure in it.

An entry is `{"stream_name": "stdout" | "stderr", "time": seconds, "data": text}`. The live
stream replays from the start at every connection, so entries are counted, and those seen
before are passed over.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import requests

from kernelkit.answers import Kernel
from kernelkit.client import Kaggle
from kernelkit.failures import Failure

METHOD = "log stream"
END = "END_OF_LOG"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# C++ libraries (TensorFlow's among them) write in this format; I is for what informs nobody.
_CHATTER = re.compile(r"I\d{4} \S+ +\d+ \S+:\d+\]|WARNING: All log messages before absl::")
TRACEBACK_LINES = 40


@dataclass(frozen=True)
class Entry:
    """One piece of a log: seconds since the session's start, and the text as written."""

    seconds: float
    stream: str
    text: str

    @property
    def chatter(self) -> bool:
        """Whether a reader loses nothing without it: a C++ library's note on its own build."""
        return self.stream == "stderr" and _CHATTER.match(self.text) is not None


@dataclass(frozen=True)
class RunFailure:
    """What ended a run: the failing cell (its label in papermill's report) and traceback."""

    cell: str
    source: str
    traceback: str

    def __str__(self) -> str:
        parts = [self.cell, _indent(_shorten(self.source)), self.traceback]
        return "\n".join(part for part in parts if part)


def decode(log: str) -> list[Entry]:
    """The entries of a finished session's log; other text counts as one entry a line."""
    try:
        found = json.loads(log or "[]")
    except ValueError:
        found = [{"data": line + "\n"} for line in log.splitlines()]
    found = found if isinstance(found, list) else [found]
    return [_entry(one) for one in found if isinstance(one, dict)]


def text(entries: list[Entry]) -> str:
    """The log as a person reads it: no colours, no chatter."""
    return ANSI.sub("", "".join(entry.text for entry in entries if not entry.chatter))


def failure(log: str, notebook: str = "") -> RunFailure | None:
    """The failing cell and its traceback, out of a finished session's log.

    `notebook` is the JSON of what ran, in which the cell's own text is looked up.
    """
    written = text(decode(log))
    found = re.search(r"(?ms)PapermillExecutionError:\s*$\n-{60,}\s*$\n(.*)", written)
    if found:
        return _of_papermill(found[1], notebook)
    if "DeadKernelError" in written:
        return RunFailure("the notebook's process was killed, as a rule for want of memory", "", "")
    starts = [m.start() for m in re.finditer(r"(?m)^Traceback \(most recent call last\)", written)]
    return RunFailure("", "", _shorten(written[starts[-1] :].strip())) if starts else None


def _of_papermill(report: str, notebook: str) -> RunFailure:
    """papermill says `Exception encountered at "In [3]":`, a rule, then IPython's traceback."""
    label = re.search(r'Exception encountered at "In \[(\d+)\]":?', report)
    body = report[label.end() :] if label else report
    # What follows in a Kaggle log is the outer process's own end.
    body = re.split(r"(?m)^(?=\[NbConvertApp\]|Traceback \(most recent)", body)[0]
    body = re.sub(r"\A[\s-]*\n", "", body).strip()
    if not label:
        return RunFailure("a cell failed", "", _shorten(body))
    source = _source(notebook, int(label[1]))
    return RunFailure(f"cell In [{label[1]}] failed:", source, _shorten(body))


def _source(notebook: str, count: int) -> str:
    """The text of the `count`-th code cell, which is what its execution count says."""
    try:
        cells = [c["source"] for c in json.loads(notebook)["cells"] if c["cell_type"] == "code"]
        return str(cells[count - 1]).strip()
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def _shorten(traceback: str) -> str:
    lines = traceback.split("\n")
    if len(lines) <= TRACEBACK_LINES:
        return traceback
    half = TRACEBACK_LINES // 2
    left_out = f"  … {len(lines) - 2 * half} lines, all in the log …"
    return "\n".join([*lines[:half], left_out, *lines[-half:]])


def _indent(source: str) -> str:
    return "\n".join(f"    {line}" for line in source.split("\n")) if source else ""


def _entry(event: dict[str, Any]) -> Entry:
    try:
        seconds = float(event.get("time") or 0.0)
    except (TypeError, ValueError):
        seconds = 0.0
    return Entry(seconds, str(event.get("stream_name", "stdout")), str(event.get("data") or ""))


class LiveLog:
    """Follows a running session's log from a thread of its own and hands on each entry once.

    A stream that breaks is taken up again; the log of a finished session is handed on too, as
    far as it was not seen live. Nothing here ends a wait: the status says when a run is over.
    """

    def __init__(
        self, kaggle: Kaggle, kernel: Kernel, version: int, tell: Callable[[Entry], None]
    ) -> None:
        self._kaggle, self._kernel, self._version, self._tell = kaggle, kernel, version, tell
        self._seen = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to follow, if not yet begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, daemon=True)
            self._thread.start()

    def finish(self, log: str = "") -> None:
        """Stop following; hand on what the finished `log` has beyond what was seen."""
        self._stop.set()
        if self._thread:
            self._thread.join(timeout=2.0)
        for entry in decode(log)[self._seen :]:
            self._hand_on(self._seen, entry)

    def _follow(self) -> None:
        pause = 2.0
        while not self._stop.is_set():
            before, least = self._seen, 0.0
            try:
                if self._read():
                    return
            except Failure as failure:
                if not failure.may_pass:
                    return
                least = failure.retry_after or 0.0
            pause = 2.0 if self._seen > before else min(60.0, pause * 2)
            self._stop.wait(self._kaggle.retries.clock.wall(max(pause, least)))

    def _read(self) -> bool:
        """Read one connection to its end; whether the log is over."""
        path = f"kernels/logs/stream/{self._kernel}?versionLabel=v{self._version}"
        read_timeout = max(self._kaggle.connection.timeouts.read, 1.0)
        with self._kaggle.connection.stream(METHOD, path, read_timeout) as response:
            kind = (response.headers.get("Content-Type") or "").lower()
            if "event-stream" not in kind:
                return False  # queued, or finished: the finished log comes with the outputs
            for place, entry in enumerate(_events(response)):
                if self._stop.is_set():
                    return True
                if entry is None:
                    return True
                self._hand_on(place, entry)
        return False

    def _hand_on(self, place: int, entry: Entry) -> None:
        with self._lock:
            if place < self._seen:
                return
            self._seen = place + 1
        self._tell(entry)


def _events(response: requests.Response) -> Iterator[Entry | None]:
    """The entries of an event stream; None at its proper end, nothing more when it breaks."""
    try:
        for line in response.iter_lines(chunk_size=1):
            if not line.startswith(b"data:"):
                continue
            payload = line[len(b"data:") :].strip().decode("utf-8", "replace")
            if payload == END:
                yield None
                return
            try:
                event = json.loads(payload)
            except ValueError:
                event = {"data": payload}
            yield _entry(event if isinstance(event, dict) else {"data": payload})
    except (requests.exceptions.RequestException, OSError, AttributeError):
        return  # cut: the next connection replays
