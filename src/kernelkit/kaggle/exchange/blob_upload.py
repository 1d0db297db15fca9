"""Upload one file to the link that Kaggle gives for it.

After an attempt that broke off, only the rest is sent.
"""

import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import requests

from kernelkit.errors import StorageError
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.exchange.transfers import SLOWEST_UPLOAD
from kernelkit.kaggle.transport.classify import classifying, of_response
from kernelkit.kaggle.transport.connection import StoreSession
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.transport.time_limits import within

UPLOAD = "upload"  # in place of a method of the API
COMPLETE = (200, 201)  # the statuses of an upload that has arrived


def upload(
    kaggle: Kaggle,
    file: Path,
    start: Callable[[str, int, int], Any],
    is_over: Callable[[], bool] = lambda: False,
    tell: Callable[[int], object] = lambda sent: None,
) -> str:
    """Upload a file; returns the token that names it to Kaggle.

    start    asks Kaggle for a link and a token: it takes the file's name, its bytes, and its time
             in epoch seconds
    is_over  whether to break off, which is asked before each part is sent
    tell     gets the bytes sent so far

    Raises `Failure`, and `StorageError` for a file that changes while it is sent: what arrived may
    be a mixture.
    """
    stat = file.stat()
    place = kaggle.repeated(partial(start, file.name, stat.st_size, int(stat.st_mtime)))
    is_first_attempt = True

    def send_rest() -> None:
        nonlocal is_first_attempt
        _check_unchanged(file, stat)
        begin = 0 if is_first_attempt else _arrived(kaggle, place.create_url, stat.st_size)
        is_first_attempt = False
        if begin is None:  # all has arrived, and only the answer was lost
            return
        send(kaggle, place.create_url, file, begin, is_over, tell)

    kaggle.retries.call(send_rest)
    _check_unchanged(file, stat)
    return str(place.token)


def _check_unchanged(file: Path, before: os.stat_result) -> None:
    """Raise `StorageError` unless a file has the size and the time of change that it had."""
    now = file.stat()
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise StorageError(f"{file} changed while it was sent: repeat the command")


class _Body(io.FileIO):
    """A file that is sent, until `is_over` is true."""

    def __init__(
        self, file: Path, is_over: Callable[[], bool], tell: Callable[[int], object]
    ) -> None:
        super().__init__(file)
        self._is_over = is_over
        self._tell = tell

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes; raises `requests.ConnectionError` if no more are to be sent."""
        if self._is_over():
            raise requests.exceptions.ConnectionError("interrupted")
        part = super().read(-1 if size is None else size) or b""
        self._tell(self.tell())
        return part


def send(
    kaggle: Kaggle,
    url: str,
    file: Path,
    begin: int,
    is_over: Callable[[], bool],
    tell: Callable[[int], object],
) -> None:
    """PUT a file from byte `begin` on to an upload URL, once; raises `Failure`.

    `is_over` and `tell` as in `upload`.
    """
    size = file.stat().st_size
    headers = {"Content-Range": f"bytes {begin}-{size - 1}/{size}"} if begin else {}
    try:
        with _Body(file, is_over, tell) as body:
            body.seek(begin)
            status = _put(kaggle, url, body, size - begin, headers).status_code
    except Failure:
        if is_over():
            raise Failure(FailureKind.REFUSED, UPLOAD, "interrupted") from None
        raise
    if status not in COMPLETE:
        raise Failure(FailureKind.SERVER, UPLOAD, f"HTTP {status}")


def _arrived(kaggle: Kaggle, url: str, size: int) -> int | None:
    """How many of a file's bytes an upload URL has; None once the upload is complete.

    0 if the answer names no beginning of the file, or names all of it without calling the upload
    complete. Raises `Failure`.
    """
    response = _put(kaggle, url, None, 0, {"Content-Range": f"bytes */{size}"})
    if response.status_code in COMPLETE:
        return None
    last = response.headers.get("Range", "").removeprefix("bytes=0-")
    arrived = int(last) + 1 if last.isdecimal() else 0
    return arrived if arrived < size else 0


def _put(
    kaggle: Kaggle, url: str, body: io.FileIO | None, length: int, headers: dict[str, str]
) -> requests.Response:
    """PUT `length` bytes to an upload URL; returns the answer without its body.

    Raises `Failure`.
    """
    timeouts = kaggle.connection.timeouts
    if not length:
        # requests would send an empty body without a length, and wait forever for an answer.
        headers = headers | {"Content-Length": "0"}
    with classifying(UPLOAD), StoreSession() as session:
        put = partial(
            session.put,
            url,
            data=body if length else b"",
            headers=headers,
            stream=True,
            allow_redirects=False,  # to a login page, which would take it with HTTP 200
            timeout=(timeouts.connect, timeouts.read),
        )
        # Only the answer's status is read, and the whole answer has a time limit.
        with within(timeouts.whole + length / SLOWEST_UPLOAD, put) as response:
            pass
    if failure := of_response(UPLOAD, response):
        raise failure
    return response
