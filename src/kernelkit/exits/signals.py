"""A signal that would end a process raises an exception instead, so that what is open is closed."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

# A terminal sends SIGHUP when it closes; Windows has no such signal.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
AGAIN_SECONDS = 0.02  # from a finalizer that swallowed a signal to the same signal again


class EndedBySignal(SystemExit):
    """Raised at whatever point the signal arrives; the exit code is 128 + the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number
        self.name = signal.Signals(number).name


def _interrupt(thread: int, number: int) -> None:
    """Send a thread a signal; unlike `_thread.interrupt_main`, this cuts a `time.sleep` short."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:  # Windows
        signal.raise_signal(number)


@contextlib.contextmanager
def unwinding() -> Iterator[None]:
    """During a block, a signal that would end this process raises `EndedBySignal` instead.

    So servers and the processes that they started are closed on the way out. Signals that are
    already ignored (`nohup`) or handled stay so, and outside the main thread nothing changes. A
    second signal during the shutdown is ignored. Ctrl-C is not lost in a finalizer either.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_IGN)
        raise EndedBySignal(number)

    def again(unraisable: "sys.UnraisableHookArgs") -> None:  # a name for type checkers only
        # Python drops exceptions raised inside a finalizer: raise it again afterwards.
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            number: int = signal.SIGINT
        elif isinstance(unraisable.exc_value, EndedBySignal):
            number = unraisable.exc_value.number
            signal.signal(number, end)
        else:
            hook(unraisable)
            return
        threading.Timer(AGAIN_SECONDS, _interrupt, (threading.get_ident(), number)).start()

    hook = sys.unraisablehook
    sys.unraisablehook = again
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
