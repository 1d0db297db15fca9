"""Every way in which a call to Kaggle goes wrong, sorted by what to do about it."""

from __future__ import annotations

import datetime
import email.utils
import enum
import json

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelkitError,
    NetworkError,
    RefusedError,
)


class Sort(enum.Enum):
    """The sorts of failure."""

    CREDENTIALS = "credentials"
    NOT_FOUND = "not found"
    REFUSED = "refused"
    CAPACITY = "capacity"
    THROTTLED = "throttled"
    SERVER = "server"
    NETWORK = "network"
    MALFORMED = "malformed answer"


_MAY_PASS = {Sort.THROTTLED, Sort.SERVER, Sort.NETWORK, Sort.MALFORMED}
_NEXT_STEP = {
    Sort.CREDENTIALS: "make a new token at https://www.kaggle.com/settings/api",
    Sort.NOT_FOUND: "check the owner and slug, and that the account may see it",
    Sort.CAPACITY: "wait until a session ends or the week is over, then push again",
    Sort.THROTTLED: "wait some minutes",
    Sort.SERVER: "Kaggle itself is in trouble: try later",
    Sort.NETWORK: "check the connection and try again",
    Sort.MALFORMED: "Kaggle itself is in trouble, or something stands between: try later",
}
_ERRORS: dict[Sort, type[KernelkitError]] = {
    Sort.CREDENTIALS: CredentialsError,
    Sort.NOT_FOUND: RefusedError,
    Sort.REFUSED: RefusedError,
    Sort.CAPACITY: CapacityError,
}


class Failure(Exception):  # noqa: N818 - sorted into a KernelkitError before anyone sees it
    """One failed call: its sort, what Kaggle said, and for a throttle when to come back.

    `sent` is false where the request cannot have reached the server, so that even a call
    that must not be repeated may be.
    """

    def __init__(
        self,
        sort: Sort,
        method: str,
        said: str,
        retry_after: float | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(f"{method}: {sort.value}: {said}")
        self.sort, self.method, self.said = sort, method, said
        self.retry_after, self.sent = retry_after, sent

    @property
    def may_pass(self) -> bool:
        """Whether the same call can succeed a while later."""
        return self.sort in _MAY_PASS

    def error(self) -> KernelkitError:
        """The typed error to end a command with, its next step included."""
        kind = _ERRORS.get(self.sort, NetworkError)
        step = _NEXT_STEP.get(self.sort, "")
        return kind(f"{self.method}: {self.said}" + (f" ({step})" if step else ""))


def of_status(
    method: str, status: int, said: str, retry_after: float | None = None
) -> Failure | None:
    """The failure that an HTTP status means; None below 400."""
    if status < 400:
        return None
    if status == 429:
        return Failure(Sort.THROTTLED, method, said or "too many requests", retry_after)
    if status >= 500:
        return Failure(Sort.SERVER, method, f"HTTP {status}", retry_after)
    if is_capacity(said):
        return Failure(Sort.CAPACITY, method, said)
    sort = {401: Sort.CREDENTIALS, 404: Sort.NOT_FOUND}.get(status, Sort.REFUSED)
    return Failure(sort, method, said or f"HTTP {status}")


def is_capacity(said: str) -> bool:
    """Whether a refusal speaks of sessions or quota used up."""
    said = said.lower()
    return "session count" in said or "quota" in said


def said_in(body: str) -> str:
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
    """Seconds in a `Retry-After` header, whether given as seconds or as a date (RFC 9110)."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.datetime.now(datetime.UTC)).total_seconds())
