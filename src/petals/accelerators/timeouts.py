"""Call a function that may never return, with a time limit."""

import atexit
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


def call_with_timeout(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """Return or raise what `ask` does; `TimeoutError` when it does neither within `seconds`.

    `ask` runs in a thread. After a timeout the thread is left running, and the process no longer
    waits at its end for JAX, in which the thread may be stuck.
    """
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # JAX and TensorFlow raise many kinds
            answer.set_exception(error)

    # A daemon: an executor's threads would be waited for at the end of the process.
    threading.Thread(target=run, daemon=True, name="petals.accelerators.timeouts").start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        # At exit JAX clears its devices, and would wait there until the stuck thread returns.
        api = sys.modules.get("jax._src.api")
        if api is not None and hasattr(api, "clean_up"):
            atexit.unregister(api.clean_up)
        raise
