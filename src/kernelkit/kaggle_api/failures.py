"""The kinds of failure of a call to Kaggle, and what to do about each."""

from __future__ import annotations

import datetime
import email.utils
import enum
import json
import math

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelkitError,
    NetworkError,
    RefusedError,
)
from kernelkit.shown import duration


class FailureKind(enum.Enum):
    """The sorts of failure."""

    CREDENTIALS = "credentials"
    NOT_FOUND = "not found"
    REFUSED = "refused"
    CAPACITY = "capacity"
    THROTTLED = "throttled"
    SERVER = "server"
    NETWORK = "network"
    MALFORMED = "malformed answer"


_TRANSIENT = {FailureKind.THROTTLED, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.MALFORMED}
_NEXT_STEP = {
    FailureKind.CREDENTIALS: "make a new token at https://www.kaggle.com/settings/api",
    FailureKind.NOT_FOUND: "check the owner and slug, and that the account may see it",
    FailureKind.CAPACITY: "wait until a session ends or the week is over, then push again",
    FailureKind.THROTTLED: "wait some minutes",
    FailureKind.SERVER: "Kaggle itself is in trouble: try later",
    FailureKind.NETWORK: "check the connection and try again",
    FailureKind.MALFORMED: "Kaggle itself is in trouble, or something stands between: try later",
}
_ERRORS: dict[FailureKind, type[KernelkitError]] = {
    FailureKind.CREDENTIALS: CredentialsError,
    FailureKind.NOT_FOUND: RefusedError,
    FailureKind.REFUSED: RefusedError,
    FailureKind.CAPACITY: CapacityError,
}


class Failure(Exception):  # noqa: N818 - sorted into a KernelkitError before anyone sees it
    """One failed call: its kind, Kaggle's message, and after a throttle the time to wait.

    `sent` is false where the request cannot have reached the server, so that even a call
    that must not be repeated may be.
    """

    def __init__(
        self,
        kind: FailureKind,
        method: str,
        message: str,
        retry_after: float | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(f"{method}: {kind.value}: {message}")
        self.kind, self.method, self.message = kind, method, message
        self.retry_after, self.sent = retry_after, sent

    @property
    def is_transient(self) -> bool:
        """Whether the same call can succeed a while later."""
        return self.kind in _TRANSIENT

    def error(self) -> KernelkitError:
        """The typed error to end a command with, its next step included."""
        kind = _ERRORS.get(self.kind, NetworkError)
        step = _NEXT_STEP.get(self.kind, "")
        if self.retry_after:
            step = f"Kaggle asks to come back in {duration(self.retry_after)}"
        return kind(f"{self.method}: {self.message}" + (f" ({step})" if step else ""))


def of_status(
    method: str, status: int, message: str, retry_after: float | None = None
) -> Failure | None:
    """The failure that an HTTP status means; None below 400."""
    if status < 400:
        return None
    if status == 429:
        return Failure(FailureKind.THROTTLED, method, message or "too many requests", retry_after)
    if status >= 500:
        return Failure(FailureKind.SERVER, method, f"HTTP {status}", retry_after)
    if is_capacity(message):
        return Failure(FailureKind.CAPACITY, method, message)
    kinds = {401: FailureKind.CREDENTIALS, 404: FailureKind.NOT_FOUND}
    return Failure(kinds.get(status, FailureKind.REFUSED), method, message or f"HTTP {status}")


def is_capacity(message: str) -> bool:
    """Whether a refusal speaks of sessions or quota used up."""
    message = message.lower()
    return "session count" in message or "quota" in message


def message_in(body: str) -> str:
    """The message in an error's body, in either of Kaggle's two forms; empty for HTML."""
    try:
        answer = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    inner = answer.get("error")
    message = inner.get("message") if isinstance(inner, dict) else answer.get("message")
    return str(message or (inner if isinstance(inner, str) else ""))


def retry_after(header: str | None) -> float | None:
    """Seconds in a `Retry-After` header, whether given as seconds or as a date (RFC 9110).

    None for what is neither, endless times among it.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until(header)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(date: str) -> float:
    """Seconds until an HTTP date, which without a zone is one of UTC; NaN for anything else."""
    try:
        moment = email.utils.parsedate_to_datetime(date)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return (moment - datetime.datetime.now(datetime.UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan
