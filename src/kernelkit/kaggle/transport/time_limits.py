"""A time limit for every request: for the whole answer, unless whoever asked reads it as a stream.

A socket's own timeout restarts with every byte, so an answer that trickles would never end. Whoever
reads a stream limits it: `exchange.transfers` ends one that comes too slowly.
"""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import requests
from requests.adapters import HTTPAdapter

T = TypeVar("T")

LONGEST = 500_000_000  # bytes of an answer, which may contain a session's log


@dataclass(frozen=True)
class Timeouts:
    """Seconds (wall time) after which a request fails."""

    connect: float = 15.0
    read: float = 60.0  # without a byte
    authenticate: float = 90.0
    whole: float = 300.0  # for a complete answer, however slowly it arrives
    slow: float = 30.0  # for a download below `transfers.SLOWEST` bytes per second


class TimedAdapter(HTTPAdapter):
    """Gives each request a time limit, and stores the last answer of each thread."""

    def __init__(self, timeouts: Timeouts) -> None:
        super().__init__(pool_maxsize=32)
        self._timeouts = timeouts
        self.last = threading.local()

    def send(self, request: Any, *arguments: Any, **options: Any) -> requests.Response:
        """Send as the base class does; a whole answer has a time limit, a stream has its reader."""
        self.last.response = None
        if options.get("timeout") is None:
            options["timeout"] = (self._timeouts.connect, self._timeouts.read)
        send = partial(super().send, request, *arguments, **options)
        response = send() if options.get("stream") else _whole(send, self._timeouts.whole)
        self.last.response = response
        return response


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result or exception of `call`, or `requests.ReadTimeout` after this many seconds.

    An abandoned call continues in its own thread, which ends with this process. An answer that it
    gets after all is closed: nobody reads it, and its socket would stay open.
    """
    returned: list[T] = []
    raised: list[BaseException] = []
    ending = threading.Lock()  # either `within` returns an answer, or `work` closes it
    abandoned = False

    def work() -> None:
        try:
            answer = call()
        except BaseException as error:  # raised again in the waiting thread
            raised.append(error)
            return
        with ending:
            if not abandoned:
                returned.append(answer)
                return
        if isinstance(answer, requests.Response):
            answer.close()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if raised:
        raise raised[0]
    with ending:
        abandoned = not returned
    if abandoned:
        raise requests.exceptions.ReadTimeout(f"no complete answer within {seconds:g} s")
    return returned[0]


def _whole(send: Callable[[], requests.Response], seconds: float) -> requests.Response:
    """The response of `send`, with its body read, within this many seconds.

    Raises `requests.ConnectionError` for a body of more than `LONGEST` bytes.
    """
    begun: list[requests.Response] = []

    def read() -> requests.Response:
        begun.append(send())
        body = bytearray()
        for chunk in begun[0].iter_content(1 << 20):
            body += chunk
            if len(body) > LONGEST:
                begun[0].close()
                raise requests.exceptions.ConnectionError(f"more than {LONGEST:,} bytes arrived")
        begun[0]._content = bytes(body)  # where requests stores it
        return begun[0]

    try:
        return within(seconds, read)
    except requests.exceptions.ReadTimeout:
        for response in begun:  # wake the thread that still reads, if it has not just ended
            with contextlib.suppress(AttributeError, ValueError, RuntimeError, OSError):
                response.raw.shutdown()
        raise
