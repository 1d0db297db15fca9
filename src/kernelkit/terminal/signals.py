"""Signals that end a process, turned into an exit that lets go of what it holds."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

# Windows has no SIGHUP, which a terminal sends as it closes.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class EndedBySignal(SystemExit):
    """Raised where the process is when such a signal comes; exits with 128 and its number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


@contextlib.contextmanager
def unwinding() -> Iterator[None]:
    """For the length of a block, a signal that would end this process raises `Ended` first.

    Whatever is open is closed on the way out: servers, and the processes that they started.
    A signal that somebody ignores (`nohup`) or handles already is left to them, and so is every
    one outside the main thread. A second one during the closing is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)
        raise EndedBySignal(number)

    for number in mine:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
