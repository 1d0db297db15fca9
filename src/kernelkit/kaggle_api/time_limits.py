"""Limits in time for a whole answer: a socket's own time limit begins anew with every byte."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import requests
import urllib3

T = TypeVar("T")

SLOWEST = 100.0  # bytes a second; a download below this rate counts as broken


def within(seconds: float, call: Callable[[], T]) -> T:
    """What `call` returns or raises; `requests.ReadTimeout` where it takes longer than that.

    A call that is given up goes on in a thread of its own, which ends with this process.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            returned.append(call())
        except BaseException as error:  # raised again where it is waited for
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
    """The response that `send` gives, its body read, within that many seconds."""
    begun: list[requests.Response] = []

    def read() -> requests.Response:
        begun.append(send())
        _ = begun[0].content  # requests keeps what was read
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
    """The body of a streamed response as it comes, at most `size` bytes at a time.

    Raises `requests.ReadTimeout` once `late()` is true, or when fewer than `SLOWEST` bytes a
    second came for `window` seconds; `requests.ConnectionError` when the connection breaks.
    """
    begun, received = time.monotonic(), 0
    try:
        while chunk := response.raw.read1(size, decode_content=True):
            yield chunk
            received += len(chunk)
            passed = time.monotonic() - begun
            if late() or (passed > window and received < SLOWEST * passed):
                raise requests.exceptions.ReadTimeout("the body comes too slowly")
            if passed > window:
                begun, received = time.monotonic(), 0
    except urllib3.exceptions.ReadTimeoutError as error:
        raise requests.exceptions.ReadTimeout(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise requests.exceptions.ConnectionError(error) from error


def _cut(raw: Any) -> None:
    """Wake the thread that still reads this body; nothing where it has just ended."""
    try:
        raw.shutdown()
    except (AttributeError, ValueError, RuntimeError, OSError):
        return
