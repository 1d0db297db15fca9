"""Files from a signed link, checked against their known lengths and hashes.

A caller may end each download by its `is_over`, which is asked after each chunk; what that raises
ends the download too.
"""

import base64
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import requests
import urllib3

from kernelkit import files
from kernelkit.files import size_of
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.transport.classify import classifying, of_response
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.shown import duration

DOWNLOAD = "download"  # in place of a method of the API
CHUNK = 1 << 18
MOST = 25_000_000_000  # bytes of one file; a session's disk has 20 GB
SLOWEST = 100.0  # bytes per second; a download below this rate counts as broken
SLOWEST_UPLOAD = 10_000.0  # bytes per second
EXPIRED = (400, 401, 403, 404, 410)  # the statuses of storage servers for an expired link


@dataclass(frozen=True)
class Expected:
    """What is known about a file beforehand.

    size    its bytes; None if that is not known
    sha256  in hexadecimal digits; None if that is not known
    most    the most bytes that it may have
    """

    size: int | None = None
    sha256: str | None = None
    most: int = MOST


class Progress:
    """How many bytes of `total` have been transferred, as a line; `total` is 0 if it is not known.

    `count` returns the bytes that are there. Those that were there at the beginning do not count
    for the rate.
    """

    def __init__(self, verb: str, total: int, count: Callable[[], int]) -> None:
        self._verb = verb
        self.total = total
        self._count = count
        self._before = count()
        self._begun = time.monotonic()

    def __call__(self) -> str:
        """Such as `sending 120.0 MB of 400.0 MB, 3.1 MB/s, 1 min 30 s left`."""
        done = self._count()
        if self.total <= 0:
            return f"{self._verb} {size_of(done)}"
        parts = [f"{self._verb} {size_of(done)} of {size_of(self.total)}"]
        if done > self._before:
            rate = (done - self._before) / max(time.monotonic() - self._begun, 0.001)
            parts.append(f"{size_of(int(rate))}/s")
            parts.append(f"{duration(max(0, self.total - done) / rate)} left")
        return ", ".join(parts)


def receive(
    kaggle: Kaggle,
    session: requests.Session,
    url: str,
    part: Path,
    expected: Expected,
    is_over: Callable[[], bool],
) -> int:
    """Download `url` to the file `part`; returns the number of bytes that it has then.

    Where an earlier download of the same content broke off, or its process was killed, only the
    rest is requested; a file beside `part` keeps the ETag, which says which content that is.

    Raises a `Failure` for a link that has expired, a file that is incomplete, and one that is not
    as `expected` or longer than announced, of which nothing stays.
    """
    timeouts = kaggle.connection.timeouts
    headers = {"Accept-Encoding": "identity"}  # so that lengths mean the same
    here = part.stat().st_size if part.is_file() else 0
    etag_file = _etag_file(part)
    if here and etag_file.is_file():
        etag = etag_file.read_bytes().decode("latin-1")
        if etag:
            # If the link has another content now, all of it comes.
            headers |= {"Range": f"bytes={here}-", "If-Range": etag}
    with (
        classifying(DOWNLOAD),
        session.get(
            url, stream=True, timeout=(timeouts.connect, timeouts.read), headers=headers
        ) as response,
    ):
        if response.status_code in EXPIRED:
            raise Failure(FailureKind.EXPIRED, DOWNLOAD, "its link had expired")
        status = response.status_code
        sent = response.headers.get("Content-Range", "")
        is_complete = here > 0 and status == 416 and sent.endswith(f"/{here}")
        is_rest = here > 0 and status == 206 and sent.startswith(f"bytes {here}-")
        body = iter(()) if is_complete else chunks(response, timeouts.slow, is_over)
        if not is_complete and not is_rest:  # all of the file comes
            _check_complete(response)
            here = 0
            part.unlink(missing_ok=True)  # before the ETag, which is not that of the old part
            etag_file.write_bytes(response.headers.get("ETag", "").encode("latin-1"))
        try:
            return _write(response, body, part, expected, here)
        except Failure as failure:
            if failure.kind is FailureKind.MALFORMED:
                forget(part)
            raise


