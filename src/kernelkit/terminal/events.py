"""The events of a running command, for people or for programs.

A terminal gets one line per event, a box around the result, and one live line with times and steps
that is overwritten in place; a CI log gets the same lines, and the live one each half minute.
With `--json`, each event is one JSON object on its own line, including steps and libraries' notes;
with `--quiet`, only what needs attention and the results are written. Known secrets are removed,
and each line of a rehearsal is marked.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, TextIO, TypedDict

import click

from kernelkit.terminal import safe_text
from kernelkit.terminal.live_line import LiveLine, so_far, ticking, with_step

NAME_WIDTH = 9  # columns for an event's name
NO_NAME = " " * NAME_WIDTH


class Event(str):
    """The name of a kind of event: a constant beside the code that emits it.

    quiet    whether `--quiet` shows it too: what needs attention, and results
    boxed    whether a terminal shows it in the box of the result
    listed   whether people see it without its name, as an item below the event before it
    colour   of its name in a terminal; without one it is dim

    It is a text, so programs read the name in `--json` and compare it as such.
    """

    quiet: bool
    boxed: bool
    listed: bool
    colour: str

    def __new__(
        cls,
        name: str,
        *,
        quiet: bool = False,
        boxed: bool = False,
        listed: bool = False,
        colour: str = "",
    ) -> Self:
        event = super().__new__(cls, name)
        event.quiet = quiet
        event.boxed = boxed
        event.listed = listed
        event.colour = colour
        return event


# What any command may emit.
WARNING = Event("warning", quiet=True, colour="yellow")
ERROR = Event("error", quiet=True, colour="red")
PROGRESS = Event("progress")  # the live line
LOG = Event("log")
NEXT = Event("next")  # what to type next
WAITING = Event("waiting")
STATUS = Event("status", quiet=True)
INTERRUPTED = Event("interrupted")
STOPPED = Event("stopped", quiet=True, colour="yellow")
DRY_RUN = Event("dry run", quiet=True)
METRICS = Event("metrics", quiet=True, boxed=True)
REPORT = Event("report", quiet=True, boxed=True)


class EventOptions(TypedDict, total=False):
    """How a command shows its events; see `Events`."""

    stream: TextIO | None
    as_json: bool
    quiet: bool


class Events:
    """Writes events to a stream; call it with the event, its sentence and its data.

    `told` counts the events of each name.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        as_json: bool = False,
        quiet: bool = False,
        rehearsal: bool = False,
    ) -> None:
        self.stream = stream or sys.stdout
        self.as_json = as_json
        self.quiet = quiet
        self.rehearsal = rehearsal
        self.told: Counter[str] = Counter()
        self._secrets: list[str] = []
        self.keep_secret(secrets_of_environment())
        self._line = LiveLine(self.stream)
        self._state = self._step = ""  # the run's state, and the last step in its log
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._coloured = self.stream.isatty() and not plain
        self._box: list[str] = []  # the events that belong in it
        self._news: set[tuple[str, str]] = set()  # in blocks of `only_news`
        self._only_news = False

    def __call__(self, event: Event, text: str = "", **facts: Any) -> None:
        """Write one event. The live line shows `progress` and the steps in a `log`."""
        self.told[event] += 1
        if self.quiet and not event.quiet:
            return
        if self._only_news and event not in (PROGRESS, LOG):
            if (event, text) in self._news:
                return
            self._news.add((event, text))
        if self.as_json:
            self._write_json(event, text, facts)
        else:
            self._show(event, safe_text.plain(text).rstrip("\n"))

    @contextmanager
    def moving(self, state: Callable[[], str]) -> Iterator[None]:
        """During a block that takes long, show a state on the live line, for people alone."""

        def forms() -> Sequence[str]:
            text = state()
            return [self._marked(f"{NO_NAME} {text}"), self._marked(text)]

        if self.quiet or self.as_json:
            yield
            return
        with ticking(self._line, forms):
            yield

    def timed(self, what: str) -> AbstractContextManager[None]:
        """A block that takes long: people see what it does on the live line, and for how long."""
        return self.moving(so_far(what))

    @contextmanager
    def only_news(self) -> Iterator[None]:
        """A block that is repeated: what it told before, in the same words, is not told again."""
        self._only_news = True
        try:
            yield
        finally:
            self._only_news = False

    def end(self) -> None:
        """Write the box and erase the live line, so that other output appears below the events."""
        self._close_box()
        self._line.erase()

    def _close_box(self) -> None:
        """Write the box: without a right border or line breaks, so that a path can be copied."""
        if self._box:
            title = "rehearsal" if self.rehearsal else ""
            rows = "\n".join(self._box).split("\n")
            self._box = []
            lines = (f"╭── {title}", *(f"│ {row}" for row in rows), "╰──")
            self._line.stay(*map(self.clear, lines))

    def keep_secret(self, secrets: Iterable[str]) -> None:
        """Remove these from everything that is printed from now on."""
        self._secrets += secrets

    def clear(self, text: str) -> str:
        """The text with every secret replaced."""
        return safe_text.without(self._secrets, text)

    def _write_json(self, event: str, text: str, facts: dict[str, Any]) -> None:
        message: dict[str, Any] = {"event": event}
        if self.rehearsal:
            message["rehearsal"] = True
        if text:
            message["text"] = text
        self._line.write(self.clear(json.dumps(message | facts, default=str)) + "\n")

    def _show(self, event: Event, text: str) -> None:
        boxed = event.boxed or (event == NEXT and self._box)
        if boxed and self.stream.isatty():
            self._box.append(self._named(event, text))
            return
        self._close_box()
        if event == PROGRESS:
            self._state = safe_text.one_line(text)
            self._move()
        elif event == LOG:
            self._show_log(text)
        else:
            self._state = self._step = ""
            self._stay(self._named(event, text))

    def _named(self, event: Event, text: str) -> str:
        """The text, indented, behind the event's name; an item of a list behind a dash."""
        if event.listed:
            return f"{NO_NAME} - {text}".replace("\n", f"\n{NO_NAME}   ")
        name = f"{event:<{NAME_WIDTH}}"
        if self._coloured:
            name = click.style(name, fg=event.colour or None, dim=not event.colour or None)
        return f"{name} {text}".replace("\n", f"\n{NO_NAME} ")

    def _show_log(self, text: str) -> None:
        for line in text.split("\n"):
            if safe_text.is_step(line):
                self._step = safe_text.one_line(line.strip())
                self._move()
            elif not safe_text.note_level(line):
                self._step = ""
                self._stay(f"  | {line}")

    def _move(self) -> None:
        forms: tuple[str, ...] = (self._state or self._step,)
        if self._state and self._step:
            forms = with_step(self._state, self._step)
        self._line.move(*map(self._marked, (f"{NO_NAME} {forms[0]}", *forms)))

    def _stay(self, text: str) -> None:
        self._line.stay(*map(self._marked, text.split("\n")))

    def _marked(self, line: str) -> str:
        return self.clear(f"[rehearsal] {line}" if self.rehearsal else line)


def secrets_of_environment() -> list[str]:
    """The credentials in this process's environment, which must never be printed."""
    names = ("KAGGLE_KEY", "KAGGLE_API_TOKEN", "KAGGLE_API_V1_TOKEN")
    values = [os.environ.get(name, "") for name in names]
    # The client also accepts a path instead of a token; Path.exists raises for a very long token.
    return [value for value in values if value and not os.path.exists(value)]  # noqa: PTH110
