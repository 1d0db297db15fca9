"""The events of a running command, for people or for programs.

A terminal gets one line per event, one live line with times and steps, and a box around the
result; a CI log gets the same lines, and the times once a minute. With `--json`, each event is one
JSON object on its own line, including steps and libraries' notes; with `--quiet`, only the events
in `RESULTS` are written. Known secrets are removed, and each line of a rehearsal is marked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO, TypedDict

from kernelkit.terminal import live_line, safe_text
from kernelkit.terminal.live_line import LiveLine

SHORTEST_SECRET = 8  # characters; shorter strings occur by chance
# The events that `--quiet` shows: those that need attention, and the results.
RESULTS = frozenset(
    {
        "warning",
        "error",
        "failure",
        "stopped",
        "left",
        "dry run",
        "metrics",
        "report",
        "score",
        "dataset",
        "model",
        "fetched",
        "status",
        "quota",
        "program",
        "refused",
        "largest",
    }
)
# A terminal shows these in a box, when the command moves on or ends.
IN_THE_BOX = frozenset({"metrics", "report", "score", "next"})


class EventOptions(TypedDict, total=False):
    """How a command shows its events; see `Events`."""

    stream: TextIO | None
    as_json: bool
    quiet: bool


class Events:
    """Writes events to a stream; call it with the event's name, its sentence and its data."""

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
        self._line = LiveLine(self.stream)
        self._state = self._step = ""  # the run's state, and the last step in its log
        self._boxes, self._coloured = self.stream.isatty(), live_line.has_colours(self.stream)
        self._box: list[tuple[str, list[str]]] = []

    def __call__(self, event: str, text: str = "", **facts: Any) -> None:
        """Write one event. The live line shows `progress` and the steps in a `log`.

        When the reader is gone (`| head -1`), the command continues silently.
        """
        try:
            self._tell(event, text, facts)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    def _tell(self, event: str, text: str, facts: dict[str, Any]) -> None:
        if self.quiet and event not in RESULTS:
            return
        if self.as_json:
            self._write_json(event, text, facts)
        elif self._boxes and event in IN_THE_BOX:
            self._box.append((event, safe_text.plain(text).rstrip("\n").split("\n")))
        elif event == "progress":
            self._state = safe_text.one_line(safe_text.plain(text))
            self._move()
        elif event == "log":
            self._write_log(safe_text.plain(text).rstrip("\n").split("\n"))
        else:
            self._state = self._step = ""
            first, *others = safe_text.plain(text).rstrip("\n").split("\n")
            named = live_line.label(event, coloured=self._coloured)
            self._stay(
                f"{named} {first}", *(f"{'':<{live_line.NAME_WIDTH}} {line}" for line in others)
            )

    def end(self) -> None:
        """Write the box and erase the live line, so that other output appears below the events."""
        self._close_box()
        self._line.erase()

    def _close_box(self) -> None:
        rows, self._box = self._box, []
        if rows:
            title = "rehearsal" if self.rehearsal else ""
            lines = live_line.box(title, rows, coloured=self._coloured)
            self._line.stay(*(self.clear(line) for line in lines))

    def keep_secret(self, secrets: Iterable[str]) -> None:
        """Remove these from everything that is printed from now on."""
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
        self.stream.write(safe_text.writable(self.clear(line) + "\n", self.stream))
        self.stream.flush()

    def _write_log(self, lines: Iterable[str]) -> None:
        for line in lines:
            if live_line.is_step(line):
                self._step = safe_text.one_line(line.strip())
                self._move()
            elif not live_line.note_level(line):
                self._step = ""
                self._stay(f"  | {line}")

    def _move(self) -> None:
        self._close_box()
        message = ": ".join(part for part in (self._state, self._step) if part)
        self._line.move(self._own(f"{'':<{live_line.NAME_WIDTH}} {message}"))

    def _stay(self, *lines: str) -> None:
        self._close_box()
        self._line.stay(*(self._own(line) for line in lines))

    def _own(self, line: str) -> str:
        return self.clear(f"[rehearsal] {line}" if self.rehearsal else line)


def secrets_of_environment() -> list[str]:
    """The credentials in this process's environment, which must never be printed."""
    names = ("KAGGLE_KEY", "KAGGLE_API_TOKEN", "KAGGLE_API_V1_TOKEN")
    values = [value for name in names if (value := os.environ.get(name))]
    # The client also accepts a path instead of a token; Path.exists raises for a very long token.
    return [value for value in values if not os.path.exists(value)]  # noqa: PTH110


def size_of(bytes_: int) -> str:
    """A size formatted for people: `812 bytes`, `34 kB`, `1.5 MB`."""
    if bytes_ < 1000:
        return f"{bytes_} bytes"
    return f"{bytes_ / 1e3:.0f} kB" if bytes_ < 1_000_000 else f"{bytes_ / 1e6:.1f} MB"


def from_here(path: Path) -> str:
    """A path as a user would type it: relative to the current folder, if that is shorter."""
    return min(os.path.relpath(path), str(path), key=len)
