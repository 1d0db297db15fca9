"""Files from a signed link, checked against their known lengths and hashes."""

import base64
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import requests
import urllib3

from kernelkit import files
from kernelkit.kaggle.client import Kaggle
from kernelkit.kaggle.transport.classify import classifying, of_response
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.shown import duration
from kernelkit.terminal.events import size_of

DOWNLOAD = "download"  # in place of a method of the API
CHUNK = 1 << 18
MOST = 25_000_000_000  # bytes of one file; a session's disk has 20 GB
SLOWEST = 100.0  # bytes per second; a download below this rate counts as broken
SLOWEST_UPLOAD = 10_000.0  # bytes per second
EXPIRED = (400, 401, 403, 404, 410)  # the statuses of storage servers for an expired link


@dataclass(frozen=True)
class Expected:
    """What is known about a file beforehand: bytes, SHA-256 (None: unknown), `most` bytes."""

    size: int | None = None
    sha256: str | None = None
    most: int = MOST


class Progress:
    """How many bytes of `total` have been transferred, as a line; of 0 the total is not known.

    What was there before it was made does not count for the rate.
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
    late: Callable[[], bool],
) -> int:
    """Download `url` to the file `part`; returns the number of bytes that it has then.

    `late`: whether the wait is over, as in `chunks`. Where an earlier download of the same content
    broke off, or its process was killed, only the rest is requested; a file beside `part` says
    which content that is. Raises a `Failure` for a link that has expired, a file that is
    incomplete, and one that is not as `expected` or longer than announced, of which nothing stays.
    """
    timeouts = kaggle.connection.timeouts
    headers = {"Accept-Encoding": "identity"}  # so that lengths mean the same
    mark = _mark(part)
    here = part.stat().st_size if part.is_file() else 0
    content = mark.read_bytes().decode("latin-1") if here and mark.is_file() else ""
    if content:
        # With the content's mark: of another content, all of it comes.
        headers |= {"Range": f"bytes={here}-", "If-Range": content}
    with (
        classifying(DOWNLOAD),
        session.get(
            url, stream=True, timeout=(timeouts.connect, timeouts.read), headers=headers
        ) as response,
    ):
        if response.status_code in EXPIRED:
            raise Failure(FailureKind.EXPIRED, DOWNLOAD, "its link had expired")
        body = chunks(response, timeouts.slow, late)
        sent = response.headers.get("Content-Range", "")
        if here and response.status_code == 416 and sent.endswith(f"/{here}"):
            body = iter(())  # nothing is left to come
        elif not (here and response.status_code == 206 and sent.startswith(f"bytes {here}-")):
            _check_complete(response)
            here = 0
            part.unlink(missing_ok=True)  # before its mark changes
            mark.write_bytes(response.headers.get("ETag", "").encode("latin-1"))
        try:
            return _write(response, body, part, expected, here)
        except Failure as failure:
            if failure.kind is FailureKind.MALFORMED:
                forget(part)
            raise


def forget(part: Path) -> None:
    """Delete what `receive` has left of a download."""
    part.unlink(missing_ok=True)
    _mark(part).unlink(missing_ok=True)


def _mark(part: Path) -> Path:
    """The file that says of which content a part is."""
    return part.with_name(f"{part.name}.etag")


def chunks(response: requests.Response, window: float, late: Callable[[], bool]) -> Iterator[bytes]:
    """The body of a streamed response as it arrives.

    Raises `requests.ReadTimeout` once `late()` is true, or when fewer than `SLOWEST` bytes per
    second arrived for `window` seconds; `requests.ConnectionError` when the connection breaks.
    """
    begun = time.monotonic()
    received = 0
    try:
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            yield chunk
            received += len(chunk)
            passed = time.monotonic() - begun
            if late() or (passed > window and received < SLOWEST * passed):
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
    begun = time.monotonic()
    longest = max(slow, most / SLOWEST_UPLOAD)
    with classifying(DOWNLOAD), response:
        _check_complete(response)
        if "text/html" in response.headers.get("Content-Type", ""):
            raise _malformed("a page arrived instead of the file")
        for chunk in chunks(response, slow, lambda: time.monotonic() - begun > longest):
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
    begun: int = 0,
) -> int:
    """Write a body to a file, after the bytes of it that are there already (`begun`)."""
    md5 = hashlib.md5(usedforsecurity=False)
    sha256 = hashlib.sha256()
    received = begun
    stated = response.headers.get("Content-Length", "")
    of_body = response.status_code in (200, 206) and stated.isdecimal()
    lengths = [begun + int(stated)] if of_body else []
    lengths += [] if expected.size is None else [expected.size]
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
