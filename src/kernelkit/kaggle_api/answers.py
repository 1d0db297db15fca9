"""Kaggle's answers as typed values, and the kinds of failure with their next steps."""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import enum
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelkitError,
    NetworkError,
    RefusedError,
)
from kernelkit.shown import duration

SOURCES = ("dataset", "competition", "kernel", "model")  # the kinds of a kernel's inputs


def accept_rules(competition: str) -> str:
    """The next step for a user whose account has not entered this competition."""
    return f"accept the rules: https://www.kaggle.com/competitions/{competition}/rules"


@dataclass(frozen=True)
class Kernel:
    """The name of a kernel: `owner/slug`."""

    owner: str
    slug: str

    @classmethod
    def of(cls, name: str) -> Kernel:
        """The kernel named `owner/slug`."""
        owner, _, slug = name.partition("/")
        return cls(owner, slug)

    def __str__(self) -> str:
        return f"{self.owner}/{self.slug}"


@dataclass(frozen=True)
class Saved:
    """Kaggle's answer to a push: the version that runs, and the sources and tags it refused.

    `ref` is Kaggle's name for the kernel, `stored` the version as read back (None if Kaggle does
    not show it); `recovered` means that the answer was lost or named another version. If it was
    sent more than once, `resent_after` is the version before it and `twins` are the other versions
    that the same push created.
    """

    version: int
    url: str
    ref: str = ""
    refused_sources: tuple[str, ...] = ()
    refused_tags: tuple[str, ...] = ()
    recovered: bool = False
    stored: Stored | None = None
    resent_after: int | None = None
    twins: tuple[int, ...] = ()


@dataclass(frozen=True)
class Status:
    """The state of a session, Kaggle's name in lower case, and why it failed."""

    state: str
    message: str = ""

    @property
    def alive(self) -> bool:
        """Whether it is still queued or running."""
        return self.state in ("queued", "running", "cancel_requested")


@dataclass(frozen=True)
class Output:
    """One file of a session's output and the signed link to it, which expires."""

    name: str
    url: str


@dataclass(frozen=True)
class Outputs:
    """The output of a session: its files, and its log (a JSON array, empty while it runs)."""

    files: tuple[Output, ...]
    log: str


@dataclass(frozen=True)
class Stored:
    """A kernel as Kaggle stores it: the latest version's number; a version's text and sources.

    `language`, `kernel_type`, `machine_shape` and `accelerator` (tpu, gpu, cpu) have Kaggle's
    names, or are empty; `internet` is whether its sessions have internet.
    """

    version: int
    text: str
    sources: frozenset[str] = frozenset()
    language: str = ""
    kernel_type: str = ""
    machine_shape: str = ""
    accelerator: str = ""
    internet: bool = False


@dataclass(frozen=True)
class Quota:
    """Accelerator hours of this week."""

    used: float
    allowed: float

    @property
    def left(self) -> float:
        """Hours left."""
        return max(0.0, self.allowed - self.used)

    def remaining(self, kind: str) -> str:
        """The phrase about the hours left for all messages; `kind` is the kind of machine."""
        return f"{self.left:.1f} of {self.allowed:.0f} {kind.upper()} hours are left this week"


@dataclass(frozen=True)
class Recent:
    """A recently run kernel of the account, and its machine."""

    kernel: Kernel
    accelerator: str


class FailureKind(enum.Enum):
    """The kinds of failure."""

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
    FailureKind.SERVER: "Kaggle has a problem: try later",
    FailureKind.NETWORK: "check the connection and try again",
    FailureKind.MALFORMED: "Kaggle has a problem, or a proxy changes its answers: try later",
}
_ERRORS: dict[FailureKind, type[KernelkitError]] = {
    FailureKind.CREDENTIALS: CredentialsError,
    FailureKind.NOT_FOUND: RefusedError,
    FailureKind.REFUSED: RefusedError,
    FailureKind.CAPACITY: CapacityError,
}


class Failure(Exception):  # noqa: N818 - sorted into a KernelkitError before anyone sees it
    """One failed call: its kind, Kaggle's message, and the time to wait after throttling.

    `sent` is false if the request cannot have reached the server; then even a call that must not be
    repeated may be repeated.
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
        """Whether the same call may succeed later."""
        return self.kind in _TRANSIENT

    def error(self) -> KernelkitError:
        """The typed error to end a command with, including the next step."""
        kind = _ERRORS.get(self.kind, NetworkError)
        step = _NEXT_STEP.get(self.kind, "")
        if self.retry_after:
            step = f"Kaggle asks to wait {duration(self.retry_after)}"
        return kind(f"{self.method}: {self.message}" + (f" ({step})" if step else ""))


@contextlib.contextmanager
def as_errors() -> Iterator[None]:
    """Convert a `Failure` in the block to its typed error; also works as a decorator."""
    try:
        yield
    except Failure as failure:
        raise failure.error() from None


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
    """Whether a refusal is about used-up sessions or quota."""
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

    None for anything else, including infinite times.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until(header)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(date: str) -> float:
    """Seconds until an HTTP date, in UTC unless it has a zone; NaN for anything else."""
    try:
        moment = email.utils.parsedate_to_datetime(date)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return (moment - datetime.datetime.now(datetime.UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan
