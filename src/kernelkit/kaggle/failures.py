"""Failed requests: their kinds, and the errors that they are.

What a response or an exception means is decided here alone; `retries` repeats what may pass.
"""

from __future__ import annotations

import contextlib
import email.utils
import enum
import re
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.request import getproxies

import requests
from requests.exceptions import HTTPError, InvalidHeader, InvalidJSONError
from requests.utils import prepend_scheme_if_needed
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from kernelkit import files
from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelkitError,
    NetworkError,
    RefusedError,
)
from kernelkit.shown import duration
from kernelkit.terminal import safe_text
from kernelkit.terminal.exits import UNWRITABLE

YEAR = 366 * 86400.0  # seconds
# A host that no name server knows; a resolver that cannot be asked now has another number.
NO_HOST = {getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA")} | {11001}
_RESOLVED = re.compile(r"Failed to resolve \\*['\"]([^'\"\\]+).*?\[Errno (-?\d+)\]")
MALFORMED_PROXY = "the proxy's address is malformed"
# What this machine's settings cause, as requests and OpenSSL say it, and in words.
_SETTINGS = (
    (
        re.compile(r"certificate verify failed: (.+?)\.? \(_ssl"),
        "the server's certificate is not accepted: {}",
    ),
    (
        re.compile("407 Proxy|Tunnel connection failed: 407"),
        "the proxy requires a user name and password",
    ),
    (
        re.compile(r"Tunnel connection failed: (4\d\d [\w -]*)"),
        "the proxy refuses the connection: {}",
    ),
    (re.compile("WRONG_VERSION_NUMBER"), "the server, or the proxy before it, speaks no HTTPS"),
    (
        re.compile(
            r"\[SSL: (\w*(?:PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|HANDSHAKE_FAILURE|"
            r"CERTIFICATE_REQUIRED))\]"
        ),
        "the server, or the proxy before it, accepts no TLS connection of this machine: {}",
    ),
    (re.compile(r"\[X509: (\w+)"), "the file of certificates cannot be read: {}"),
    (
        re.compile("suitable TLS CA certificate bundle, invalid path: ([^'\"]*)"),
        "there is no file of certificates at {}",
    ),
    (re.compile("^InvalidProxyURL"), MALFORMED_PROXY),
    (re.compile("for SOCKS support"), "a SOCKS proxy needs a package: pip install pysocks"),
)
# requests lets one exception of urllib3's through, for a host such as "a..b".
_OF_NETWORK = (OSError, LocationParseError)
NO_HEADER = (
    "the Kaggle token or key contains an invalid character, such as a line end or a byte order "
    "mark: write only the token into ~/.kaggle/access_token or KAGGLE_API_TOKEN"
)
PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")  # the schemes of addresses
# An address of Kaggle's that is none.
_ADDRESS = (
    "InvalidURL",
    "InvalidSchema",
    "MissingSchema",
    "LocationParseError",
    "UnicodeError",
    "ValueError",
)


class FailureKind(enum.Enum):
    """The kinds of failure: a label, the error that a command ends with, and the next step.

    Those that end in a `NetworkError` are transient, except for `SETUP`, which this machine's
    settings cause.
    """

    CREDENTIALS = (
        "credentials",
        CredentialsError,
        "make a new token at https://www.kaggle.com/settings/api",
    )
    NOT_FOUND = (
        "not found",
        RefusedError,
        "check the owner and slug, and that the account may see it",
    )
    REFUSED = "refused", RefusedError, ""
    CAPACITY = (
        "capacity",
        CapacityError,
        "wait until a session ends or the week is over, then push again",
    )
    THROTTLED = "throttled", NetworkError, "wait some minutes"
    SERVER = "server", NetworkError, "Kaggle is having problems: try again later"
    NETWORK = "network", NetworkError, "check the connection and try again"
    MALFORMED = (
        "malformed answer",
        NetworkError,
        "Kaggle is having problems, or a proxy alters its answers: try again later",
    )
    SETUP = (
        "connection",
        NetworkError,
        "retrying does not help: check this machine's network, clock, proxy and certificates "
        "(HTTPS_PROXY, REQUESTS_CA_BUNDLE)",
    )
    EXPIRED = "expired link", NetworkError, "list the files again to get new links"

    def __init__(self, label: str, error: type[KernelkitError], step: str) -> None:
        self.label = label
        self.error = error
        self.step = step


class Failure(KernelkitError):  # noqa: N818 - a failure of one call, whatever its error
    """One failed call: its kind, Kaggle's message, and the seconds to wait after throttling.

    It is also an error of its kind's type, with the next step in its text, so that a command can
    end with it. `sent` is false if the request cannot have reached the server; then even a call
    that must not be repeated may be repeated.
    """

    def __new__(cls, kind: FailureKind, *_: Any, **__: Any) -> Failure:
        return super().__new__(_TYPES[kind.error])

    def __init__(
        self,
        kind: FailureKind,
        method: str,
        message: str,
        retry_after: float | None = None,
        sent: bool = True,
    ) -> None:
        step = f"Kaggle asks to wait {duration(retry_after)}" if retry_after else kind.step
        advice = f" ({step})" if step else ""
        super().__init__(f"{method}: {message}{advice}")
        self.kind = kind
        self.method = method
        self.message = message
        self.retry_after = retry_after
        self.sent = sent

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later."""
        return self.kind.error is NetworkError and self.kind is not FailureKind.SETUP

    def without(self, secrets: Sequence[str]) -> Failure:
        """The same failure, with its text free of these."""
        self.message = safe_text.without(secrets, self.message)
        self.args = (safe_text.without(secrets, str(self)),)
        return self

    def advising(self, advice: str) -> Failure:
        """The same failure with more to do in its text."""
        self.args = (f"{self}. {advice}",)
        return self


_TYPES: dict[type[KernelkitError], type[Failure]] = {
    kind.error: type(kind.error.__name__, (Failure, kind.error), {}) for kind in FailureKind
}


_OF_STATUS = {
    401: FailureKind.CREDENTIALS,
    404: FailureKind.NOT_FOUND,
    407: FailureKind.SETUP,
    429: FailureKind.THROTTLED,
}


def of_response(method: str, response: requests.Response) -> Failure | None:
    """The failure that a response's status means; None for a status below 400."""
    status = response.status_code
    return None if status < 400 else _of_status(method, response, status, f"HTTP {status}")


def of_answer(method: str, response: requests.Response) -> Failure | None:
    """The failure that an answer of the API means; None if it is none.

    A refusal without Kaggle's JSON is not Kaggle's: a proxy's 403 says nothing of what Kaggle has.
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
    elif kind is FailureKind.REFUSED and is_capacity(message):
        kind = FailureKind.CAPACITY
    pause = retry_after(response.headers.get("Retry-After"), response.headers.get("Date"))
    return Failure(kind, method, message, pause)


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

    `answer`: what Kaggle had answered before it was raised, whose JSON may be the reason.
    """
    if is_of_header(error):
        return Failure(FailureKind.CREDENTIALS, method, NO_HEADER)
    if isinstance(error, HTTPError):
        if error.response is None:
            return Failure(FailureKind.NETWORK, method, "no answer")
        answer = error.response
    elif isinstance(error, _OF_NETWORK) and not isinstance(error, InvalidJSONError):
        return _of_network(method, error)
    elif answer is None and isinstance(error, ValueError):
        # Of Python itself, where a redirect leads to an address such as "http://[::1".
        return _of_network(method, error)
    failure = None if answer is None else of_answer(method, answer)
    return failure or Failure(FailureKind.MALFORMED, method, "the answer is not Kaggle's JSON")


def is_of_header(error: Exception) -> bool:
    """Whether the credentials, which a header holds, have a character that none can have."""
    if isinstance(error, InvalidHeader | UnicodeEncodeError):
        return True
    return "Invalid header value" in str(error)  # http.client's, a plain ValueError


def _of_network(method: str, error: Exception) -> Failure:
    """The failure for an exception of requests, without the URL, which may be signed."""
    said = repr(error)
    settings = _of_settings(said)
    if settings:
        return Failure(FailureKind.SETUP, method, settings, sent=False)
    if any(said.startswith(name) for name in _ADDRESS):
        if _has_malformed_proxy():
            return Failure(FailureKind.SETUP, method, MALFORMED_PROXY, sent=False)
        return Failure(FailureKind.MALFORMED, method, "the answer leads to an invalid address")
    causes = ("ConnectTimeout", "NewConnectionError", "NameResolutionError")
    unsent = any(cause in said for cause in causes)
    if isinstance(error, requests.exceptions.Timeout):
        message = "no answer in time"
    else:
        message = "no connection" if unsent else "the connection broke"
    return Failure(FailureKind.NETWORK, method, message, sent=not unsent)


def _of_settings(said: str) -> str:
    """What is wrong with this machine's settings, if an exception's text says so; else empty."""
    for pattern, words in _SETTINGS:
        cause = pattern.search(said)
        if cause:
            reasons = [reason.replace("\\", "") for reason in cause.groups()]  # quotes in quotes
            return words.format(*reasons)
    unresolved = _RESOLVED.search(said)
    if unresolved and int(unresolved[2]) in NO_HOST:
        return f"no host is called {unresolved[1]}, or this machine is offline"
    return ""


def _has_malformed_proxy() -> bool:
    """Whether a proxy in this machine's settings has an address that nothing can connect to."""
    proxies = getproxies()
    for scheme in ("https", "http", "all"):
        address = proxies.get(scheme)
        if not address:
            continue
        try:
            proxy = parse_url(prepend_scheme_if_needed(address, "http"))
            (proxy.host or "").encode("idna")
        except ValueError:
            return True
        if proxy.scheme not in PROXIES:
            return True
    return False


def is_capacity(message: str) -> bool:
    """Whether a refusal is about used-up sessions or quota."""
    return re.search("session count|quota", message, re.IGNORECASE) is not None


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
    header = header or ""
    try:
        if header.isdecimal():
            return min(float(header), YEAR)
    except (ValueError, OverflowError):
        return None
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
