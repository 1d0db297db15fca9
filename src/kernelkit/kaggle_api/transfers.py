"""Files from a signed link, checked against their known lengths and hashes, and files to a URL."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import requests

from kernelkit.kaggle_api import retries
from kernelkit.kaggle_api.answers import Failure, FailureKind
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import StoreSession, of_answer, of_network

DOWNLOAD, UPLOAD = "download", "upload"  # in place of a method of the API
CHUNK = 1 << 18
MOST = 25_000_000_000  # bytes of one file; a session's disk has 20 GB
SLOWEST_UPLOAD = 10_000.0  # bytes a second
EXPIRED = (400, 401, 403, 404, 410)  # the statuses of storage servers for an expired link


class LinkExpiredError(Failure):
    """The storage server no longer accepts the link; a fresh list of the outputs has another."""

    def __init__(self) -> None:
        super().__init__(FailureKind.SERVER, DOWNLOAD, "its link had expired")


@dataclass(frozen=True)
class Expected:
    """What is known about a file beforehand: bytes, SHA-256 (None: unknown), `most` bytes."""

    size: int | None = None
    sha256: str | None = None
    most: int = MOST


def receive(
    kaggle: Kaggle,
    session: requests.Session,
    url: str,
    part: Path,
    expected: Expected,
    until: float | None,
) -> int:
    """Download `url` to the file `part`; returns the number of received bytes.

    `until`: the end of the wait, on the clock of `kaggle.retries`. Raises `LinkExpiredError`, or
    another `Failure` for a file that is incomplete, not as `expected` or longer than announced.
    """
    clock, timeouts = kaggle.retries.clock, kaggle.connection.timeouts
    try:
        with session.get(
            url,
            stream=True,
            timeout=(timeouts.connect, timeouts.read),
            headers={"Accept-Encoding": "identity"},  # so that lengths mean the same
        ) as response:
            if response.status_code in EXPIRED:
                raise LinkExpiredError
            if failure := of_answer(DOWNLOAD, response):
                raise failure
            if response.status_code != 200:  # 202, 204, 206 and the like have no complete file
                raise _malformed(f"HTTP {response.status_code}")
            chunks = retries.chunks(
                response, CHUNK, timeouts.slow, lambda: until is not None and clock.now() > until
            )
            return _write(response, chunks, part, expected)
    except requests.exceptions.RequestException as error:
        raise of_network(DOWNLOAD, error) from None


def _write(
    response: requests.Response, chunks: Iterator[bytes], part: Path, expected: Expected
) -> int:
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    received = 0
    stated = response.headers.get("Content-Length", "")
    lengths = [int(stated)] if stated.isdecimal() else []
    lengths += [] if expected.size is None else [expected.size]
    most = min([expected.most, *lengths])
    with part.open("wb") as file:
        for chunk in chunks:
            received += len(chunk)
            if received > most:
                raise _malformed(f"more than {most} bytes arrived")
            file.write(chunk)
            md5.update(chunk)
            sha256.update(chunk)
    for length in lengths:
        if length != received:
            raise _malformed(f"{received} bytes arrived instead of {length}")
    if expected.sha256 and sha256.hexdigest() != expected.sha256:
        raise _malformed("it is not the file that this push's session wrote")
    # Google's storage, which serves Kaggle's links, sends the MD5 of the content.
    for hashed in response.headers.get("x-goog-hash", "").split(","):
        kind, _, value = hashed.strip().partition("=")
        if kind == "md5" and value != base64.b64encode(md5.digest()).decode():
            raise _malformed("its content differs from its MD5")
    return received


def _malformed(message: str) -> Failure:
    return Failure(FailureKind.MALFORMED, DOWNLOAD, message)


def upload(kaggle: Kaggle, file: Path, method: str, service: str, **fields: Any) -> str:
    """Upload a file to the URL from Kaggle's `method`; returns the token for the file."""
    stat = file.stat()
    fields |= {
        "content_length": stat.st_size,
        "last_modified_epoch_seconds": int(stat.st_mtime),
    }
    place = kaggle.repeated(method, service, **fields)
    send(kaggle, place.create_url, file)
    return str(place.token)


def send(kaggle: Kaggle, url: str, file: Path) -> None:
    """PUT a whole file to an upload URL, with retries; raises `Failure`.

    The URL stores one file, so sending it twice does no harm.
    """
    kaggle.retries.call(lambda: _send_once(kaggle, url, file))


def _send_once(kaggle: Kaggle, url: str, file: Path) -> None:
    timeouts = kaggle.connection.timeouts
    # requests would send an empty file without a length, and wait forever for an answer.
    size = file.stat().st_size
    headers = {"Content-Length": "0"} if size == 0 else {}
    try:
        with file.open("rb") as body, StoreSession() as session:
            data: Any = body if size else b""
            put = partial(
                session.put,
                url,
                data=data,
                headers=headers,
                stream=True,
                allow_redirects=False,  # to a login page, which would take it with HTTP 200
                timeout=(timeouts.connect, timeouts.read),
            )
            # Only the answer's status is read, and the whole answer has a time limit.
            with retries.within(timeouts.whole + size / SLOWEST_UPLOAD, put) as response:
                pass
    except requests.exceptions.RequestException as error:
        raise of_network(UPLOAD, error) from None
    if failure := of_answer(UPLOAD, response):
        raise failure
    if response.status_code not in (200, 201):
        raise Failure(FailureKind.SERVER, UPLOAD, f"HTTP {response.status_code}")
