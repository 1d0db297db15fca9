"""Retries of requests, and time limits for answers.

Requests are repeated a limited number of times, with growing pauses, and not before the time in
`Retry-After`. A complete answer has a time limit, because a socket's own timeout restarts with
every byte. The clock is passed in, so that a test need not wait as long as Kaggle takes.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import requests
import urllib3

from kernelkit.kaggle_api.answers import Failure

T = TypeVar("T")

SLOWEST = 100.0  # bytes per second; a download below this rate counts as broken

LONGEST = 500_000_000  # bytes of an answer, which may contain a session's log

TOLD = 30.0  # seconds of silence after which the user is told why


@dataclass(frozen=True)
class Clock:
    """A clock that runs `speed` times as fast as wall time; all times are its own seconds."""

    speed: float = 1.0
    _sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def now(self) -> float:
        """Seconds since a fixed moment; never goes back."""
        return time.monotonic() * self.speed

    def sleep(self, seconds: float) -> None:
        """Wait; a negative time counts as zero."""
        self._sleep(max(0.0, seconds) / self.speed)

    def wall(self, seconds: float) -> float:
        """`seconds` of this clock as wall time."""
        return seconds / self.speed


REAL = Clock()


@dataclass(frozen=True)
class Retries:
    """How often, and after which pauses, a repeatable request is repeated.

    Pauses double from `first` to `longest` seconds with up to a quarter of jitter, so that
    many clients do not retry at the same moment. `patience` bounds the sum of the pauses. `tell` is
    called for each pause of `TOLD` seconds and more, with the failure before the pause.
    """

    attempts: int = 8
    first: float = 2.0
    longest: float = 60.0
    patience: float = 600.0
    clock: Clock = field(default=REAL)
    tell: Callable[[Failure, float], None] | None = None

    def pause(self, attempt: int, failure: Failure) -> float:
        """Seconds to wait after failed attempt number `attempt`, counted from 1."""
        grown = min(self.longest, self.first * 2.0 ** (attempt - 1))
        jittered = grown * random.uniform(1.0, 1.25)
        return max(jittered, failure.retry_after or 0.0)

    def call(self, ask: Callable[[], T], until: float | None = None) -> T:
        """The result of `ask`, which is called again while it raises a transient `Failure`.

        `until` is a time of the clock after which no further pause begins. Raises the last
        `Failure`.
        """
        end = self.clock.now() + self.patience
        end = end if until is None else min(end, until)
        attempt = 1
        while True:
            try:
                return ask()
            except Failure as failure:
                if not failure.is_transient or attempt >= self.attempts:
                    raise
                self.rest(failure, self.pause(attempt, failure), end)
                attempt += 1

    def rest(self, failure: Failure, seconds: float, end: float) -> None:
        """Pause this long after `failure`, or raise it if the pause would exceed `end`."""
        if self.clock.now() + seconds > end:
            raise failure
        if self.tell and seconds >= TOLD:
            self.tell(failure, seconds)
        self.clock.sleep(seconds)


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result or exception of `call`, or `requests.ReadTimeout` after this many seconds.

    An abandoned call continues in its own thread, which ends with this process.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            returned.append(call())
        except BaseException as error:  # raised again in the waiting thread
            raised.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if raised:
        raise raised[0]
    if not returned:
        raise requests.exceptions.ReadTimeout(f"no whole answer within {seconds:g} s")
    return returned[0]


def whole(send: Callable[[], requests.Response], seconds: float) -> requests.Response:
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
        begun[0]._content = bytes(body)  # where requests stores the body
        return begun[0]

    try:
        return within(seconds, read)
    except requests.exceptions.ReadTimeout:
        for response in begun:
            _cut(response.raw)
        raise


def chunks(
    response: requests.Response, size: int, window: float, late: Callable[[], bool]
) -> Iterator[bytes]:
    """The body of a streamed response as it arrives, at most `size` bytes at a time.

    Raises `requests.ReadTimeout` once `late()` is true, or when fewer than `SLOWEST` bytes per
    second arrived for `window` seconds; `requests.ConnectionError` when the connection breaks.
    """
    begun, received = time.monotonic(), 0
    try:
        while chunk := response.raw.read1(size, decode_content=True):
            yield chunk
            received += len(chunk)
            passed = time.monotonic() - begun
            if late() or (passed > window and received < SLOWEST * passed):
                raise requests.exceptions.ReadTimeout("the body arrives too slowly")
            if passed > window:
                begun, received = time.monotonic(), 0
    except urllib3.exceptions.ReadTimeoutError as error:
        raise requests.exceptions.ReadTimeout(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise requests.exceptions.ConnectionError(error) from error


def _cut(raw: Any) -> None:
    """Wake the thread that still reads this body, if it has not just ended."""
    try:
        raw.shutdown()
    except (AttributeError, ValueError, RuntimeError, OSError):
        return
