"""Upload a file to the URL that Kaggle provides, with retries."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import requests

from kernelkit.kaggle_api import answers, retries
from kernelkit.kaggle_api.answers import Failure, FailureKind
from kernelkit.kaggle_api.client import Kaggle
from kernelkit.kaggle_api.connection import StoreSession, of_network

METHOD = "upload"
SLOWEST_UPLOAD = 10_000.0  # bytes a second


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
    kaggle.retries.call(lambda: _once(kaggle, url, file))


def _once(kaggle: Kaggle, url: str, file: Path) -> None:
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
        raise of_network(METHOD, error) from None
    after = answers.retry_after(response.headers.get("Retry-After"))
    if failure := answers.of_status(METHOD, response.status_code, "", after):
        raise failure
    if response.status_code not in (200, 201):
        raise Failure(FailureKind.SERVER, METHOD, f"HTTP {response.status_code}")
