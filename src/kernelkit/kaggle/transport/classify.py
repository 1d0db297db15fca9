"""Which failure a response or an exception of a request is."""

from __future__ import annotations

import contextlib
import email.utils
import re
import time
from collections.abc import Iterator
from typing import Any

import requests
from requests.exceptions import HTTPError, InvalidHeader, InvalidJSONError
from urllib3.exceptions import LocationParseError

from kernelkit import files
from kernelkit.exits.unusable_files import UNWRITABLE
from kernelkit.kaggle.transport import local_settings
from kernelkit.kaggle.transport.failures import Failure, FailureKind

YEAR = 366 * 86400.0  # seconds
# Exceptions of requests are `OSError`s, but for one of urllib3's, of a host such as "a..b".
_OF_NETWORK = (OSError, LocationParseError)
INVALID_CHARACTER = (
    "the Kaggle token or key contains an invalid character, such as a line end or a byte order "
    "mark: write only the token into ~/.kaggle/access_token or KAGGLE_API_TOKEN"
)
# How an exception begins that says that an address is invalid: a redirect's or the proxy's.
_INVALID_ADDRESS = (
    "InvalidURL",
    "InvalidSchema",
    "MissingSchema",
    "LocationParseError",
    "UnicodeError",
    "ValueError",
)
_OF_STATUS = {
    401: FailureKind.CREDENTIALS,
    404: FailureKind.NOT_FOUND,
    407: FailureKind.SETUP,
    429: FailureKind.THROTTLED,
}


def of_response(method: str, response: requests.Response) -> Failure | None:
    """The failure that a response's status means; None for a status below 400.

    For what is not an answer of Kaggle's API, such as a stream or a signed link: its body is not
    read.
    """
    status = response.status_code
    return None if status < 400 else _of_status(method, response, status, f"HTTP {status}")


def of_answer(method: str, response: requests.Response) -> Failure | None:
    """The failure that an answer of Kaggle's API means, by its status and by its JSON; or None.

    A `code` of 400 or more in the JSON means a failure whatever the status is. A refusal without
    JSON is not Kaggle's: a proxy's 403 says nothing of what Kaggle has.
    """
    said = _object_in(response.content)
    code = said.get("code")
    status = max(response.status_code, code if type(code) is int else 0)
    if status < 400:
        return None
    message = _message_in(said) or f"HTTP {status}"
    failure = _of_status(method, response, status, message)
    if said or failure.kind not in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
        return failure
    return Failure(FailureKind.MALFORMED, method, f"{message} without Kaggle's JSON")


def _of_status(method: str, response: requests.Response, status: int, message: str) -> Failure:
    kind = _OF_STATUS.get(status, FailureKind.REFUSED)
    if status >= 500:
        kind = FailureKind.SERVER
    elif kind is FailureKind.REFUSED:
        kind = of_refusal(method, message)
    pause = retry_after(response.headers.get("Retry-After"), response.headers.get("Date"))
    return Failure(kind, method, message, pause)


def of_refusal(method: str, message: str) -> FailureKind:
    """The kind of a refusal: `CAPACITY` for a push that lacks a session or hours."""
    lacks = method == "SaveKernel" and re.search("session count|quota", message, re.IGNORECASE)
    return FailureKind.CAPACITY if lacks else FailureKind.REFUSED


@contextlib.contextmanager
def classifying(method: str) -> Iterator[None]:
    """A block that sends a request and reads no JSON: its exceptions are raised as `Failure`.

    An `OSError` of a file that cannot be written stays what it is.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and (error.filename or error.errno in UNWRITABLE):
            raise
        raise of_exception(method, error) from error


def of_exception(method: str, error: Exception, answer: requests.Response | None = None) -> Failure:
    """The failure that an exception of a request means.

    `answer`: the answer that had arrived when it was raised, if any. It may be a refusal, or what
    the SDK cannot read.
    """
    if is_of_invalid_character(error):
        return Failure(FailureKind.CREDENTIALS, method, INVALID_CHARACTER)
    if isinstance(error, HTTPError):
        answer = error.response
    elif isinstance(error, _OF_NETWORK) and not isinstance(error, InvalidJSONError):
        return _of_network(method, error)
    elif answer is None and isinstance(error, ValueError):
        # Python's own, before any answer: a redirect leads to an address such as "http://[::1".
        return _of_network(method, error)
    failure = None if answer is None else of_answer(method, answer)
    return failure or Failure(FailureKind.MALFORMED, method, "the answer is not Kaggle's JSON")


def is_of_invalid_character(error: Exception) -> bool:
    """Whether an exception says that the credentials have a character that no header can have."""
    if isinstance(error, InvalidHeader | UnicodeEncodeError):
        return True
    return "Invalid header value" in str(error)  # http.client's, a plain ValueError


def _of_network(method: str, error: Exception) -> Failure:
    """The failure for an exception of requests, without the URL, which may be signed."""
    said = repr(error)
    settings = local_settings.cause(said)
    if settings:
        return Failure(FailureKind.SETUP, method, settings, sent=False)
    if said.startswith(_INVALID_ADDRESS):
        if local_settings.has_malformed_proxy():
            return Failure(FailureKind.SETUP, method, local_settings.MALFORMED_PROXY, sent=False)
        return Failure(FailureKind.MALFORMED, method, "the answer leads to an invalid address")
    causes = ("ConnectTimeout", "NewConnectionError", "NameResolutionError")
    unsent = any(cause in said for cause in causes)
    if isinstance(error, requests.exceptions.Timeout):
        message = "no answer in time"
    else:
        message = "no connection" if unsent else "the connection broke"
    return Failure(FailureKind.NETWORK, method, message, sent=not unsent)


def _object_in(body: bytes) -> dict[str, Any]:
    """The JSON object in a body; an empty one for HTML and the like."""
    try:
        answer = files.parse_json(body.decode("utf-8", "replace"))
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _message_in(answer: dict[str, Any]) -> str:
    """The message of an error, in either of Kaggle's two forms; empty if there is none."""
    inner = answer.get("error")
    if isinstance(inner, dict):
        return str(inner.get("message") or "")
    if answer.get("message"):
        return str(answer["message"])
    return inner if isinstance(inner, str) else ""


def retry_after(header: str | None, answered: str | None = None) -> float | None:
    """Seconds in a `Retry-After` header, in either form of RFC 9110; None for anything else.

    `answered`: when the server answered by its own clock, the `Date` header; without it, this
    machine's clock counts. A date without a zone is in UTC. More than a year counts as a year.
    """
    if header and header.isdecimal():
        return min(float(header), YEAR)
    until = moment(header)
    if until is None:
        return None
    now = moment(answered)
    return min(max(0.0, until - (time.time() if now is None else now)), YEAR)


def moment(header: str | None) -> float | None:
    """The time in a header such as `Date`, in seconds since 1970; None for anything else."""
    try:
        date = email.utils.parsedate_tz(header or "")
        return float(email.utils.mktime_tz(date)) if date else None
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
