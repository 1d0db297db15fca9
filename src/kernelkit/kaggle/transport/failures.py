"""A failed request as an error: its kind, and whether it may pass."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from kernelkit.errors import (
    CapacityError,
    CredentialsError,
    KernelkitError,
    NetworkError,
    RefusedError,
)
from kernelkit.shown import duration
from kernelkit.terminal import safe_text


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
    that must not be repeated may be repeated. `is_transient`: the same call may succeed later.
    """

    def __new__(cls, kind: FailureKind, *_: Any, **__: Any) -> Failure:
        # Of a subclass of both, `Failure` and the error of its kind.
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
        self.is_transient = kind.error is NetworkError and kind is not FailureKind.SETUP

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
