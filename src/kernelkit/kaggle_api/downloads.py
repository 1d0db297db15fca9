"""One file from a signed link, held against every length and hash that is known of it."""

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
MOST = 25_000_000_000  # bytes of one file; a session's disk holds 20 GB
EXPIRED = (400, 401, 403, 404, 410)  # how the stores behind signed links say so


class LinkExpiredError(Failure):
    """The store no longer takes the link; a fresh list of the outputs has another."""

    def __init__(self) -> None:
        super().__init__(FailureKind.SERVER, METHOD, "its link had expired")


@dataclass(frozen=True)
class Expected:
    """What is known of a file before it comes: bytes, SHA-256 (None: not known), `most` bytes."""

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
    """Download `url` to the file `part`; returns the bytes that came.

    `until`: the end of the wait, on the clock of `kaggle.retries`. Raises `LinkExpiredError`, or
    another `Failure` for what is not whole, not as `expected` or longer than announced.
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
            if response.status_code != 200:  # 202, 204, 206 and the like hold no whole file
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
                raise _malformed(f"more than {most} bytes came")
            file.write(chunk)
            md5.update(chunk)
            sha256.update(chunk)
    for length in lengths:
        if length != received:
            raise _malformed(f"{received} bytes came instead of {length}")
    if expected.sha256 and sha256.hexdigest() != expected.sha256:
        raise _malformed("it is not the file that this push's session left")
    # Google's storage, which is behind Kaggle's links, states the MD5 of what it serves.
    for hashed in response.headers.get("x-goog-hash", "").split(","):
        kind, _, value = hashed.strip().partition("=")
        if kind == "md5" and value != base64.b64encode(md5.digest()).decode():
            raise _malformed("its content differs from its MD5")
    return received


def _malformed(message: str) -> Failure:
    return Failure(FailureKind.MALFORMED, METHOD, message)
