"""Questions that may never be answered, asked with a limit."""

from __future__ import annotations

import atexit
import queue
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def call_with_timeout(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """What `ask` returns or raises; `TimeoutError` when neither happens within `seconds`.

    It is asked in a thread, which is left behind then, and JAX, which it may be stuck in, is no
    longer waited for when the process ends.
    """
    answers: queue.SimpleQueue = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((ask(), None))
        except Exception as error:  # every layer below raises its own kinds
            answers.put((None, error))

    threading.Thread(target=run, daemon=True, name="petals.accelerators.timeouts").start()
    try:
        value, error = answers.get(timeout=seconds)
    except queue.Empty:
        _leave_without_jax()
        raise TimeoutError from None
    if error is not None:
        raise error
    return value


def _leave_without_jax() -> None:
    # At exit JAX clears its devices, for which it would wait until the stuck thread is done.
    api = sys.modules.get("jax._src.api")
    if hasattr(api, "clean_up"):
        atexit.unregister(api.clean_up)
