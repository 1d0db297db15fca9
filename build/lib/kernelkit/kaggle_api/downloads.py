"""One file from a signed link, held against every length and hash that is known of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import requests

from kernelkit.kaggle_api import failures, retries
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import of_network
from kernelkit.kaggle_api.failures import Failure, FailureKind

METHOD = "download"
CHUNK = 1 << 18
EXPIRED = (400, 401, 403, 404, 410)  # how the stores behind signed links say so


class LinkExpiredError(Failure):
    """The store no longer takes the link; a fresh list of the outputs has another."""

    def __init__(self) -> None:
        super().__init__(FailureKind.SERVER, METHOD, "its link had expired")


def receive(
    kaggle: Kaggle,
    session: requests.Session,
    url: str,
    part: Path,
    size: int | None,
    until: float | None,
) -> int:
    """Download `url` to the file `part`; returns the bytes that came.

    `size`: the length that Kaggle's file list names, in bytes; `until`: the end of the wait, on
    the clock of `kaggle.retries`. Raises `LinkExpiredError`, or another `Failure`.
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
            after = failures.retry_after(response.headers.get("Retry-After"))
            if failure := failures.of_status(METHOD, response.status_code, "", after):
                raise failure
            chunks = retries.chunks(
                response, CHUNK, timeouts.slow, lambda: until is not None and clock.now() > until
            )
            return _write(response, chunks, part, size)
    except requests.exceptions.RequestException as error:
        raise of_network(METHOD, error) from None


def _write(
    response: requests.Response, chunks: Iterator[bytes], part: Path, size: int | None
) -> int:
    digest = hashlib.md5(usedforsecurity=False)
    received = 0
    with part.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
    for expected in (response.headers.get("Content-Length"), size):
        if expected is not None and int(expected) != received:
            raise Failure(
                FailureKind.MALFORMED, METHOD, f"{received} bytes came instead of {expected}"
            )
    # Google's storage, which is behind Kaggle's links, states the MD5 of what it serves.
    for stated in response.headers.get("x-goog-hash", "").split(","):
        kind, _, value = stated.strip().partition("=")
        if kind == "md5" and value != base64.b64encode(digest.digest()).decode():
            raise Failure(FailureKind.MALFORMED, METHOD, "its content differs from its MD5")
    return received
