"""What a push tells while it goes on: one event at a time, for eyes or for programs.

A terminal gets a line an event, and one moving line of times; a CI log gets the same lines
and the times every few minutes. With `--json` each event is one JSON object a line; with
`--quiet` those of `RESULTS` alone are told.
Everything is cleared of the secrets it was told of, and says so when it is a rehearsal.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from kernelkit import terminal

Emit = Callable[..., None]  # emit("event", text, **facts)

PLAIN_PROGRESS_SECONDS = 300.0
SHORTEST_SECRET = 8  # characters; shorter texts occur by chance
# What is told when all else is not wanted: what needs attention, and what came of it.
RESULTS = frozenset({
    "warning", "error", "failure", "stopped", "left", "dry run", "metrics", "report", "score",
    "dataset", "fetched", "status", "quota",
})  # fmt: skip
LABEL = 9  # columns for the event's name


class Reporter:
    """Writes events to a stream; call it with the event's name, its sentence and its facts."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        as_json: bool = False,
        quiet: bool = False,
        rehearsal: bool = False,
        secrets: Iterable[str] = (),
    ) -> None:
        self.stream = stream or sys.stdout
        self.as_json, self.quiet, self.rehearsal = as_json, quiet, rehearsal
        self._secrets: list[str] = []
        self.keep_secret(secrets)
        self._moves = not as_json and self.stream.isatty()
        self._progress_shown: float | None = None
        self._moving = False

    def __call__(self, event: str, text: str = "", **facts: Any) -> None:
        """Tell of one event. `progress` is the one that may be left out or overwritten."""
        if self.quiet and event not in RESULTS:
            return
        if self.as_json:
            self._write_json(event, text, facts)
        elif event == "progress":
            self._progress(f"{'':<{LABEL}} {terminal.one_line(terminal.plain(text))}")
        else:
            label = "  |" if event == "log" else f"{event:<{LABEL}}"
            first, *others = terminal.plain(text).rstrip("\n").split("\n")
            indent = label if event == "log" else " " * LABEL
            self._line("\n".join([f"{label} {first}", *(f"{indent} {line}" for line in others)]))

    def keep_secret(self, secrets: Iterable[str]) -> None:
        """Never print these from here on."""
        self._secrets += [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]

    def clear(self, text: str) -> str:
        """The text with every secret replaced."""
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text

    def _write_json(self, event: str, text: str, facts: dict[str, Any]) -> None:
        message: dict[str, Any] = {"event": event}
        if self.rehearsal:
            message["rehearsal"] = True
        if text:
            message["text"] = text
        line = json.dumps(message | facts, default=str)
        self._write(self.clear(line) + "\n")
        self.stream.flush()

    def _line(self, text: str) -> None:
        self._erase()
        prefix = "[rehearsal] " if self.rehearsal else ""
        for line in self.clear(text).split("\n"):
            self._write(f"{prefix}{line.rstrip()}\n")
        self.stream.flush()

    def _progress(self, text: str) -> None:
        if self._moves:
            self._erase()
            width = _width() - 1
            prefix = "[rehearsal] " if self.rehearsal else ""
            self._write(f"{prefix}{text}"[:width])
            self.stream.flush()
            self._moving = True
            return
        now = time.monotonic()
        if self._progress_shown is None or now - self._progress_shown >= PLAIN_PROGRESS_SECONDS:
            self._progress_shown = now
            self._line(text)

    def _write(self, text: str) -> None:
        self.stream.write(terminal.writable(text, self.stream))

    def _erase(self) -> None:
        if self._moving:
            self.stream.write("\r\x1b[K")
            self._moving = False


def secrets_of_environment() -> list[str]:
    """The credentials in this process's environment, which must never be printed."""
    names = ("KAGGLE_KEY", "KAGGLE_API_TOKEN", "KAGGLE_API_V1_TOKEN")
    found = [value for name in names if (value := os.environ.get(name))]
    # The client takes a path in a token's place; Path.exists raises for a token that is too long.
    return [value for value in found if not os.path.exists(value)]  # noqa: PTH110


def minutes(seconds: float) -> str:
    """A time as people write it: `42 s`, `7 min`, `2 h 05 min`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    whole = round(seconds / 60)
    return f"{whole} min" if whole < 120 else f"{whole // 60} h {whole % 60:02d} min"


def size_of(bytes_: int) -> str:
    """A size as people write it: `812 bytes`, `34 kB`, `1.5 MB`."""
    if bytes_ < 1000:
        return f"{bytes_} bytes"
    return f"{bytes_ / 1e3:.0f} kB" if bytes_ < 1_000_000 else f"{bytes_ / 1e6:.1f} MB"


def _width() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80
