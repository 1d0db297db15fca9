"""A session's log while it runs: the live stream, and its continuation in the finished log.

An entry is `{"stream_name": "stdout" | "stderr", "time": seconds, "data": text}`. The live stream
replays from the start at every connection, so entries are counted, and those that were shown before
are skipped.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import requests
import urllib3

from kernelkit import files
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.transport.failures import Failure
from kernelkit.push.awaited.proof import printed
from kernelkit.push.known.ledger import Push
from kernelkit.session_records.log import Entry, decode, entry_of
from kernelkit.terminal.safe_text import excerpt

METHOD = "log stream"
END = "END_OF_LOG"
CHUNK = 1 << 16
LONGEST_ENTRY = 10_000  # characters of one entry that are shown
MOST_HELD = 1000  # entries to hold back before the push's number appears
LONGEST_LINE = 4_000_000  # bytes of one entry on the wire
TRACEBACK, REPORT = "Traceback (most recent", "papermill.exceptions.PapermillExecutionError"


class WithoutReport:
    """Passes entries on, without papermill's own traceback and report after a failed cell.

    The failure is shown separately. Lines of stderr from the beginning of a traceback on are held
    back until its last line, the one that is not indented: it says whether the traceback is
    papermill's. After papermill's, nothing of stderr is passed on.
    """

    def __init__(self, show: Callable[[Entry], None]) -> None:
        self._show = show
        self._held: list[Entry] = []
        self._reports = False

    def __call__(self, entry: Entry) -> None:
        """Pass an entry on, hold it back, or drop it."""
        begins = entry.text.startswith(TRACEBACK)
        if entry.stream != "stderr" or not (self._reports or self._held or begins):
            self._show(entry)
            return
        for text in entry.text.splitlines(keepends=True):
            if text.startswith(REPORT):
                self._reports = True
                self._held = []
            if self._reports:
                continue
            if text.startswith(TRACEBACK):
                self.flush()
            self._held.append(replace(entry, text=text))
            if not text.startswith((TRACEBACK, " ", "\n")):
                self.flush()

    def flush(self) -> None:
        """Pass on the entries held back, since no report followed."""
        held = self._held
        self._held = []
        for entry in held:
            self._show(entry)


class LiveLog:
    """Follows a running session's log in its own thread and passes each entry on once.

    A broken stream is reopened. Entries are held back until the push's `number` is among them; a
    stream with another number is another push's and is ignored; "" accepts any. At the
    end, the entries of the finished log that were not shown live follow. Nothing here ends a wait:
    the status says when a run is over. `seconds` is the time of the latest entry.
    """

    def __init__(
        self, kaggle: Kaggle, push: Push, number: str, show: Callable[[Entry], None]
    ) -> None:
        self._kaggle = kaggle
        self._path = f"kernels/logs/stream/{push.kernel}?versionLabel=v{push.version}"
        self.seconds = 0.0
        self._show = WithoutReport(show)
        self._number = number
        self._shown = 0  # entries
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start following, if that has not started yet."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, daemon=True)
            self._thread.start()

    def finish(self, log: str = "") -> None:
        """Stop following; pass on the entries of the finished `log` that were not shown live.

        May be called again, without a log.
        """
        self._stop.set()
        if self._thread and self._thread.is_alive():  # a signal may have come while it started
            self._thread.join(timeout=2.0)
        self._hand_on(0, decode(log))
        with self._lock:
            self._show.flush()

    def _follow(self) -> None:
        pause = 2.0
        while not self._stop.is_set():
            before = self._shown
            least = 0.0
            try:
                if self._read():
                    return
            except Failure as failure:
                if not failure.is_transient:
                    return
                least = failure.retry_after or 0.0
            pause = 2.0 if self._shown > before else min(60.0, pause * 2)
            self._stop.wait(self._kaggle.retries.clock.wall(max(pause, least)))

    def _read(self) -> bool:
        """Read one connection to its end; returns whether the log is over."""
        connection = self._kaggle.connection
        read_timeout = max(connection.timeouts.read, 1.0)
        with connection.stream(METHOD, self._path, read_timeout) as response:
            kind = (response.headers.get("Content-Type") or "").lower()
            if "event-stream" not in kind:
                return False  # queued, or finished: then the log comes with the outputs
            place = 0
            held = list[Entry]()
            proven = not self._number
            for entry in _events(response):
                if self._stop.is_set() or entry is None:
                    return True
                held.append(entry)
                if not proven:
                    number = printed(held)
                    if number not in ("", self._number) or len(held) > MOST_HELD:
                        return False
                    proven = bool(number)
                if proven:
                    self._hand_on(place, held)
                    place += len(held)
                    held.clear()
        return False

    def _hand_on(self, place: int, entries: Iterable[Entry]) -> None:
        """Pass on the entries that were not shown yet; `place`: the number of the first in the log.

        The first entry of a log has the number 0.
        """
        with self._lock:
            for number, entry in enumerate(entries, place):
                self.seconds = max(self.seconds, entry.seconds)
                if number >= self._shown:
                    self._shown = number + 1
                    text = excerpt(entry.text, LONGEST_ENTRY, "the log has them")
                    self._show(replace(entry, text=text))


def _events(response: requests.Response) -> Iterator[Entry | None]:
    """The entries of an event stream; None marks its regular end, a broken stream just stops."""
    try:
        for line in _lines(response):
            if not line.startswith(b"data:"):
                continue
            payload = line[len(b"data:") :].strip().decode("utf-8", "replace")
            if payload == END:
                yield None
                return
            try:
                event = files.parse_json(payload)
            except ValueError:
                event = None
            yield entry_of(event if isinstance(event, dict) else {"data": payload})
    except (urllib3.exceptions.HTTPError, OSError, AttributeError, ValueError):
        return  # broken: the next connection replays it


def _lines(response: requests.Response) -> Iterator[bytes]:
    """The lines of a streamed body as they arrive; raises `ValueError` for one that is too long."""
    held = bytearray()
    while chunk := response.raw.read1(CHUNK, decode_content=True):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield bytes(held + end)
            held.clear()
        held += rest
        if len(held) > LONGEST_LINE:
            raise ValueError("the line is too long to be shown live")
    if held.strip() == b"data: " + END.encode():
        yield bytes(held)