def forget(part: Path) -> None:
    """Delete what `receive` has left of a download."""
    part.unlink(missing_ok=True)
    _etag_file(part).unlink(missing_ok=True)


def _etag_file(part: Path) -> Path:
    """The file beside a part that has the ETag of its content; empty if the server gave none."""
    return part.with_name(f"{part.name}.etag")


def chunks(
    response: requests.Response, window: float, is_over: Callable[[], bool]
) -> Iterator[bytes]:
    """The body of a streamed response as it arrives.

    Raises `requests.ReadTimeout` once `is_over()` is true, or when fewer than `SLOWEST` bytes per
    second arrived for `window` seconds; `requests.ConnectionError` when the connection breaks.
    """
    begun = time.monotonic()  # of a window
    received = 0  # in this window
    try:
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            yield chunk
            received += len(chunk)
            passed = time.monotonic() - begun
            is_too_slow = passed > window and received < SLOWEST * passed
            if is_over() or is_too_slow:
                raise requests.exceptions.ReadTimeout("the body arrives too slowly")
            if passed > window:
                begun = time.monotonic()
                received = 0
    except urllib3.exceptions.ReadTimeoutError as error:
        raise requests.exceptions.ReadTimeout(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise requests.exceptions.ConnectionError(error) from error


def sha256_of(kaggle: Kaggle, response: requests.Response, most: int) -> str:
    """The SHA-256 of a streamed response's body, in hexadecimal digits; closes the response.

    Of a body with more than `most` bytes only the beginning is read, so the hash is another one.
    Raises `Failure` for an answer without a file, or one that breaks off or arrives too slowly.
    """
    digest = hashlib.sha256()
    received = 0
    slow = kaggle.connection.timeouts.slow
    end = time.monotonic() + max(slow, most / SLOWEST_UPLOAD)  # as long as its upload could take
    with classifying(DOWNLOAD), response:
        _check_complete(response)
        if "text/html" in response.headers.get("Content-Type", ""):
            raise _malformed("a page arrived instead of the file")
        for chunk in chunks(response, slow, lambda: time.monotonic() > end):
            received += len(chunk)
            digest.update(chunk)
            if received > most:
                break
    return digest.hexdigest()


def _check_complete(response: requests.Response) -> None:
    """Raise `Failure` unless the response has a complete file."""
    if failure := of_response(DOWNLOAD, response):
        raise failure
    if response.status_code != 200:  # 202, 204, 206 and the like have none
        raise _malformed(f"HTTP {response.status_code}")


def _write(
    response: requests.Response,
    body: Iterator[bytes],
    part: Path,
    expected: Expected,
    begun: int,
) -> int:
    """Write a body to a file, after the `begun` bytes that it has already; returns its bytes.

    Raises a `Failure` unless the file has the length that the response announces and is as
    `expected`.
    """
    md5 = hashlib.md5(usedforsecurity=False)
    sha256 = hashlib.sha256()
    received = begun
    lengths = []  # which the file must have
    announced = response.headers.get("Content-Length", "")
    if response.status_code in (200, 206) and announced.isdecimal():
        lengths.append(begun + int(announced))
    if expected.size is not None:
        lengths.append(expected.size)
    if begun:
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                md5.update(chunk)
                sha256.update(chunk)
    with part.open("ab" if begun else "wb") as file:
        for chunk in body:
            received += len(chunk)
            if received > min([expected.most, *lengths]):
                raise _malformed("more bytes arrived than the file has")
            with files.named(part):
                file.write(chunk)
            md5.update(chunk)
            sha256.update(chunk)
    if any(length != received for length in lengths):
        raise _malformed(f"{received} bytes arrived instead of {lengths[-1]}")
    if expected.sha256 and sha256.hexdigest() != expected.sha256:
        raise _malformed("it is not the file that this push's session wrote")
    # Google's storage, which serves Kaggle's links, sends the MD5 of the content.
    for hashed in response.headers.get("x-goog-hash", "").split(","):
        kind, _, value = hashed.strip().partition("=")
        if kind == "md5" and value != base64.b64encode(md5.digest()).decode():
            raise _malformed("its content does not match its MD5")
    return received


def _malformed(message: str) -> Failure:
    return Failure(FailureKind.MALFORMED, DOWNLOAD, message)
