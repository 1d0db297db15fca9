"""A session's log: the live stream, the JSON array it becomes, and the failure in it.

An entry is `{"stream_name": "stdout" | "stderr", "time": seconds, "data": text}`. The live
stream replays from the start at every connection, so entries are counted, and those seen
before are passed over.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

import requests

from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.failures import Failure
from kernelkit.kaggle_api.types import Kernel
from kernelkit.runs.log import Entry, _entry, decode

METHOD = "log stream"
END = "END_OF_LOG"


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
                if not failure.is_transient:
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
