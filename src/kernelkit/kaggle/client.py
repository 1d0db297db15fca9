"""One account's Kaggle: its kernels as values, and how calls are repeated and lists are paged.

What it asks is repeated after transient failures. `save` is not: see
`kernelkit.push.sending.save_once`. Every other call is one of `calls`, whose answer is the SDK's
own.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self, TypeVar

from kernelkit.errors import NOT_VISIBLE, ParameterError
from kernelkit.kaggle.kernel import Kernel
from kernelkit.kaggle.metadata_words import SOURCES
from kernelkit.kaggle.retries import Retries
from kernelkit.kaggle.transport.authentication import open_connection
from kernelkit.kaggle.transport.classify import of_refusal
from kernelkit.kaggle.transport.connection import Connection
from kernelkit.kaggle.transport.failures import Failure, FailureKind
from kernelkit.kaggle.transport.time_limits import Timeouts

PAGE_SIZE = 100
MOST_PAGES = 5000  # of PAGE_SIZE files each: far more than a session's output
MOST_RECENT = 10  # kernels to look through for sessions that run
LISTING = "list"  # in place of a method: which one does not matter to the reader
TITLE_TAKEN = (
    "Kaggle makes a notebook's address from its title, and another notebook of yours has this one: "
    "write that notebook's address as id into the metadata, or choose another title"
)

Answer = TypeVar("Answer")


def accept_rules(competition: str) -> str:
    """The next step for a user whose account has not entered this competition."""
    return f"accept the rules: https://www.kaggle.com/competitions/{competition}/rules"


@dataclass(frozen=True)
class Stored:
    """A kernel as Kaggle stores it: its `newest` version's number; a version's text and sources.

    `language`, `kernel_type`, `machine_shape` and `accelerator` (tpu, gpu, cpu) have Kaggle's
    names, or are empty; `internet` is whether its sessions have internet.
    """

    newest: int
    text: str
    sources: tuple[str, ...] = ()
    language: str = ""
    kernel_type: str = ""
    machine_shape: str = ""
    accelerator: str = ""
    internet: bool = False


@dataclass(frozen=True)
class Saved:
    """Kaggle's answer to a push: its version, its name for the kernel, and what it refused.

    Whoever reads the version back adds it as `stored`, if Kaggle shows it, and whether it was
    `recovered`, because the answer was lost or named another version.
    """

    version: int
    url: str
    ref: str = ""
    refused_sources: tuple[str, ...] = ()
    refused_tags: tuple[str, ...] = ()
    recovered: bool = False
    stored: Stored | None = None


@dataclass(frozen=True)
class Status:
    """The state of a session, Kaggle's name in lower case, and why it failed."""

    state: str
    message: str = ""

    @property
    def alive(self) -> bool:
        """Whether it is still queued or running."""
        return self.state in ("queued", "running", "cancel_requested")

    @property
    def only_saved(self) -> bool:
        """Whether the version was saved without a session."""
        return self.state == "new_script"


@dataclass(frozen=True)
class Outputs:
    """The output of a session: each file's signed link, which expires, by the file's name; and its
    log (a JSON array, empty while it runs)."""

    files: Mapping[str, str]
    log: str


@dataclass(frozen=True)
class Quota:
    """Accelerator hours of this week."""

    used: float
    allowed: float

    @cached_property
    def left(self) -> float:
        """Hours left."""
        return max(0.0, self.allowed - self.used)

    def remaining(self, kind: str) -> str:
        """The phrase about the hours left for all messages; `kind` is the kind of machine."""
        return f"{self.left:.1f} of {self.allowed:.0f} {kind.upper()} hours are left this week"


