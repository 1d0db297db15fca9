"""Download one file from a signed link, and check it against all its known lengths and hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import requests

from kernelkit.kaggle_api import answers, retries
from kernelkit.kaggle_api.answers import Failure, FailureKind
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import of_network

METHOD = "download"
CHUNK = 1 << 18
MOST = 25_000_000_000  # bytes of one file; a session's disk has 20 GB
EXPIRED = (400, 401, 403, 404, 410)  # the statuses of storage servers for an expired link


class LinkExpiredError(Failure):
    """The storage server no longer accepts the link; a fresh list of the outputs has another."""

    def __init__(self) -> None:
        super().__init__(FailureKind.SERVER, METHOD, "its link had expired")


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
            after = answers.retry_after(response.headers.get("Retry-After"))
            if failure := answers.of_status(METHOD, response.status_code, "", after):
                raise failure
            if response.status_code != 200:  # 202, 204, 206 and the like have no complete file
                raise _malformed(f"HTTP {response.status_code}")
            chunks = retries.chunks(
                response, CHUNK, timeouts.slow, lambda: until is not None and clock.now() > until
            )
            return _write(response, chunks, part, expected)
    except requests.exceptions.RequestException as error:
        raise of_network(METHOD, error) from None


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
    return Failure(FailureKind.MALFORMED, METHOD, message)
