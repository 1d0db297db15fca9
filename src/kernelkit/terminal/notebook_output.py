"""What a notebook prints, shown on a terminal: its lines, and its steps on the live line."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from kernelkit.terminal import safe_text
from kernelkit.terminal.live_line import LiveLine, ticking, with_step


class NotebookOutput(io.TextIOBase):
    """A stream that copies a notebook's output to another stream, with its steps on one line.

    Colours are kept, unless NO_COLOR is set (https://no-color.org).
    """

    def __init__(
        self,
        stream: TextIO,
        is_new: Callable[[str], bool] = lambda line: True,
        steps_on: "NotebookOutput | None" = None,
    ) -> None:
        """Show on a stream what is written to this one.

        is_new    whether a line is to be shown, and has not reached the terminal otherwise
        steps_on  the output whose live line shows the steps, if it is not this one: one terminal
                  has one live line for stdout and stderr
        """
        self._line = LiveLine(stream)
        self._steps_on = steps_on or self
        self._rest = ""
        self._is_new = is_new
        self._step = ""  # the one that the notebook showed last
        self._state = ""

    def write(self, text: str) -> int:
        """Show the complete lines; an incomplete last line waits for its end."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._show(line)
        return len(text)

    def close(self) -> None:
        """Show an incomplete last line, and erase the live line."""
        if self._rest:
            self._show(self._rest)
        self._rest = ""
        self._line.erase()

    @contextmanager
    def timed(self, state: Callable[[], str]) -> Iterator[None]:
        """During a block, the live line shows a state, such as the time, and the last step."""

        def forms() -> Sequence[str]:
            self._state = state()
            return self._forms()

        with ticking(self._line, forms):
            yield
        self._state = ""

    def _forms(self) -> Sequence[str]:
        if self._state and self._step:
            return with_step(self._state, self._step)
        return (self._state or self._step,)

    def _show(self, line: str) -> None:
        line = safe_text.plain(line, colours=not os.environ.get("NO_COLOR"))
        if safe_text.is_step(line):
            self._steps_on._show_step(safe_text.one_line(safe_text.plain(line)))
        elif not safe_text.note_level(line) and self._is_new(safe_text.plain(line)):
            self._steps_on._step = ""
            self._line.stay(line)

    def _show_step(self, step: str) -> None:
        self._step = step
        self._line.move(*self._forms())