class Kaggle:
    """Kaggle for one account, that of `username`: its kernels as values, and any call repeated."""

    def __init__(self, connection: Connection, retries: Retries | None = None) -> None:
        # Not at the top: the SDK's types take a fifth of a second, and checks need none of them.
        from kernelkit.kaggle.calls import Calls

        self.connection = connection
        self.username = connection.username
        self.calls = Calls(connection)
        self.retries = retries or Retries()

    @classmethod
    def sign_in(cls, timeouts: Timeouts | None = None, retries: Retries | None = None) -> Self:
        """Kaggle for the account whose credentials the environment has.

        Raises what `open_connection` raises.
        """
        retries = retries or Retries()
        return cls(retries.call(partial(open_connection, timeouts)), retries)

    def repeated(self, call: Callable[[], Answer], until: float | None = None) -> Answer:
        """The answer of a call that may arrive twice, repeated after transient failures.

        `until`: the time on the retries' clock after which none is repeated. Raises `Failure`.
        """
        return self.retries.call(call, until)

    def if_there(self, call: Callable[[], Answer], until: float | None = None) -> Answer | None:
        """Like `repeated`, for something that the account owns; None if it does not exist."""
        try:
            return self.repeated(call, until)
        except Failure as failure:
            # Kaggle answers 403 for an own kernel that does not exist.
            if failure.kind in (FailureKind.NOT_FOUND, FailureKind.REFUSED):
                return None
            raise

    def save(self, fields: Mapping[str, Any]) -> Saved:
        """Send one SaveKernel, once. Raises `Failure`; a refusal may still have saved."""
        answer = self.calls.save_kernel(fields)
        if answer.error:
            kind = of_refusal("SaveKernel", answer.error)
            failure = Failure(kind, "SaveKernel", answer.error.strip().rstrip("."))
            raise failure.advising(TITLE_TAKEN) if "already in use" in answer.error else failure
        if answer.version_number <= 0:
            raise Failure(FailureKind.MALFORMED, "SaveKernel", "the answer names no version")
        refused = tuple(_sources(answer, "invalid_{}_sources"))
        tags = tuple(answer.invalid_tags)
        return Saved(answer.version_number, answer.url, answer.ref, refused, tags)

    def stored(self, kernel: Kernel, version: int | None = None) -> Stored | None:
        """The kernel as Kaggle stores it; None if it does not exist or is not visible."""
        answer = self.if_there(partial(self.calls.get_kernel, kernel, version))
        if answer is None:
            return None
        if answer.metadata is None or answer.blob is None:
            raise Failure(FailureKind.MALFORMED, "GetKernel", "the answer contains no kernel")
        return Stored(
            newest=answer.metadata.current_version_number,
            text=answer.blob.source,
            sources=tuple(_sources(answer.metadata, "{}_data_sources")),
            language=answer.blob.language.lower(),
            kernel_type=answer.blob.kernel_type.lower(),
            machine_shape=answer.metadata.machine_shape,
            accelerator=_accelerator(answer.metadata),
            internet=answer.metadata.enable_internet,
        )

    def existing(self, kernel: Kernel, version: int | None = None) -> Stored:
        """Like `stored`; raises `ParameterError` if there is none."""
        if stored := self.stored(kernel, version):
            return stored
        reference = f"{kernel}/{version}" if version else kernel
        raise ParameterError(NOT_VISIBLE.format(reference))

    def status(
        self, kernel: Kernel, version: int | None, until: float | None = None
    ) -> Status | None:
        """The status of a version's session (version None: the latest); None if it has none."""
        call = partial(self.calls.get_kernel_session_status, kernel, version)
        answer = self.if_there(call, until)
        if answer is None:
            return None
        return Status(answer.status.name.lower(), answer.failure_message)

    def outputs(self, kernel: Kernel, version: int | None, until: float | None = None) -> Outputs:
        """All files and the log of a version's session, paged to the end."""
        links: dict[str, str] = {}
        log = ""
        call = partial(self.calls.list_kernel_session_output, kernel, version)
        for answer in self.pages(call, until):
            links |= {file.file_name: file.url for file in answer.files}
            log = log or answer.log
        return Outputs(links, log)

    def quota(self, kind: str) -> Quota | None:
        """This week's hours of `tpu` or `gpu`; None if there is no quota (the CPU)."""
        statistics = self.repeated(self.calls.get_accelerator_quota_statistics)
        times = getattr(statistics, f"{kind}_quota", None)
        if times is None:
            return None
        taken = _hours(times.time_used) + _hours(times.time_reserved)
        return Quota(taken, _hours(times.total_time_allowed))

    def recent(self, kind: str = "") -> list[Kernel]:
        """Of the ten kernels run last, latest first, those on this kind of machine, "" for any."""
        answer = self.repeated(partial(self.calls.list_kernels_of, self.username, MOST_RECENT))
        kernels = [kernel for kernel in answer.kernels if kernel.ref.count("/") == 1]
        return [Kernel.of(kernel.ref) for kernel in kernels if kind in ("", _accelerator(kernel))]

    def pages(self, call: Callable[[int, str], Any], until: float | None = None) -> Iterator[Any]:
        """Every page of a list; `call` takes a page's size and token.

        Raises `Failure` for a list that does not end, or not before `until`.
        """
        token = ""
        for _ in range(MOST_PAGES):
            answer = self.repeated(partial(call, PAGE_SIZE, token), until)
            yield answer
            token = answer.next_page_token
            if not token:
                return
            if until is not None and self.retries.clock.now() > until:
                raise Failure(FailureKind.NETWORK, LISTING, "its pages did not end in time")
        raise Failure(FailureKind.MALFORMED, LISTING, "its pages have no end")


def _sources(answer: Any, field: str) -> list[str]:
    """The sources that an answer lists by kind, such as "dataset owner/slug"."""
    listed = {kind: getattr(answer, field.format(kind)) for kind in SOURCES}
    return [f"{kind} {source}" for kind, sources in listed.items() for source in sources]


def _hours(time: datetime.timedelta | None) -> float:
    """A time in hours; 0 if Kaggle does not give it."""
    return time.total_seconds() / 3600 if time else 0.0


def _accelerator(kernel: Any) -> str:
    shape = kernel.machine_shape.lower()
    if kernel.enable_tpu or "tpu" in shape:
        return "tpu"
    if kernel.enable_gpu or "nvidia" in shape:
        return "gpu"
    return "cpu"
