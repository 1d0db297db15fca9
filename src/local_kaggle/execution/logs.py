"""The log of a session: appended to while it runs, streamed live, an array afterwards."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import IO, Any

END_OF_LOG = "END_OF_LOG"

Event = dict[str, Any]  # {"stream_name": "stdout" | "stderr", "time": seconds, "data": text}


class LogWriter:
    """Appends events to a file, one JSON object per line, from several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._path.write_text("")

    def write(self, stream_name: str, data: str) -> None:
        """Add one event; its time is in seconds since the log began."""
        event = {
            "stream_name": stream_name,
            "time": round(time.monotonic() - self._began, 6),
            "data": data,
        }
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def follow(self, stream_name: str, pipe: IO[bytes]) -> None:
        """Write every line of a pipe until it closes."""
        with pipe:
            for line in pipe:
                self.write(stream_name, line.decode("utf-8", errors="replace"))


def read_events(path: Path, skip: int = 0) -> list[Event]:
    """The events written so far, without the first `skip`; none where there is no log.

    A line that is still being written is left for the next call.
    """
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines[skip:]]


def as_array(events: list[Event]) -> str:
    """A finished log as Kaggle serves it: a JSON array with one entry per line."""
    if not events:
        return ""
    return "[" + "\n,".join(json.dumps(event) for event in events) + "]"


def as_sse(event: Event | str) -> bytes:
    """One event, or END_OF_LOG, as a server-sent event."""
    data = event if isinstance(event, str) else json.dumps(event)
    return f"data: {data}\n\n".encode()
