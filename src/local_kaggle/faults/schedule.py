"""Which calls of the local Kaggle fail: faults by method and by the nth call of that method.

A method is the name at the end of its URL (`SaveKernel`, `GetKernelSessionStatus`, …), or
`Download` for a GET of a signed link, `Upload` for a PUT of a blob, `LogStream` for the log.
The same seed gives the same faults at the same calls.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """What goes wrong."""

    THROTTLED = "429 as an HTML page, without Retry-After"
    THROTTLED_RETRY_AFTER = "429 as JSON, with Retry-After"
    HTML = "200 with an HTML page instead of the answer"
    ERROR_500 = "500"
    ERROR_502 = "502 as an HTML page"
    ERROR_503 = "503"
    RESET = "connection reset before the request is handled"
    HANG = "no answer for `seconds`, then the connection is closed"
    LOST_ANSWER = "the request is carried out, then the connection is reset"
    STALE_STATUS = "the status that was true a while ago"
    REPEATED_PAGE = "the page before the one asked for, with a token to the one asked for"
    EXPIRED_LINK = "400 ExpiredToken from a signed link"
    TRUNCATED = "half of the body, then the connection is reset"
    STALLED = "half of the body, nothing for `seconds`, then the connection is closed"
    WRONG_LENGTH = "a body cut short under a Content-Length that agrees with it"
    FORMER_VERSION = "the session mounts the version before the newest of each dataset"
    DROPPED_STREAM = "the log stream is cut after a few events"


_ANY = (
    FaultKind.THROTTLED,
    FaultKind.THROTTLED_RETRY_AFTER,
    FaultKind.ERROR_500,
    FaultKind.ERROR_502,
    FaultKind.ERROR_503,
    FaultKind.RESET,
    FaultKind.HANG,
)
_CALL = (*_ANY, FaultKind.HTML)
_FILE = (
    *_ANY,
    FaultKind.EXPIRED_LINK,
    FaultKind.TRUNCATED,
    FaultKind.STALLED,
    FaultKind.WRONG_LENGTH,
)

_CHANGES = (
    "SaveKernel DeleteKernel CreateSubmission CreateCodeSubmission CreateDataset "
    "CreateDatasetVersion CreateModel CreateModelInstance CreateModelInstanceVersion"
)
_LISTS = "ListKernelSessionOutput ListKernelFiles ListSubmissions"
_OTHERS = (
    "GetKernel GetAcceleratorQuotaStatistics ListKernels IntrospectToken StartBlobUpload "
    "StartSubmissionUpload GetSubmission GetLeaderboard GetDatasetStatus"
)
POSSIBLE: dict[str, tuple[FaultKind, ...]] = {
    **dict.fromkeys(_CHANGES.split(), (*_CALL, FaultKind.LOST_ANSWER)),
    **dict.fromkeys(_LISTS.split(), (*_CALL, FaultKind.REPEATED_PAGE)),
    **dict.fromkeys(_OTHERS.split(), _CALL),
    "SaveKernel": (*_CALL, FaultKind.LOST_ANSWER, FaultKind.FORMER_VERSION),
    "GetKernelSessionStatus": (*_CALL, FaultKind.STALE_STATUS),
    "Download": _FILE,
    "LogStream": (*_ANY, FaultKind.DROPPED_STREAM),
    "Upload": (
        FaultKind.ERROR_503,
        FaultKind.ERROR_500,
        FaultKind.RESET,
        FaultKind.TRUNCATED,
        FaultKind.LOST_ANSWER,
    ),
}
"""The kinds that a method can show; a seeded schedule draws from these."""

A_PUSH = (
    "SaveKernel",
    "GetKernel",
    "GetKernelSessionStatus",
    "ListKernelSessionOutput",
    "ListKernelFiles",
    "GetAcceleratorQuotaStatistics",
    "Download",
    "LogStream",
)
"""The methods that pushing, waiting and fetching use: what a seeded schedule disturbs."""


@dataclass(frozen=True)
class Fault:
    """One fault: `kind` at the `call`-th call of `method`, counted from 1; 0 means every call.

    `seconds` is how long HANG and STALLED last and what `Retry-After` says.
    """

    method: str
    call: int
    kind: FaultKind
    seconds: float = 1.0


class FaultSchedule:
    """Which calls fail and how. Thread-safe; counts calls itself, so use one per server.

    `fired` lists the faults that were shown, in order: a test can tell that its fault happened.
    A call that cannot show its fault, such as a stale status of a queued run, succeeds.
    """

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        self.fired: list[Fault] = []
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    @classmethod
    def seeded(cls, seed: int, *, methods: Sequence[str] = A_PUSH) -> FaultSchedule:
        """One to six faults among the first calls of `methods`, the same for the same seed.

        One schedule in eight makes a fault last for several calls in a row, as an outage does.
        No hang, stall or Retry-After is longer than a second.
        """
        draw = random.Random(seed)
        faults = []
        for _ in range(draw.randint(1, 6)):
            method = draw.choice(list(methods))
            kind = draw.choice(POSSIBLE[method])
            first = draw.randint(1, 4)
            lasts = draw.choice((1, 1, 1, 1, 1, 1, 1, 5))
            pause = round(draw.uniform(0.1, 1.0), 3)
            faults += [Fault(method, first + n, kind, pause) for n in range(lasts)]
        return cls(faults)

    def next(self, method: str) -> Fault | None:
        """Count one call of `method`; returns its fault, or None."""
        with self._lock:
            self.calls[method] += 1
            for fault in self.faults:
                if fault.method == method and fault.call in (0, self.calls[method]):
                    return fault
        return None
